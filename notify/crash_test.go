package notify

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse/internal/durable"
)

// The test kills a process at each step on disk, before and after it, and right after a receiver took the message; and
// lets the next one go on. Slack can be searched, so there it ends with one message; the webhook may get the same
// message again, under the same id.
func TestWhereverAProcessDiesTheNextOnePutsItRight(t *testing.T) {
	if os.Getenv("NOTIFY_CRASH_DIR") != "" {
		dyingProcess(t)
		return
	}
	for kill := 1; ; kill += stride {
		dir := scratch(t)
		slackAPI := newSlackServer(t)
		hook, posts := receiver(t, nil)
		died := runDying(t, dir, slackAPI.URL, hook.URL, kill)
		if died {
			runDying(t, dir, slackAPI.URL, hook.URL, 0)
		}
		runDying(t, dir, slackAPI.URL, hook.URL, 0)

		if len(slackAPI.messages) != 1 {
			t.Errorf("killed at %d: %d messages in Slack", kill, len(slackAPI.messages))
		}
		first := (*posts)[0]
		for _, p := range (*posts)[1:] {
			if p.header.Get("Idempotency-Key") != first.header.Get("Idempotency-Key") || !bytes.Equal(p.body, first.body) {
				t.Errorf("killed at %d: the webhook got something else again:\n%s\n%s", kill, first.body, p.body)
			}
		}
		if len(*posts) > 2 {
			t.Errorf("killed at %d: %d posts", kill, len(*posts))
		}
		if !died {
			if kill < 12 {
				t.Errorf("only %d places to die at", kill)
			}
			return
		}
	}
}

// runDying runs this test in a child that dies at its nth step, and reports whether it did.
func runDying(t *testing.T, dir, slackURL, hookURL string, n int) bool {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "NOTIFY_CRASH_DIR="+dir, "NOTIFY_CRASH_SLACK="+slackURL, "NOTIFY_CRASH_HOOK="+hookURL,
		"NOTIFY_CRASH_AT="+strconv.Itoa(n))
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// dyingProcess is one run of the warden, as far as notices go.
func dyingProcess(t *testing.T) {
	fatal, err := strconv.Atoi(os.Getenv("NOTIFY_CRASH_AT"))
	if err != nil {
		t.Fatal(err)
	}
	places := 0
	die := func() {
		if places++; places == fatal {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	disk := durable.Disk{Around: func(_ durable.Step, change func() error) error {
		die()
		err := change()
		die()
		return err
	}}
	dir := os.Getenv("NOTIFY_CRASH_DIR")
	// The sink knows the channel's id from an earlier message.
	memory := dir + "/slack"
	if err := os.WriteFile(memory, []byte(`{"Channel":"#agents","ID":"C0AGENTS"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	transport := dyingAfter{die}
	o := &Outbox{Dir: dir + "/notices", Disk: disk, Host: "agent-1", Sinks: []Sink{
		NewSlack(SlackOptions{Token: "xoxb-secret", Channel: "#agents", APIURL: os.Getenv("NOTIFY_CRASH_SLACK") + "/api",
			Memory: memory, Disk: disk, Transport: transport}),
		NewWebhook(os.Getenv("NOTIFY_CRASH_HOOK"), "", transport),
	}}
	e := drift("ab")
	if err := o.Report(e, t0()); err != nil {
		t.Fatal(err)
	}
	d, err := o.Deliver(t.Context(), time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Sinks {
		if s.Pending > 0 {
			t.Error(fmt.Sprintf("%+v", s), strings.Join(d.Warnings, "\n"))
		}
	}
}

// dyingAfter dies between the receiver's answer and its being known here.
type dyingAfter struct{ die func() }

func (d dyingAfter) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	d.die()
	return resp, err
}
