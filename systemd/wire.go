package systemd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/godbus/dbus/v5"
)

// maxReply is how much a manager may say on one connection. The properties of a service take about 40 KiB.
const maxReply = 1 << 20

// A wire stands between a peer that may be hostile and the library that speaks D-Bus. The library reads in a goroutine of
// its own, where nothing can catch a panic, and believes what a message bus tells it, such as the arguments of a signal.
// So after the authentication it gets to see answers only: whole ones, which were decoded once under guard, and of no
// other form than those to the questions asked here. Calls and signals are dropped, and anything else ends the connection.
type wire struct {
	io.ReadWriteCloser
	left   int         // that the peer may still say
	framed atomic.Bool // the authentication is over
	answer []byte      // rest of one that was let through
}

func newWire(conn io.ReadWriteCloser) *wire { return &wire{ReadWriteCloser: conn, left: maxReply} }

func (w *wire) Write(p []byte) (int, error) {
	if string(p) == "BEGIN\r\n" { // the last line of the authentication, and no message
		w.framed.Store(true)
	}
	return w.ReadWriteCloser.Write(p)
}

func (w *wire) Read(p []byte) (int, error) {
	if !w.framed.Load() {
		return w.take(p)
	}
	for len(w.answer) == 0 {
		var err error
		if w.answer, err = w.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.answer)
	w.answer = w.answer[n:]
	return n, nil
}

// take reads from the peer, up to the limit.
func (w *wire) take(p []byte) (int, error) {
	if w.left <= 0 {
		return 0, fmt.Errorf("it said more than %d bytes", maxReply)
	}
	n, err := w.ReadWriteCloser.Read(p[:min(len(p), w.left)])
	w.left -= n
	return n, err
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// next reads one message whole, and returns it if it is an answer.
func (w *wire) next() ([]byte, error) {
	message := make([]byte, 16)
	if _, err := io.ReadFull(readerFunc(w.take), message); err != nil {
		return nil, err
	}
	var order binary.ByteOrder
	switch message[0] {
	case 'l':
		order = binary.LittleEndian
	case 'B':
		order = binary.BigEndian
	}
	if order == nil || message[1] == 0 || message[3] != 1 {
		return nil, fmt.Errorf("what it says is no D-Bus message")
	}
	body, header := uint64(order.Uint32(message[4:])), uint64(order.Uint32(message[12:]))
	rest := (header+7)&^7 + body
	if rest > uint64(w.left) {
		return nil, fmt.Errorf("it said more than %d bytes", maxReply)
	}
	message = append(message, make([]byte, rest)...)
	if _, err := io.ReadFull(readerFunc(w.take), message[16:]); err != nil {
		return nil, err
	}
	if kind := dbus.Type(message[1]); kind != dbus.TypeMethodReply && kind != dbus.TypeError {
		return nil, nil
	}
	if err := checkAnswer(message); err != nil {
		return nil, fmt.Errorf("its answer is not understood: %w", err)
	}
	return message, nil
}

// checkAnswer decodes an answer as the library is going to.
func checkAnswer(message []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding it ends with %.100q", fmt.Sprint(r))
		}
	}()
	in := bytes.NewReader(message)
	answer, err := dbus.DecodeMessage(in)
	switch {
	case err != nil:
		return fmt.Errorf("%.100q", err.Error())
	case in.Len() != 0:
		return fmt.Errorf("%d bytes are left over", in.Len())
	}
	signature, _ := answer.Headers[dbus.FieldSignature].Value().(dbus.Signature)
	switch signature.String() {
	case "", "s", "a{sv}": // nothing, a text, properties
		return nil
	}
	return fmt.Errorf("it has the form %.20q", signature.String())
}
