package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gatehouse/exchange"
)

// A message is one that a stream holds.
type message struct {
	subject string
	seq     uint64
	at      time.Time
	data    []byte
	size    string // header of a chunk: the size of the whole object
}

// getRequest asks a stream for messages. Which fields may stand together is the server's to say.
type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// sizeHeader is on each chunk of an object.
const sizeHeader = "Gatehouse-Size"

var errNoMessage = errors.New("no such message")

// ask sends a request until it is answered.
func (x *Exchange) ask(ctx context.Context, subject string, request any) (*nats.Msg, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	ctx, done := x.refused.await(ctx, subject)
	defer done()
	for {
		try, cancel := context.WithTimeout(ctx, x.try)
		msg, err := x.nc.RequestWithContext(try, subject, data)
		cancel()
		if err == nil || !again(ctx, err) {
			return msg, errors.Join(err, context.Cause(ctx))
		}
	}
}

// again reports whether what failed so can be tried again, after a moment where the answer was quick.
func again(ctx context.Context, err error) bool {
	switch {
	case ctx.Err() != nil, errors.Is(err, nats.ErrConnectionClosed):
		return false
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		select {
		case <-ctx.Done():
			return false
		case <-time.After(100 * time.Millisecond):
			return true
		}
	default:
		return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	}
}

// lead asks the stream's leader for one message.
func (x *Exchange) lead(ctx context.Context, stream string, request getRequest) (message, error) {
	msg, err := x.ask(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
	if err != nil {
		return message{}, meaning(err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	switch err := json.Unmarshal(msg.Data, &answer); {
	case err != nil:
		return message{}, meaning(err)
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return message{}, errNoMessage
	case answer.Error != nil:
		return message{}, meaning(answer.Error)
	case answer.Message == nil:
		return message{}, meaning(errors.New("the answer has no message"))
	}
	m := answer.Message
	return message{subject: m.Subject, seq: m.Seq, at: m.Time, data: m.Data}, nil
}

// any asks any replica for one message.
func (x *Exchange) any(ctx context.Context, stream string, request getRequest) (message, error) {
	msg, err := x.ask(ctx, "$JS.API.DIRECT.GET."+stream, request)
	if err != nil {
		return message{}, meaning(err)
	}
	return direct(msg)
}

// direct reads an answer that is the message itself, with what is known of it in headers.
func direct(msg *nats.Msg) (message, error) {
	if m, _, ok := stored(msg); ok {
		return m, nil
	}
	switch status := msg.Header.Get("Status"); status {
	case "":
		return message{}, exchange.ErrCorrupt
	case "404":
		return message{}, errNoMessage
	default:
		return message{}, meaning(fmt.Errorf("the stream answers %.64q %.200q", status, msg.Header.Get("Description")))
	}
}

// store publishes until it is acknowledged, and returns the sequence.
func (x *Exchange) store(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (uint64, error) {
	ctx, done := x.refused.await(ctx, msg.Subject)
	defer done()
	for {
		try, cancel := context.WithTimeout(ctx, x.try)
		ack, err := x.js.PublishMsg(try, msg, opts...)
		cancel()
		if err == nil {
			return ack.Sequence, nil
		}
		if !again(ctx, err) {
			return 0, errors.Join(err, context.Cause(ctx))
		}
	}
}

// The size of one batch of a sweep.
const (
	batch      = 4096
	batchBytes = 8 << 20
)

// sweep calls each for the messages under filter, from the sequence from on, until it has seen the sequence last, which
// the leader knows of, or each wants no more. It returns the next sequence. A message that is replaced meanwhile can come
// twice, the newer one later.
func (x *Exchange) sweep(ctx context.Context, stream, filter string, from, last uint64, each func(message) bool) (uint64, error) {
	for from <= last {
		next, stopped, err := x.batch(ctx, stream, filter, from, last, each)
		if err != nil || stopped {
			return next, err
		}
		if next == from { // nobody has it: it has expired, or was replaced
			select {
			case <-ctx.Done():
				return next, fmt.Errorf("%w: the replicas lag behind: %w", exchange.ErrUnavailable, ctx.Err())
			case <-time.After(20 * time.Millisecond):
			}
			now, err := x.lead(ctx, stream, getRequest{LastFor: filter})
			if err != nil && !errors.Is(err, errNoMessage) {
				return next, err
			}
			last = now.seq
		}
		from = next
	}
	return from, nil
}

// batch asks any replica for some messages. It returns the sequence after the last one that came. Where there is anything
// but a message that the server alone described, such as the end of the batch or what looks like it, the leader says what
// comes next: its answers hold what a host wrote apart from what is known of it.
func (x *Exchange) batch(ctx context.Context, stream, filter string, from, last uint64, each func(message) bool) (uint64, bool, error) {
	next, stopped, err := x.stretch(ctx, stream, filter, from, each)
	if err != nil || stopped || next > last {
		return next, stopped, err
	}
	m, err := x.lead(ctx, stream, getRequest{Seq: next, NextFor: filter})
	switch {
	case errors.Is(err, errNoMessage):
		return next, false, nil
	case err != nil:
		return next, false, err
	case m.seq < next:
		return next, false, meaning(errors.New("the leader goes back"))
	}
	return m.seq + 1, !each(m), nil
}

// stretch is the part of a batch that came whole, in order, and as the server writes it.
func (x *Exchange) stretch(ctx context.Context, stream, filter string, from uint64, each func(message) bool) (uint64, bool, error) {
	data, err := json.Marshal(getRequest{Seq: from, NextFor: filter, Batch: batch, MaxBytes: batchBytes})
	if err != nil {
		return from, false, err
	}
	subject := "$JS.API.DIRECT.GET." + stream
	ctx, done := x.refused.await(ctx, subject)
	defer done()
	inbox := x.nc.NewRespInbox()
	answers := make(chan *nats.Msg, batch+1) // the library would read a meaning into some messages
	sub, err := x.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return from, false, meaning(err)
	}
	defer sub.Unsubscribe()
	if err := x.nc.PublishRequest(subject, inbox, data); err != nil {
		return from, false, meaning(err)
	}
	patience := time.NewTimer(x.try)
	defer patience.Stop()
	next, came := from, uint64(0)
	for {
		select {
		case <-ctx.Done():
			return next, false, meaning(errors.Join(ctx.Err(), context.Cause(ctx)))
		case <-patience.C:
			return next, false, nil // the rest is asked for anew
		case msg := <-answers:
			// Each says which came before it, so that one which was lost on the way is noticed.
			m, before, ok := stored(msg)
			if !ok || before != came || m.seq < next {
				return next, false, nil
			}
			came, next = m.seq, m.seq+1
			if !each(m) {
				return next, true, nil
			}
			patience.Reset(x.try)
		}
	}
}
