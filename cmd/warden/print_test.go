package main

import (
	"bytes"
	"errors"
	"testing"

	"gatehouse/internal/cli"
)

func TestSeveralErrorsHaveALineEach(t *testing.T) {
	var out bytes.Buffer
	g := &globals{streams: cli.Streams{Err: &out}}
	g.complain(errors.Join(errors.New("send: away"), errors.New("fetch: \x1b[2J")))
	if got, want := out.String(), "warden: send: away\nwarden: fetch: \\x1b[2J\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
