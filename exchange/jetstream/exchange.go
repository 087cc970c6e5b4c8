package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"gatehouse/exchange"
)

// Put implements exchange.Exchange.
func (x *Exchange) Put(ctx context.Context, key exchange.Key, value []byte) error {
	if err := exchange.CheckPut(x.host, key, value); err != nil {
		return err
	}
	ctx, cancel := within(ctx, requestTime)
	defer cancel()
	var err error
	if key.Kind == exchange.Objects {
		err = x.putObject(ctx, key, value)
	} else {
		_, err = x.store(ctx, &nats.Msg{Subject: Subject(key), Data: value})
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", key, meaning(err))
	}
	return nil
}

// Get implements exchange.Exchange.
func (x *Exchange) Get(ctx context.Context, key exchange.Key) (exchange.Entry, error) {
	if err := key.Check(); err != nil {
		return exchange.Entry{}, err
	}
	ctx, cancel := within(ctx, requestTime)
	defer cancel()
	var e exchange.Entry
	var err error
	if key.Kind == exchange.Objects {
		e, err = x.getObject(ctx, key)
	} else {
		var m message
		m, err = x.lead(ctx, StreamOf(key.Kind), getRequest{LastFor: Subject(key)})
		e = exchange.Entry{Key: key, Value: m.data, At: m.at}
	}
	if err == nil {
		err = exchange.CheckGot(key, e.Value)
	}
	if errors.Is(err, errNoMessage) {
		err = exchange.ErrNotFound
	}
	if err != nil {
		return exchange.Entry{}, fmt.Errorf("get %s: %w", key, err)
	}
	return e, nil
}

// List implements exchange.Exchange.
func (x *Exchange) List(ctx context.Context, under exchange.Key) iter.Seq2[exchange.Entry, error] {
	return func(yield func(exchange.Entry, error) bool) {
		if err := under.CheckUnder(); err != nil {
			yield(exchange.Entry{}, err)
			return
		}
		ctx, cancel := within(ctx, sweepTime)
		defer cancel()
		if err := x.list(ctx, under, yield); err != nil {
			yield(exchange.Entry{}, fmt.Errorf("list %s: %w", under, err))
		}
	}
}

// list yields what is stored under a key, up to what the leader has last.
func (x *Exchange) list(ctx context.Context, under exchange.Key, yield func(exchange.Entry, error) bool) error {
	stream, filter := StreamOf(under.Kind), Under(under)
	leader, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	last, err := x.lead(leader, stream, getRequest{LastFor: filter})
	if errors.Is(err, errNoMessage) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = x.sweep(ctx, stream, filter, 1, last.seq, func(m message) bool {
		key, ok := parse(m.subject)
		if !ok {
			return true
		}
		e := exchange.Entry{Key: key, Value: m.data, At: m.at}
		if e.Err = exchange.CheckGot(key, m.data); errors.Is(e.Err, exchange.ErrNotFound) {
			return true
		}
		if e.Err != nil {
			e.Value = nil
		}
		return yield(e, nil)
	})
	return err
}

// putObject stores the chunks of an object, the last one last: where that is, and is young enough, all are.
func (x *Exchange) putObject(ctx context.Context, key exchange.Key, value []byte) error {
	final := max(0, (len(value)-1)/ChunkSize)
	size := strconv.Itoa(len(value))
	m, err := x.any(ctx, ObjectsStream, getRequest{LastFor: chunk(key, final)})
	switch {
	case err == nil && m.size == size && time.Since(m.at) < exchange.ObjectAge/2:
		return nil
	case err != nil && !errors.Is(err, errNoMessage) && !errors.Is(err, exchange.ErrCorrupt):
		return err
	}
	for n := range final + 1 {
		part := value[n*ChunkSize : min(len(value), (n+1)*ChunkSize)]
		msg := &nats.Msg{Subject: chunk(key, n), Data: part, Header: nats.Header{sizeHeader: {size}}}
		if _, err := x.store(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

// getObject reads the chunks of an object. What they are worth is for the hash to say.
func (x *Exchange) getObject(ctx context.Context, key exchange.Key) (exchange.Entry, error) {
	e := exchange.Entry{Key: key, Value: []byte{}}
	size := math.MaxInt
	for n := 0; n == 0 || len(e.Value) < size; n++ {
		m, err := x.chunk(ctx, chunk(key, n))
		if err != nil {
			return e, err
		}
		if n == 0 {
			e.At = m.at
			if size, err = strconv.Atoi(m.size); err != nil || size < 0 {
				return e, exchange.ErrCorrupt
			}
			if size > exchange.MaxObject {
				return e, fmt.Errorf("%w: %d bytes", exchange.ErrTooLarge, size)
			}
		}
		if want := min(ChunkSize, size-len(e.Value)); len(m.data) != want {
			return e, exchange.ErrCorrupt
		}
		e.Value = append(e.Value, m.data...)
	}
	return e, nil
}

// chunk reads one chunk, from the leader where a replica does not have it: it may lag behind.
func (x *Exchange) chunk(ctx context.Context, subject string) (message, error) {
	m, err := x.any(ctx, ObjectsStream, getRequest{LastFor: subject})
	if !errors.Is(err, errNoMessage) {
		return m, err
	}
	last, err := x.lead(ctx, ObjectsStream, getRequest{LastFor: subject})
	if err != nil {
		return message{}, err
	}
	_, err = x.sweep(ctx, ObjectsStream, subject, last.seq, last.seq, func(got message) bool {
		m = got
		return true
	})
	return m, err
}

func chunk(key exchange.Key, n int) string { return Subject(key) + "." + strconv.Itoa(n) }
