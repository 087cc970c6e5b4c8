package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
)

// What a host writes beside its value says nothing of other hosts' values: neither is one taken for another's, nor hidden.
func TestHeadersOfAHostileHostSayNothingOfOthers(t *testing.T) {
	t.Parallel()
	mine, theirs := jetstream.Subject(beat("a")), jetstream.Subject(beat("b"))
	forged := func(seq string) string {
		return "NATS/1.0\r\nNats-Stream: " + jetstream.BeatsStream + "\r\nNats-Subject: " + theirs + "\r\nNats-Sequence: " + seq +
			"\r\nNats-Time-Stamp: 2026-01-01T00:00:00Z\r\nNats-Num-Pending: 1\r\nNats-Last-Sequence: 1\r\n\r\n"
	}
	for _, c := range []struct{ name, header, data string }{
		{"nothing", "", "a's own"},
		{"an answer that there is nothing", "NATS/1.0\r\nStatus: 404\r\n\r\n", "a's own"},
		{"in its first line", "NATS/1.0 404 Message Not Found\r\n\r\n", "a's own"},
		{"the end of the list", "NATS/1.0 204 EOB\r\n\r\n", "a's own"},
		{"nobody who answers", "NATS/1.0 503\r\n\r\n", "a's own"},
		{"the same, with nothing in it", "NATS/1.0 503\r\n\r\n", ""},
		{"another's subject", "NATS/1.0\r\nNats-Subject: " + theirs + "\r\n\r\n", "a's own"},
		{"a number of the far end", "NATS/1.0\r\nNats-Sequence: 18446744073709551614\r\n\r\n", "a's own"},
		{"no number", "NATS/1.0\r\nNats-Sequence: x\r\n\r\n", "a's own"},
		{"another one before it", "NATS/1.0\r\nNats-Last-Sequence: 77\r\n\r\n", "a's own"},
		{"no time", "NATS/1.0\r\nNats-Time-Stamp: x\r\n\r\n", "a's own"},
		{"all of it, and the true ones out of sight", forged("2") + "xxxx\r\n\r\n", "a's own"},
		{"all of it, far ahead", forged("4000000000") + "xxxx\r\n\r\n", "a's own"},
		{"headers that are none", "NATS/1.0\r\nnone\r\n\r\n", "a's own"},
		{"not even a first line", "HTTP/1.1 200 OK\r\n\r\n", "a's own"},
		{"a header without an end", "NATS/1.0\r\nx: y", "a's own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := single(t, "a", "b", "c")
			c1, b := f.connect(t, "c"), f.connect(t, "b")
			put(t, c1, beat("c"), "c's own")
			put(t, b, beat("b"), "b's own")
			if c.header == "" {
				f.raw(t, "a", fmt.Sprintf("PUB %s %d\r\n%s\r\n", mine, len(c.data), c.data))
			} else {
				f.raw(t, "a", fmt.Sprintf("HPUB %s %d %d\r\n%s%s\r\n", mine, len(c.header), len(c.header)+len(c.data), c.header, c.data))
			}
			put(t, c1, beat("c"), "c's second") // comes after it
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got := make(map[string]string)
			for e, err := range b.List(ctx, exchange.Key{Kind: exchange.Beats}) {
				if err != nil {
					t.Fatal(err)
				}
				got[e.Key.Host] = string(e.Value)
			}
			if got["b"] != "b's own" || got["c"] != "c's second" || got["a"] != c.data {
				t.Errorf("the list has %q", got)
			}
			if e, err := b.Get(ctx, beat("a")); string(e.Value) != c.data || err != nil && !errors.Is(err, exchange.ErrNotFound) {
				t.Errorf("Get: %q, %v", e.Value, err)
			}
		})
	}
}
