//go:build linux

package caller

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse/config"
	"gatehouse/gate/catalog"
)

func TestWhoTakesTheCalls(t *testing.T) {
	s := newSite(t)
	live := s.gate("a", 0)
	live.Decide = config.DecideLive
	for name, c := range map[string]struct {
		prepare func()
		want    string
	}{
		"the service, where it is installed":                            {func() {}, "*caller.client"},
		"this process, where it is not":                                 {func() { s.must(os.Remove(s.options.Unit)) }, "*catalog.Host"},
		"this process, where root masked it":                            {func() { s.must(os.Remove(s.options.Unit)); s.must(os.Symlink("/dev/null", s.options.Unit)) }, "*catalog.Host"},
		"the service, by a link to its unit":                            {func() { s.must(os.Remove(s.options.Unit)); s.must(os.Symlink("/usr/lib/x", s.options.Unit)) }, "*caller.client"},
		"this process, for another user":                                {func() { s.index(s.gate("a", 5)) }, "*catalog.Host"},
		"this process, with decide: live":                               {func() { s.index(live) }, "*catalog.Host"},
		"the service, if one gate decides":                              {func() { s.index(live, s.gate("b", 0)) }, "*caller.client"},
		"this process, which denies, with an index that cannot be read": {func() { s.write("gates.json", "{") }, "*catalog.Host"},
		"nobody, where it cannot be told":                               {func() { s.options.Unit = filepath.Join(s.options.Index, "x") }, "caller.refusing"},
	} {
		before := s.options
		s.write("unit", "")
		s.index(s.gate("a", 0))
		c.prepare()
		if got := fmt.Sprintf("%T", s.open()); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if c.want == "caller.refusing" {
			s.want(s.open().Call(t.Context(), catalog.Request{Job: "x"}), catalog.NoService, "not known")
		}
		s.options = before
		s.must(os.RemoveAll(s.options.Unit))
	}
	s.index()
	s.write("gates.json", "{")
	s.want(s.open().Call(t.Context(), catalog.Request{Job: "x", Call: []byte("{}")}), catalog.NotAccepted, "")
}

func TestCallsAndListsGoThroughTheService(t *testing.T) {
	s := newSite(t)
	s.serve()
	c, err := s.open().List(t.Context())
	if err != nil || c.Find("say") == nil || c.From.Mode != "accepted" || len(c.Find("say").Args) == 0 {
		t.Fatalf("%v, %+v", err, c)
	}
	call := func(job, data string) catalog.Result {
		return s.open().Call(t.Context(), catalog.Request{Job: job, Call: []byte(data)})
	}
	r := call("job", `{"tool": "say", "args": {"word": "hello"}}`)
	s.want(r, catalog.OK, "")
	if r.Stdout != "hello\n" || r.Step != 1 || r.Steps != 8 || r.Counter != "boundary" || !r.Ran || !strings.HasPrefix(r.Decision, "c-") {
		t.Errorf("%+v", r)
	}
	r = call("job", `{"tool": "vars", "args": {}}`)
	if !strings.Contains(r.Stdout, "LANG=value of LANG\n") || !strings.Contains(r.Stdout, "HOME=/nonexistent\n") {
		t.Errorf("a tool finds set: %s", r.Stdout)
	}
	s.want(call("job", `{"tool": "say", "tool": "fail", "args": {}}`), catalog.BadCall, "")
	s.want(call("job", `{"tool": "say", "args": {"word": "hello"}}`), catalog.JobEnded, "step 3")
	s.want(call("", `{}`), catalog.NoJob, "")
	for n := 1; n <= 8; n++ {
		s.want(call("eight", `{"tool": "say", "args": {"word": "hello"}}`), catalog.OK, "")
	}
	s.want(call("eight", `{"tool": "say", "args": {"word": "hello"}}`), catalog.NoSteps, "")
}

func TestACallerThatGoesAwayEndsTheTool(t *testing.T) {
	s := newSite(t)
	s.serve()
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan catalog.Progress, 100)
	answered := make(chan catalog.Result, 1)
	go func() {
		answered <- s.open().Call(ctx, catalog.Request{Job: "a", Call: []byte(`{"tool": "sleep", "args": {}}`), Progress: func(p catalog.Progress) { told <- p }})
	}()
	if p := <-told; p.Tool != "sleep" || p.Elapsed <= 0 {
		t.Errorf("%+v", p)
	}
	cancel()
	r := <-answered
	s.want(r, catalog.Cancelled, "")
	if !r.Ended || !r.Ran {
		t.Errorf("%+v", r)
	}
}

// The service is stopped in the middle of a call: the call ends in order. One that is killed says nothing, and the next
// knows that a step began and never ended.
func TestAServiceThatEnds(t *testing.T) {
	s := newSite(t)
	stop := s.serve()
	told := make(chan catalog.Progress, 100)
	answered := make(chan catalog.Result, 1)
	go func() {
		answered <- s.open().Call(t.Context(), catalog.Request{Job: "a", Call: []byte(`{"tool": "sleep", "args": {}}`), Progress: func(p catalog.Progress) { told <- p }})
	}()
	<-told
	stop()
	s.want(<-answered, catalog.Cancelled, "")

	s.want(s.open().Call(t.Context(), catalog.Request{Job: "b"}), catalog.NoService, "systemctl status")
	for name, c := range map[string]struct {
		says string
		code catalog.Code
		part string
	}{
		"hangs up":              {"", catalog.CallLost, "hung up"},
		"is cut":                {`{"v":1,"resu`, catalog.CallLost, ""},
		"speaks another tongue": {`{"v":2}` + "\n", catalog.CallLost, "speaks version 2"},
		"says nothing":          {`{"v":1}` + "\n", catalog.NoService, "no result"},
	} {
		listener := s.listen()
		go func() {
			answerAll(listener, `{"v":1,"catalogue":{}}`, c.says) // the list of variables, and the call
		}()
		r := s.open().Call(t.Context(), catalog.Request{Job: "b", Call: []byte("{}")})
		if s.want(r, c.code, c.part); r.Ended != (c.code == catalog.CallLost) || r.Code.Exit() != 2 {
			t.Errorf("%s: %+v", name, r)
		}
		listener.Close()
	}
}

// answerAll gives each connection the next answer.
func answerAll(listener *net.UnixListener, answers ...string) {
	for _, a := range answers {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		conn.Read(make([]byte, 1<<16))
		conn.Write([]byte(a))
		conn.Close()
	}
}

func TestAToolIsNotRunWithoutTheVariablesThatItLists(t *testing.T) {
	s := newSite(t)
	call := catalog.Request{Job: "job", Call: []byte(`{"tool": "vars", "args": {}}`)}
	for says, code := range map[string]catalog.Code{`{"v":1,"error":{"code":"busy","text":"too many"}}`: catalog.Busy, "": catalog.NoService} {
		listener := s.listen()
		go answerAll(listener, says, `{"v":1,"result":{"code":"ok"}}`)
		s.want(s.open().Call(t.Context(), call), code, "")
		listener.Close()
	}
}

func TestAServiceThatWasReplacedMakesRoom(t *testing.T) {
	s := newSite(t)
	listener := s.listen()
	var asked atomic.Int32 // once after each call: the program is replaced during the second
	old := func() bool { return asked.Add(1) == 2 }
	service := &Service{Index: s.options.Index, State: filepath.Join(s.dir, "state"), Log: discard(), Old: old}
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(context.Background(), listener) }()
	s.want(s.call(0, "", "say", `{}`), catalog.NoJob, "")
	s.want(s.call(0, "", "say", `{}`), catalog.NoJob, "")
	select {
	case err := <-ended:
		s.must(err)
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}

func TestASocketThatIsNotRootsIsNotBelieved(t *testing.T) {
	s := newSite(t)
	s.must(os.Chmod(s.dir, 0o777))
	var listener *net.UnixListener
	var err error
	as(stranger, func() { listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: s.options.Socket, Net: "unix"}) })
	s.must(err)
	defer listener.Close()
	s.want(s.open().Call(t.Context(), catalog.Request{Job: "x"}), catalog.NoService, "uid 64321 listens")
	if _, err := s.open().List(t.Context()); catalog.CodeOf(err) != catalog.NoService {
		t.Error(err)
	}
	s.must(os.Remove(s.options.Socket))
	s.write("call.sock", "")
	s.want(s.open().Call(t.Context(), catalog.Request{Job: "x"}), catalog.NoService, "is no socket")
	// The unit of a tool asks the same of the service.
	ours := s.listen()
	defer ours.Close()
	conn := s.dial(stranger)
	taken, err := ours.AcceptUnix()
	s.must(err)
	defer taken.Close()
	if err := ServeTool(taken, stage()); err == nil {
		t.Error("anybody can have a tool run")
	}
	conn.Close()
}
