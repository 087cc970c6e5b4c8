package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
)

// An attacker is the host a, taken over: it has a's key and speaks to the server as it likes.
type attacker struct {
	*nats.Conn
	violations chan error
}

func (f *fleet) attack(t *testing.T) attacker {
	t.Helper()
	a := attacker{violations: make(chan error, 100)}
	pair, err := nkeys.FromSeed(f.seeds["a"])
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	note := func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case a.violations <- err:
		default: // enough
		}
	}
	a.Conn, err = nats.Connect("nats://"+f.nodes[0].Addr().String(), nats.Nkey(public, pair.Sign),
		nats.CustomInboxPrefix(jetstream.Inbox("a")), nats.ErrorHandler(note), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// settle waits until the server has seen all that was sent.
func (a attacker) settle(t *testing.T) {
	t.Helper()
	if err := a.FlushTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
}

// refused waits for what the server says about a violation, or an error in its answer.
func (a attacker) refused(t *testing.T, answers *nats.Subscription) string {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case err := <-a.violations:
			return err.Error()
		case <-deadline:
			t.Error("the server says nothing")
			return ""
		default:
		}
		msg, err := answers.NextMsg(10 * time.Millisecond)
		if err != nil {
			continue
		}
		var answer struct {
			Error *struct {
				Description string `json:"description"`
			} `json:"error"`
		}
		if err := json.Unmarshal(msg.Data, &answer); err == nil && answer.Error != nil {
			return answer.Error.Description
		}
		t.Errorf("the server answers %s", msg.Data)
		return ""
	}
}

func TestAHostileHostChangesNothingOfOthers(t *testing.T) {
	t.Parallel()
	f := single(t, "a", "b")
	b := f.connect(t, "b")
	told := exchange.Key{Kind: exchange.Told, Host: "b", Rest: "x"}
	exports := exchange.Key{Kind: exchange.Exports, Host: "b", Rest: "claude"}
	object := exchange.Object("b", []byte("content"))
	put(t, b, beat("b"), "b's own")
	put(t, b, told, "b's own")
	put(t, b, exports, "b's own")
	put(t, b, object, "content")
	put(t, f.connect(t, "a"), beat("a"), `{"stream":"GATEHOUSE_BEATS"}`)

	a := f.attack(t)
	mine, theirs := jetstream.Subject(beat("a")), jetstream.Subject(beat("b"))
	const x = jetstream.BeatsStream
	type try struct {
		name, subject string
		header        nats.Header
		data          string
		want          string // what the refusal says
	}
	violation := "permissions violation"
	tries := []try{
		{"writes as b", theirs, nil, "x", violation},
		{"exports as b", jetstream.Subject(exports), nil, "x", violation},
		{"tells as b", jetstream.Subject(told), nil, "x", violation},
		{"writes b's object", jetstream.Subject(object) + ".0", nil, "x", violation},
		{"claims as b", jetstream.Root + ".claims.x.b", nil, "{}", violation},
		{"writes to all", jetstream.Root + ".beats.*", nil, "x", ""},
		{"writes below its beat", mine + ".x", nil, "x", violation},
		{"rolls up its subject", mine, nats.Header{"Nats-Rollup": {"sub"}}, "x", "rollup"},
		{"rolls up all", mine, nats.Header{"Nats-Rollup": {"all"}}, "x", "rollup"},
		{"lets its beat expire", mine, nats.Header{"Nats-TTL": {"1s"}}, "x", "ttl"},
		{"schedules", mine, nats.Header{"Nats-Schedule": {"@at 2030-01-01T00:00:00Z"}, "Nats-Schedule-Target": {theirs}}, "x", "schedule"},
		{"counts", mine, nats.Header{"Nats-Incr": {"1"}}, "", "counter"},
		{"writes as a source", mine, nats.Header{"Nats-Stream-Source": {"x 1"}}, "x", "source"},
		{"sends too much", mine, nil, strings.Repeat("x", exchange.MaxStatement+1), "exceeds"},
		{"sends a chunk too large", jetstream.Subject(exchange.Object("a", nil)) + ".0", nil, strings.Repeat("x", jetstream.ChunkSize+300), "exceeds"},
		{"purges", "$JS.API.STREAM.PURGE." + x, nil, `{}`, violation},
		{"deletes the stream", "$JS.API.STREAM.DELETE." + x, nil, "", violation},
		{"updates the stream", "$JS.API.STREAM.UPDATE." + x, nil, `{}`, violation},
		{"creates a stream", "$JS.API.STREAM.CREATE.MINE", nil, `{"name":"MINE","subjects":["mine"]}`, violation},
		{"restores a stream", "$JS.API.STREAM.RESTORE." + x, nil, `{}`, violation},
		{"snapshots a stream", "$JS.API.STREAM.SNAPSHOT." + x, nil, `{}`, violation},
		{"deletes a message", "$JS.API.STREAM.MSG.DELETE." + x, nil, `{"seq":1}`, violation},
		{"removes a peer", "$JS.API.STREAM.PEER.REMOVE." + x, nil, `{"peer":"one"}`, violation},
		{"steps the leader down", "$JS.API.STREAM.LEADER.STEPDOWN." + x, nil, "", violation},
		{"steps the meta leader down", "$JS.API.META.LEADER.STEPDOWN", nil, "", violation},
		{"purges the account", "$JS.API.ACCOUNT.PURGE.GATEHOUSE", nil, "", violation},
		{"removes a server", "$JS.API.SERVER.REMOVE", nil, `{"peer":"one"}`, violation},
		{"lists streams", "$JS.API.STREAM.LIST", nil, "", violation},
		{"asks for the account", "$JS.API.INFO", nil, "", violation},
		{"creates a consumer", "$JS.API.CONSUMER.CREATE." + x, nil, `{"stream_name":"` + x + `","config":{}}`, violation},
		{"creates a named consumer", "$JS.API.CONSUMER.CREATE." + x + ".c", nil, `{}`, violation},
		{"creates a durable", "$JS.API.CONSUMER.DURABLE.CREATE." + x + ".c", nil, `{}`, violation},
		{"has it delivered to b", "$JS.API.CONSUMER.CREATE." + x + ".c." + mine, nil, `{"config":{"deliver_subject":"` + theirs + `"}}`, violation},
		{"pulls", "$JS.API.CONSUMER.MSG.NEXT." + x + ".c", nil, "", violation},
		{"acknowledges", "$JS.ACK." + x + ".c.1.1.1.1.1", nil, "", violation},
		{"reloads the server", "$SYS.REQ.SERVER.ABC.RELOAD", nil, "", violation},
		{"asks the system", "$SYS.REQ.SERVER.PING", nil, "", violation},
		{"speaks raft", "$NRG.V.x", nil, "", violation},
		{"answers b", jetstream.Inbox("b") + ".x.y", nil, "x", violation},
		{"writes elsewhere", "anything", nil, "x", violation},
	}
	for _, c := range tries {
		t.Run(c.name, func(t *testing.T) {
			answers, err := a.SubscribeSync(a.NewInbox())
			if err != nil {
				t.Fatal(err)
			}
			defer answers.Unsubscribe()
			msg := &nats.Msg{Subject: c.subject, Reply: answers.Subject, Header: c.header, Data: []byte(c.data)}
			if err := a.PublishMsg(msg); err != nil {
				if c.want == "" {
					return // the library does not even send it
				}
				t.Fatal(err)
			}
			if got := a.refused(t, answers); !strings.Contains(strings.ToLower(got), c.want) {
				t.Errorf("the server says %q, want %q in it", got, c.want)
			}
		})
	}

	// The reply subject is one that the server publishes to, with whatever the answer is.
	for _, reply := range []string{
		theirs, jetstream.Subject(told), jetstream.Subject(exports), jetstream.Subject(object) + ".0", jetstream.Root + ".claims.x.b",
		"$JS.API.STREAM.DELETE." + x, "$JS.API.STREAM.PURGE." + x, "$JS.ACK.x", "_R_.x",
	} {
		t.Run("has answers stored at "+reply, func(t *testing.T) {
			for subject, data := range map[string]string{
				mine:                          "x",
				"$JS.API.DIRECT.GET." + x:     `{"last_by_subj":"` + mine + `"}`,
				"$JS.API.STREAM.MSG.GET." + x: `{"last_by_subj":"` + mine + `"}`,
				"$JS.API.STREAM.INFO." + jetstream.ClaimsStream: ``,
			} {
				if err := a.PublishRequest(subject, reply, []byte(data)); err != nil {
					t.Fatal(err)
				}
				a.settle(t)
				select {
				case err := <-a.violations:
					if !strings.Contains(err.Error(), "Reply") {
						t.Error(err)
					}
				case <-time.After(time.Minute):
					t.Errorf("a request of %s with that reply is not refused", subject)
				}
			}
		})
	}
	traced := &nats.Msg{Subject: mine, Data: []byte("x"), Header: nats.Header{"Nats-Trace-Dest": {theirs}, "Nats-Trace-Only": {"true"}}}
	if err := a.PublishMsg(traced); err != nil {
		t.Fatal(err)
	}
	a.settle(t)

	for _, subject := range []string{
		">", "*", jetstream.Inbox("b") + ".>", jetstream.Inbox("b") + ".*.*", "_INBOX.>", "_INBOX.*.*", jetstream.Root + ".>", mine, "$SYS.>", "$JS.>", "$JS.EVENT.>",
		"_R_.>", "$NRG.>",
	} {
		t.Run("subscribes to "+subject, func(t *testing.T) {
			for _, queue := range []string{"", "q"} {
				if _, err := a.QueueSubscribeSync(subject, queue); err != nil && queue != "" {
					t.Fatal(err)
				}
				select {
				case err := <-a.violations:
					if !errors.Is(err, nats.ErrPermissionViolation) {
						t.Error(err)
					}
				case <-time.After(time.Minute):
					t.Error("it is not refused")
				}
			}
		})
	}

	for key, want := range map[exchange.Key]string{beat("b"): "b's own", told: "b's own", exports: "b's own", object: "content"} {
		if e, err := b.Get(patient(t), key); err != nil || string(e.Value) != want {
			t.Errorf("%v is now %q, %v", key, e.Value, err)
		}
	}
	got := collect(t, b, exchange.Key{Kind: exchange.Beats})
	if len(got) != 2 {
		t.Errorf("the beats are %v, want those of a and b", got)
	}
}

func TestAHostileHostDelaysAnAlertByItsLeaseOnly(t *testing.T) {
	t.Parallel()
	f := single(t, "a", "b")
	a := f.attack(t)
	ask := func(id, data string) string {
		t.Helper()
		msg, err := a.Request(jetstream.Root+".claims."+id+".a", []byte(data), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return string(msg.Data)
	}
	b := f.connect(t, "b")
	var id string
	var c exchange.Claim
	var err error
	for n, late := 0, true; late && n < 10; n++ { // a slow machine may ask when the lease is over
		id = fmt.Sprint("x", n)
		begun := time.Now()
		if got := ask(id, `{"lease_ns":2000000000}`); !strings.Contains(got, `"seq"`) {
			t.Fatal(got)
		}
		// It cannot make it longer,
		if got := ask(id, `{"lease_ns":9000000000000000000}`); !strings.Contains(got, "error") {
			t.Errorf("a second claim of one host: %s", got)
		}
		c, err = b.Claim(patient(t), id, time.Minute)
		late = time.Since(begun) >= 2*time.Second
	}
	if err != nil || c.Holder != "a" || c.Mine {
		t.Errorf("while a's lease lasts: %+v, %v", c, err)
	}
	time.Sleep(time.Until(c.Until) + 20*time.Millisecond)
	if c, err = b.Claim(patient(t), id, time.Minute); err != nil || !c.Mine {
		t.Errorf("after a's lease: %+v, %v", c, err)
	}
	// nor have it counted as more than it may be.
	if _, err := a.Request(jetstream.Root+".claims.y.a", []byte(`{"lease_ns":9000000000000000000}`), time.Minute); err != nil {
		t.Fatal(err)
	}
	if c, err = b.Claim(patient(t), "y", time.Minute); err != nil || c.Until.Sub(c.Since) != exchange.MaxLease {
		t.Errorf("a lease of centuries counts as %v, %v", c.Until.Sub(c.Since), err)
	}
	// What is no claim is nobody's.
	for _, garbage := range []string{"", "{", `{"lease_ns":"x"}`} {
		id := "g" + fmt.Sprint(len(garbage))
		if _, err := a.Request(jetstream.Root+".claims."+id+".a", []byte(garbage), time.Minute); err != nil {
			t.Fatal(err)
		}
		if c, err = b.Claim(patient(t), id, time.Minute); err != nil || !c.Mine {
			t.Errorf("after the claim %q: %+v, %v", garbage, c, err)
		}
	}
}
