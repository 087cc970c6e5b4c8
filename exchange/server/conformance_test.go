package server

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
)

// Both implementations keep the same promises.
func TestExchange(t *testing.T) {
	for name, open := range map[string]func(*testing.T) func(*testing.T, string) exchange.Exchange{
		"directory": directories,
		"jetstream": func(t *testing.T) func(*testing.T, string) exchange.Exchange {
			n := single(t, "a.example", "b", "c")
			return func(t *testing.T, host string) exchange.Exchange { return n.connect(t, host) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := open(t)
			for _, c := range []struct {
				name string
				test func(*testing.T, func(*testing.T, string) exchange.Exchange)
			}{
				{"what is put is got", putAndGet},
				{"bad keys and values are refused", badKeys},
				{"a list has all below, with values", list},
				{"objects are named by their hash", objects},
				{"one of many claims", claims},
			} {
				t.Run(c.name, func(t *testing.T) { c.test(t, as) })
			}
		})
	}
}

func directories(t *testing.T) func(*testing.T, string) exchange.Exchange {
	path := filepath.Join(t.TempDir(), "exchange")
	if err := errors.Join(os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, exchange.Marker), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, host string) exchange.Exchange {
		d, err := exchange.OpenDirectory(durable.Disk{}, path, host, nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

func beat(host string) exchange.Key { return exchange.Key{Kind: exchange.Beats, Host: host} }

func put(t testing.TB, x exchange.Exchange, key exchange.Key, value string) {
	t.Helper()
	if err := x.Put(patient(t), key, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func putAndGet(t *testing.T, as func(*testing.T, string) exchange.Exchange) {
	a, b := as(t, "a.example"), as(t, "b")
	key := exchange.Key{Kind: exchange.Exports, Host: "a.example", Rest: "claude.2"}
	if _, err := b.Get(patient(t), key); !errors.Is(err, exchange.ErrNotFound) || errors.Is(err, exchange.ErrUnavailable) {
		t.Errorf("before: %v, want not found", err)
	}
	put(t, a, key, "one")
	put(t, a, key, "two")
	got, err := b.Get(patient(t), key)
	if err != nil || string(got.Value) != "two" || got.Key != key {
		t.Errorf("got %+v, %v; want two", got, err)
	}
	if age := time.Since(got.At); age < -time.Second || age > time.Minute {
		t.Errorf("stored at %v", got.At)
	}
}

func badKeys(t *testing.T, as func(*testing.T, string) exchange.Exchange) {
	a := as(t, "a.example")
	large := make([]byte, exchange.MaxStatement+1)
	for _, c := range []struct {
		key   exchange.Key
		value []byte
		want  error
	}{
		{beat("b"), []byte("x"), exchange.ErrForbidden},
		{beat("a.example"), large, exchange.ErrTooLarge},
		{beat("a.example"), nil, nil},
		{exchange.Key{Kind: "beats", Host: "a.example", Rest: "x"}, []byte("x"), nil},
		{exchange.Key{Kind: "told", Host: "a.example", Rest: "../x"}, []byte("x"), nil},
		{exchange.Key{Kind: "told", Host: "a.example", Rest: ">"}, []byte("x"), nil},
		{exchange.Key{Kind: "claims", Host: "a.example", Rest: "x"}, []byte("x"), nil},
		{exchange.Key{}, []byte("x"), nil},
		{exchange.Key{Kind: "objects", Host: "a.example", Rest: exchange.Object("a", []byte("y")).Rest}, []byte("x"), nil},
	} {
		if err := a.Put(patient(t), c.key, c.value); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("Put(%v): %v, want %v", c.key, err, c.want)
		}
	}
	put(t, a, beat("a.example"), string(large[1:]))
	for _, under := range []exchange.Key{{}, {Kind: "objects"}, {Kind: "beats", Host: "*"}, {Kind: "told", Rest: "*"}, {Kind: "beats", Rest: "x"}} {
		for _, err := range a.List(t.Context(), under) {
			if err == nil {
				t.Errorf("List(%v) is no error", under)
			}
		}
	}
}

func collect(t testing.TB, x exchange.Exchange, under exchange.Key) map[string]string {
	t.Helper()
	var got map[string]string
	eventually(t, "list "+under.String(), func() error { // a node that has just lost a leader says so, and is asked again
		got = make(map[string]string)
		for e, err := range x.List(t.Context(), under) {
			if err := errors.Join(err, e.Err); err != nil && !errors.Is(err, exchange.ErrUnavailable) {
				t.Fatalf("list %v: %v", under, err)
			} else if err != nil {
				return err
			}
			got[e.Key.String()] = string(e.Value)
		}
		return nil
	})
	return got
}

func list(t *testing.T, as func(*testing.T, string) exchange.Exchange) {
	a, b := as(t, "a.example"), as(t, "b")
	for _, x := range []struct {
		x    exchange.Exchange
		host string
	}{{a, "a.example"}, {b, "b"}} {
		for _, alert := range []string{"silent-c-1", "silent-c-2"} {
			put(t, x.x, exchange.Key{Kind: exchange.Told, Host: x.host, Rest: alert}, x.host+alert)
		}
	}
	all := map[string]string{
		"told/a.example/silent-c-1": "a.examplesilent-c-1", "told/a.example/silent-c-2": "a.examplesilent-c-2",
		"told/b/silent-c-1": "bsilent-c-1", "told/b/silent-c-2": "bsilent-c-2",
	}
	for _, c := range []struct {
		under exchange.Key
		want  []string
	}{
		{exchange.Key{Kind: exchange.Told}, []string{"told/a.example/silent-c-1", "told/a.example/silent-c-2", "told/b/silent-c-1", "told/b/silent-c-2"}},
		{exchange.Key{Kind: exchange.Told, Host: "b"}, []string{"told/b/silent-c-1", "told/b/silent-c-2"}},
		{exchange.Key{Kind: exchange.Told, Host: "b", Rest: "silent-c-2"}, []string{"told/b/silent-c-2"}},
		{exchange.Key{Kind: exchange.Told, Rest: "silent-c-2"}, []string{"told/a.example/silent-c-2", "told/b/silent-c-2"}},
		{exchange.Key{Kind: exchange.Told, Host: "c"}, nil},
		{exchange.Key{Kind: exchange.Accepted}, nil},
	} {
		want := make(map[string]string)
		for _, key := range c.want {
			want[key] = all[key]
		}
		if diff := cmp.Diff(want, collect(t, a, c.under)); diff != "" {
			t.Errorf("List(%v) (-want +got):\n%s", c.under, diff)
		}
	}
}

func objects(t *testing.T, as func(*testing.T, string) exchange.Exchange) {
	a, b := as(t, "a.example"), as(t, "b")
	for _, size := range []int{0, 1, 512 << 10, 512<<10 + 1, 3<<20 + 17} {
		content := bytes.Repeat([]byte{byte(size), 1, 2}, size/3+1)[:size]
		key := exchange.Object("a.example", content)
		if _, err := b.Get(patient(t), key); !errors.Is(err, exchange.ErrNotFound) {
			t.Errorf("%d bytes, before: %v", size, err)
		}
		for range 2 {
			if err := a.Put(patient(t), key, content); err != nil {
				t.Fatal(err)
			}
		}
		got, err := b.Get(patient(t), key)
		if err != nil || !bytes.Equal(got.Value, content) {
			t.Errorf("%d bytes: got %d, %v", size, len(got.Value), err)
		}
	}
}

func claims(t *testing.T, as func(*testing.T, string) exchange.Exchange) {
	const each = 10
	var wg sync.WaitGroup
	got := make(chan exchange.Claim, 3*each)
	for _, host := range []string{"a.example", "b", "c"} {
		x := as(t, host)
		for range each {
			wg.Go(func() {
				c, err := x.Claim(patient(t), "silent-d.1", time.Minute)
				if err != nil {
					t.Error(err)
				}
				got <- c
			})
		}
	}
	wg.Wait()
	close(got)
	holders, mine := make(map[string]int), 0
	for c := range got {
		holders[c.Holder]++
		if c.Mine {
			mine++
		}
		if lease := c.Until.Sub(c.Since); lease != time.Minute {
			t.Errorf("the lease is %v, want a minute", lease)
		}
	}
	if len(holders) != 1 || mine != each {
		t.Errorf("holders %v, %d times mine; want one holder, whose own %d claims say so", holders, mine, each)
	}

	// A lease that has ended is taken over, and what was claimed before cannot be claimed again while another holds it.
	a, b := as(t, "a.example"), as(t, "b")
	first, err := a.Claim(patient(t), "silent-e.1", time.Millisecond)
	if err != nil || !first.Mine {
		t.Fatal(first, err)
	}
	time.Sleep(20 * time.Millisecond)
	second, err := b.Claim(patient(t), "silent-e.1", time.Minute)
	if err != nil || !second.Mine {
		t.Errorf("after the lease: %+v, %v; want it to be b's", second, err)
	}
	third, err := a.Claim(patient(t), "silent-e.1", time.Minute)
	if err != nil || third.Mine || third.Holder != "b" {
		t.Errorf("after that: %+v, %v; want it to be b's", third, err)
	}
	again, err := a.Claim(patient(t), "silent-f.1", time.Millisecond)
	if err != nil || !again.Mine {
		t.Fatal(again, err)
	}
	time.Sleep(20 * time.Millisecond)
	if again, err = a.Claim(patient(t), "silent-f.1", time.Minute); err != nil || !again.Mine {
		t.Errorf("nobody else: %+v, %v; want it to be a's again", again, err)
	}
}
