package caller

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"gatehouse/gate/catalog"
)

// wireVersion is that of the protocol. Both ends are of one installation; another version is refused.
const wireVersion = 1

// Limits of the protocol.
const (
	maxRequest  = 2 << 20          // of bytes in a request
	maxAnswers  = 256 << 20        // of bytes in all answers to one
	requestTime = 5 * time.Second  // for a request to arrive
	answerTime  = 10 * time.Second // for an answer to be taken
)

// A request is the one line that a client sends. What comes after it, and the end of what it sends, cancels the call.
type request struct {
	Version int               `json:"v"`
	Op      string            `json:"op"` // call, list
	Job     string            `json:"job,omitempty"`
	Call    []byte            `json:"call,omitempty"` // as it came: it need not be JSON
	Cwd     string            `json:"cwd,omitempty"`
	Client  string            `json:"client,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // what the catalogue takes over from the caller
}

// An answer is one line of the service's. The last of a call has its result, that of a list the catalogue, or an error.
type answer struct {
	Version   int                `json:"v"`
	Progress  *catalog.Progress  `json:"progress,omitempty"`
	Result    *catalog.Result    `json:"result,omitempty"`
	Catalogue *catalog.Catalogue `json:"catalogue,omitempty"`
	Error     *wireError         `json:"error,omitempty"` // nobody looked at a call
}

type wireError struct {
	Code catalog.Code `json:"code"`
	Text string       `json:"text"`
}

func (e *wireError) err() error { return &catalog.Error{Code: e.Code, Err: errors.New(e.Text)} }

func badRequest(format string, args ...any) error {
	return &catalog.Error{Code: catalog.BadRequest, Err: fmt.Errorf(format, args...)}
}

// readRequest reads the one line of a client, which has so long for all of it.
func readRequest(conn net.Conn, in *bufio.Reader, limit time.Duration) (r request, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return r, err
	}
	line, err := readLine(in)
	if err != nil {
		return r, badRequest("no request came: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		// A later version may have other keys, and is to be told.
		version := request{}
		if json.Unmarshal(line, &version) != nil || version.Version == wireVersion || version.Version == 0 {
			return r, badRequest("this is no request: %w", err)
		}
		r = version
	}
	switch {
	case r.Version != wireVersion:
		return r, badRequest("the request is of version %d of the protocol, and the service speaks %d; both come with one installation: "+
			"systemctl restart gatehouse-call.service", r.Version, wireVersion)
	case dec.More():
		return r, badRequest("there is more in the line than one request")
	case r.Op != "call" && r.Op != "list":
		return r, badRequest("%q is neither call nor list", r.Op)
	case r.Client != GateCall && r.Client != MCP:
		return r, badRequest("%q is no client", r.Client)
	}
	return r, conn.SetReadDeadline(time.Time{})
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxRequest:
			return nil, fmt.Errorf("the line is longer than %d bytes", maxRequest)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		default:
			return line, err
		}
	}
}

// send sends one answer.
func send(conn net.Conn, a answer) error {
	a.Version = wireVersion
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	_, err = conn.Write(append(data, '\n'))
	return err
}

func sendError(conn net.Conn, err error) error {
	return send(conn, answer{Error: &wireError{Code: catalog.CodeOf(err), Text: err.Error()}})
}
