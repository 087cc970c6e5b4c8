package jetstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"gatehouse/exchange"
)

func TestOnlyThisMachineIsSpokenToWithoutTLS(t *testing.T) {
	for servers, want := range map[string]string{
		"nats://127.0.0.1:4222":                "",
		"nats://[::1]:4222":                    "",
		"tls://ex1:4222,tls://ex2:4222":        "",
		"nats://ex1:4222":                      "without TLS",
		"nats://localhost:4222":                "without TLS", // a name is what a resolver says
		"nats://10.0.0.1:4222":                 "without TLS",
		"nats://127.0.0.1:4222,tls://ex1:4222": "some",
		"ws://127.0.0.1:4222":                  "not tls",
		"127.0.0.1:4222":                       "not tls",
		"tls://user:password@ex1:4222":         "not tls",
		"tls://ex1:4222/path":                  "not tls",
		"":                                     "no server",
		"tls://":                               "not tls",
		"tls://ex1:4222,nats://192.0.2.1:4222": "without TLS",
	} {
		o := Options{}
		if servers != "" {
			o.Servers = strings.Split(servers, ",")
		}
		_, err := o.checkServers()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", servers, err, want)
		}
	}
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no host":   {Options{Servers: []string{"nats://127.0.0.1:1"}, Seed: seed}, "no name for a host"},
		"no seed":   {Options{Host: "a", Servers: []string{"nats://127.0.0.1:1"}}, "seed"},
		"a bad CA":  {Options{Host: "a", Servers: []string{"tls://127.0.0.1:1"}, CA: []byte("x"), Seed: seed}, "CA"},
		"nobody":    {Options{Host: "a", Servers: []string{"nats://127.0.0.1:1"}, Seed: seed}, exchange.ErrUnavailable.Error()},
		"plain out": {Options{Host: "a", Servers: []string{"nats://192.0.2.1:1"}, Seed: seed}, "without TLS"},
	} {
		begin := time.Now()
		_, err := Connect(t.Context(), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if errors.Is(err, exchange.ErrUnavailable) != (name == "nobody") || time.Since(begin) >= connectTime {
			t.Errorf("%s: %v after %v", name, err, time.Since(begin))
		}
	}
}

func TestSubjectsAreKeysAndBack(t *testing.T) {
	for _, s := range []string{"beats/a.example", "exports/a.example/g.1", "told/a/x-y_z", "accepted/a/g"} {
		key, err := exchange.ParseKey(s)
		if err != nil {
			t.Fatal(err)
		}
		subject := Subject(key)
		if got, ok := parse(subject); !ok || got != key || strings.Count(subject, ".") != strings.Count(s, "/")+3 {
			t.Errorf("%s is %s and back %v, %v", s, subject, got, ok)
		}
	}
	for _, subject := range []string{"", Root, Root + ".beats", Root + ".beats.a.b", Root + ".beats.A", Root + ".told.a.b.c", Root + ".told.a/b", Root + ".x.a", "x.beats.a"} {
		if key, ok := parse(subject); ok {
			t.Errorf("%q is taken for %v", subject, key)
		}
	}
}
