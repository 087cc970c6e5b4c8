//go:build linux

package caller

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gatehouse/config"
	"gatehouse/gate/catalog"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestWhomTheIndexDoesNotListIsNotHeard(t *testing.T) {
	s := newSite(t)
	s.serve()
	// Nothing that it sends is waited for.
	if a := s.answers(s.dial(stranger), ""); a.Error == nil || a.Error.Code != catalog.NotListed || !strings.Contains(a.Error.Text, "64321") {
		t.Errorf("%+v", a.Error)
	}
	s.write("gates.json", "{")
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.NotListed, "not known")
	s.must(os.Remove(s.options.Index))
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.NotListed, "not known")
	live := s.gate("a", 0)
	live.Decide = config.DecideLive
	live.Live[0].Root = filepath.Join(s.dir, "accepted/files/policy")
	s.index(live)
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.NotAccepted, "decide: live")
	none := s.gate("a", 0)
	none.Accepted, none.Tree = "", ""
	s.index(none)
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.NotAccepted, "nobody has accepted")
	s.index(s.gate("a", 0))
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.OK, "")
}

func TestOneUserHasNoSayInTheJobsOfAnother(t *testing.T) {
	s := newSite(t)
	s.serve()
	s.want(s.call(0, "job", "fail", `{}`), catalog.ToolFailed, "")
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.JobEnded, "")
	r := s.call(1, "job", "say", `{"word": "a"}`)
	if s.want(r, catalog.OK, ""); r.Step != 1 {
		t.Errorf("its first step is %d", r.Step)
	}
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.JobEnded, "")
	for _, uid := range []string{"0", "1"} {
		if _, err := os.Stat(filepath.Join(s.dir, "state", uid, ".local/state/gatehouse/log/decisions.jsonl")); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	s := newSite(t)
	s.serve()
	good := `{"v":1,"op":"list","client":"mcp"}`
	for name, line := range map[string]string{
		"nothing":            "\n",
		"garbage":            "\x00\xff\x16\x03\x01 GET / HTTP/1.1\r\n\r\n\n",
		"no object":          "[1]\n",
		"a strange key":      `{"v":1,"op":"list","client":"mcp","uid":0}` + "\n",
		"two on a line":      good + good + "\n",
		"an unknown op":      `{"v":1,"op":"end","client":"mcp"}` + "\n",
		"no op":              `{"v":1,"client":"mcp"}` + "\n",
		"a strange client":   `{"v":1,"op":"list","client":"root"}` + "\n",
		"no version":         `{"op":"list","client":"mcp"}` + "\n",
		"a call that is not": `{"v":1,"op":"call","client":"mcp","call":{"tool":"say"}}` + "\n",
		"too long a line":    `{"v":1,"job":"` + strings.Repeat("a", maxRequest) + "\n",
		"an endless line":    strings.Repeat("a", 4*maxRequest),
		"deep nesting":       strings.Repeat("[", 1<<20) + "\n",
	} {
		if a := s.answers(s.dial(0), line); a.Error == nil || a.Error.Code != catalog.BadRequest {
			t.Errorf("%s: %+v", name, a)
		}
	}
	later := s.answers(s.dial(0), `{"v":2,"op":"list","client":"mcp","more":true}`+"\n")
	if later.Error == nil || !strings.Contains(later.Error.Text, "version 2") {
		t.Errorf("%+v", later.Error)
	}
	// A client that closes what it sends has cancelled; one that sends more has, too.
	conn := s.dial(0)
	sleep, err := json.Marshal(request{Version: 1, Op: "call", Client: MCP, Job: "x", Call: []byte(`{"tool": "sleep", "args": {}}`)})
	s.must(err)
	a := s.answers(conn, string(sleep)+"\nmore\n")
	if a.Result == nil || a.Result.Code != catalog.Cancelled && a.Result.Code != catalog.Fault {
		t.Errorf("%+v of %+v", a.Result, a)
	}
	if a := s.answers(s.dial(0), good+"\n"); a.Catalogue == nil {
		t.Errorf("after all that: %+v", a.Error)
	}
}

func TestARequestThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	s := newSite(t)
	s.patience = 200 * time.Millisecond
	s.serve()
	for _, begun := range []string{"", `{"v":1,"op":"li`} {
		if a := s.answers(s.dial(0), begun); a.Error == nil || a.Error.Code != catalog.BadRequest {
			t.Errorf("%q: %+v", begun, a)
		}
	}
}

func TestTenThousandConnectionsOfOneUserAreItsOwnTrouble(t *testing.T) {
	s := newSite(t)
	s.patience = time.Hour // however long ten thousand take
	s.serve()
	for range perUser {
		s.dial(1) // and says nothing
	}
	busy := 0
	as(1, func() {
		for range 10000 {
			conn, err := dialRoots(s.options.Socket)
			if err != nil {
				t.Error(err)
				return
			}
			if data := make([]byte, 1<<10); true {
				n, _ := conn.Read(data)
				if strings.Contains(string(data[:n]), `"code":"busy"`) {
					busy++
				}
			}
			conn.Close()
		}
	})
	if busy != 10000 {
		t.Errorf("%d of 10000 were refused", busy)
	}
	if n := runtime.NumGoroutine(); n > 100 {
		t.Errorf("%d goroutines", n)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	s.must(err)
	if len(fds) > 100 {
		t.Errorf("%d descriptors", len(fds))
	}
	s.want(s.call(0, "job", "say", `{"word": "a"}`), catalog.OK, "")
}

func TestTheUserOfAJobIsTheKernelsWord(t *testing.T) {
	s := newSite(t)
	s.serve()
	for n := range 3 {
		s.want(s.call(n%2, fmt.Sprintf("job %d", n), "say", `{"word": "a"}`), catalog.OK, "")
	}
	dirs, err := os.ReadDir(filepath.Join(s.dir, "state"))
	s.must(err)
	if len(dirs) != 2 || dirs[0].Name() != "0" || dirs[1].Name() != "1" {
		t.Errorf("%v", dirs)
	}
}
