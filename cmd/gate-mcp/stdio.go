package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/internal/cli"
)

// maxLine bounds a message on standard input. A call may have 1 MiB.
const maxLine = 4 << 20

// lastWords is how long a server that was told to end waits for its calls, which end what their tools have started.
const lastWords = 20 * time.Second

// serveStdio serves one client over standard input and output until that closes its end, or ctx is done.
func serveStdio(ctx context.Context, s *server, streams cli.Streams) error {
	session, err := s.protocol().Connect(ctx, &lines{in: streams.In, out: streams.Out, say: s.say}, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.calls.end()
		go session.Close() // waits for the calls
		select {
		case <-ended: // by us: whatever it is, it is no fault
		case <-time.After(lastWords):
		}
	}
	s.calls.end()
	s.calls.wait(lastWords)
	return err
}

// lines is the transport of one session: a JSON-RPC message a line. A line that is none is answered as such and no more:
// the SDK's own transport ends with the first of them, and everything that is under way with it.
type lines struct {
	in  io.Reader
	out io.Writer
	say func(format string, args ...any)

	messages chan jsonrpc.Message
	failed   error // why reading ended; set before messages is closed
	closed   chan struct{}
	once     sync.Once
	writing  sync.Mutex
}

// Connect begins to read.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	l.messages, l.closed = make(chan jsonrpc.Message), make(chan struct{})
	go l.read()
	return l, nil
}

func (l *lines) SessionID() string { return "" }

func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-l.messages:
		if !ok {
			return nil, l.failed
		}
		return m, nil
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok && r.Error != nil {
		if coded := new(jsonrpc.Error); !errors.As(r.Error, &coded) { // of the SDK, about the order of requests; it has no code for that
			r.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error.Error()}
		}
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return l.write(data)
}

func (l *lines) write(data []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(append(data, '\n'))
	return err
}

func (l *lines) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// read hands on what is a message, and answers what is none.
func (l *lines) read() {
	defer close(l.messages)
	in := bufio.NewReaderSize(l.in, 64<<10)
	for {
		line, long, err := readLine(in)
		line = bytes.TrimSpace(line)
		if len(line) > 0 || long {
			m, fault := decode(line, long)
			if fault != nil {
				l.refuse(line, fault)
			} else {
				select {
				case l.messages <- m:
				case <-l.closed:
					return
				}
			}
		}
		if err != nil {
			l.failed = err
			return
		}
	}
}

// readLine reads a line. long is set if it was longer than a line may be; all of it is read, and only its beginning returned.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := maxLine - len(line); len(part) > room {
			part, long = part[:room], true
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// decode reads a message.
func decode(line []byte, long bool) (jsonrpc.Message, *jsonrpc.Error) {
	fault := func(code int64, format string, args ...any) (jsonrpc.Message, *jsonrpc.Error) {
		return nil, &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case long:
		return fault(jsonrpc.CodeParseError, "the line is longer than %d bytes", maxLine)
	case !utf8.Valid(line):
		return fault(jsonrpc.CodeParseError, "the line is not UTF-8")
	case !json.Valid(line):
		return fault(jsonrpc.CodeParseError, "the line is not one JSON value")
	case line[0] == '[':
		return fault(jsonrpc.CodeInvalidRequest, "batches are not taken; send one message a line")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return fault(jsonrpc.CodeInvalidRequest, "the line is no JSON-RPC 2.0 message: %v", err)
	}
	return m, unanswerable(line)
}

// unanswerable says what is wrong with a message that the SDK would take, and answer under another id or not at all.
func unanswerable(message []byte) *jsonrpc.Error {
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil {
		return nil // the SDK says so
	}
	id, named := members["id"]
	if _, ok := members["method"]; !ok && members["result"] == nil && members["error"] == nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the message has neither method nor result nor error"}
	}
	if !named || len(id) > 0 && id[0] == '"' {
		return nil
	}
	const most = 1 << 53 // beyond it, numbers are rounded
	if n, err := strconv.ParseInt(string(id), 10, 64); err != nil || n < -most || n > most {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the id is neither a string nor an integer of at most 53 bits"}
	}
	return nil
}

// refuse answers a line that is no message, and tells whoever started this program.
func (l *lines) refuse(line []byte, fault *jsonrpc.Error) {
	shown := line
	if len(shown) > 100 {
		shown = shown[:100]
	}
	l.say("a line on standard input was not taken: %s; it begins with %q", fault.Message, shown)
	if err := l.write(refusalOf(line, fault)); err != nil {
		l.say("it could not be answered: %v", err)
	}
}

// refusalOf is the answer to a message that was not taken.
func refusalOf(line []byte, fault *jsonrpc.Error) []byte {
	// The id of what could not be read is null, as JSON-RPC says, and the SDK has no word for that.
	var envelope struct {
		ID json.RawMessage `json:"id"`
	}
	id := json.RawMessage("null")
	if json.Unmarshal(line, &envelope) == nil && len(envelope.ID) > 0 && strings.ContainsAny(string(envelope.ID[0]), `"-0123456789`) {
		id = envelope.ID
	}
	data, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, fault})
	if err != nil {
		panic(err) // an id that was read, and texts
	}
	return data
}
