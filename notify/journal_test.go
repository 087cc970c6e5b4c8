package notify

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestWithoutAJournalThereIsOneLine(t *testing.T) {
	inPrivateRun(t, func(t *testing.T) {
		var line bytes.Buffer
		o := outbox(t, NewJournal(&line))
		report(t, o, drift("ab"), t0())
		if d := deliver(t, o, t0()); d.Sinks[0].Sent != 1 {
			t.Errorf("%+v", d)
		}
		batch := newMessage("agent-1", t0(), []Notice{{ID: "drift/claude/live/1#1", OpenedAt: t0()}}).ID
		want := `msg="gate claude on agent-1: drift (new): live files differ from what was accepted; 2 changes:;   ` +
			`content policy/a;   content policy/b" changes=2 command="warden accept d-ab" ` +
			`fingerprint=` + drift("ab").Fingerprint + ` gate=claude host=agent-1 ` +
			`kind=drift notice_batch=` + batch + ` notice_id=drift/claude/live/1#1 severity=8 state=open subject=live ` +
			"message_id=fd8f2ba3efdd4be29e2e7630bd4cabd4 priority=3\n"
		if diff := cmp.Diff(want, line.String()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATitleOfItsOwnStandsInPlaceOfGateAndKind(t *testing.T) {
	inPrivateRun(t, func(t *testing.T) {
		var line bytes.Buffer
		o := outbox(t, NewJournal(&line))
		e := drift("a")
		e.Title = "a.service failed\n"
		report(t, o, e, t0())
		deliver(t, o, t0())
		if want := `msg="agent-1: \"a.service failed\\n\" (new): `; !strings.HasPrefix(line.String(), want) {
			t.Errorf("%s\nwant %s", line.String(), want)
		}
	})
}

func TestJournalEntriesHaveFields(t *testing.T) {
	inPrivateRun(t, func(t *testing.T) {
		socket := listen(t)
		o := outbox(t, NewJournal(io.Discard))
		ids := map[string]bool{}
		for i, state := range []State{Opened, Changed, Closed, Flapping} {
			e := drift("abc"[:min(i+1, 3)])
			e.Severity = 12 - 3*i
			e.Detail = []string{"+line"}
			switch state {
			case Closed:
				clearSubject(t, o, t0())
			case Flapping:
				for range maxAnnouncements {
					report(t, o, drift("a"), t0())
					clearSubject(t, o, t0())
				}
			default:
				report(t, o, e, t0())
			}
			deliver(t, o, t0())
			got := receive(t, socket)
			ids[got["MESSAGE_ID"]] = true
			lines := strings.Split(got["MESSAGE"], "\n")
			announced := state == Opened || state == Changed
			if !strings.HasPrefix(lines[0], "gate claude on agent-1: drift (") ||
				announced && strings.TrimSpace(lines[len(lines)-3]) != e.Command {
				t.Errorf("%s: message %q", state, got["MESSAGE"])
			}
			want := map[State]string{Opened: "2", Changed: "3", Closed: "5", Flapping: "3"}[state]
			if got["PRIORITY"] != want || got["GATEHOUSE_STATE"] != string(state) || got["GATEHOUSE_GATE"] != "claude" ||
				got["GATEHOUSE_KIND"] != "drift" || got["GATEHOUSE_FINGERPRINT"] == "" ||
				!strings.HasPrefix(got["GATEHOUSE_NOTICE_ID"], "drift/claude/live/") {
				t.Errorf("%s: %v", state, got)
			}
		}
		if len(ids) != 4 {
			t.Errorf("message ids: %q", slices.Collect(maps.Keys(ids)))
		}
	})
}

func TestAJournalThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	inPrivateRun(t, func(t *testing.T) {
		socket := listen(t)
		for n := 1; n > 0; { // a socket may have only so much on its way: the last that fills finds no room for anything
			fill, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			n = -1
			for ; err == nil; n++ {
				err = unix.Sendto(fill, []byte("MESSAGE=x\n"), 0, &unix.SockaddrUnix{Name: socket.LocalAddr().String()})
			}
			if unix.Close(fill); err != unix.EAGAIN {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o := outbox(t, NewJournal(io.Discard))
		report(t, o, drift("a"), t0())
		d, err := o.Deliver(ctx, at(t0()), nil)
		if err != nil || d.Sinks[0].Pending != 1 || d.Sinks[0].Sent != 0 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func TestJournalMessageIDsNeverChange(t *testing.T) {
	for state, want := range map[State]string{
		Opened: "fd8f2ba3efdd4be29e2e7630bd4cabd4", Changed: "f7fa615455294d00a0942122c3742d03",
		Closed: "b1b01edc3e5744798cdfaba21004ca23", Flapping: "ccfa56f3bb024c55a8eb5f5d8d80c3b6",
	} {
		if got := messageID(state); got != want {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
}

// inPrivateRun runs a test in a process of its own that has an empty /run.
func inPrivateRun(t *testing.T, test func(t *testing.T)) {
	if os.Getenv("NOTIFY_PRIVATE_RUN") == t.Name() {
		if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		test(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: a mount namespace with its own /run")
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), "NOTIFY_PRIVATE_RUN="+t.Name())
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// listen takes the place of the journal.
func listen(t *testing.T) *net.UnixConn {
	if err := os.MkdirAll("/run/systemd/journal", 0o755); err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "/run/systemd/journal/socket", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return socket
}

// receive reads one entry in the journal's own format.
func receive(t *testing.T, socket *net.UnixConn) map[string]string {
	t.Helper()
	socket.SetReadDeadline(time.Now().Add(time.Minute))
	buf := make([]byte, 1<<20)
	n, err := socket.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	entry, data := map[string]string{}, buf[:n]
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if name, value, ok := bytes.Cut(line, []byte("=")); ok {
			entry[string(name)], data = string(value), rest
			continue
		}
		size := int(rest[0]) | int(rest[1])<<8 | int(rest[2])<<16
		entry[string(line)], data = string(rest[8:8+size]), rest[8+size+1:]
	}
	return entry
}
