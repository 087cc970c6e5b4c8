package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse/internal/cli"
)

func TestParseScheduleRefusesWhatCronOnlySeemsToMean(t *testing.T) {
	now := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
	for spec, want := range map[string]string{
		"@hourly":              "",
		"*/5 * * * *":          "",
		"@every 30m":           "",
		"TZ=UTC":               "names a time zone",
		"CRON_TZ=":             "names a time zone",
		"TZ=UTC * * * * *":     "names a time zone",
		"@every -1s":           "less than a minute",
		"@every 1s":            "less than a minute",
		"0 0 31 2 *":           "never comes up",
		"hourly":               "is no schedule",
		"":                     "is no schedule",
		"* * * * * *":          "is no schedule",
		"60 * * * *":           "is no schedule",
		"@every 1h\n@every 2h": "is no schedule",
	} {
		_, err := parseSchedule(spec, now)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

// Where clocks are put forward or back, a schedule in UTC neither skips nor doubles.
func TestScheduleHasEveryHourOnceAcrossClockChanges(t *testing.T) {
	schedule, err := parseSchedule("@hourly", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	for range 72 {
		next := schedule.Next(at)
		if next.Sub(at) != time.Hour {
			t.Fatalf("after %v comes %v", at, next)
		}
		at = next
	}
}

func TestSleepUntilFollowsTheClockAndEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alive atomic.Int64
		start := time.Now()
		if !sleepUntil(t.Context(), start.Add(time.Hour), &alive) || time.Since(start) != time.Hour {
			t.Errorf("slept %v, want an hour", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if sleepUntil(ctx, time.Now().Add(time.Hour), &alive) {
			t.Error("it went on after its context ended")
		}
	})
}

func TestWithinLeavesWhatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		_, err := within(t.Context(), time.Minute, func(context.Context) (int, error) { <-free; return 1, nil })
		if !errors.Is(err, errAbandoned) {
			t.Errorf("error %v", err)
		}
		close(free)
	})
}

func TestServeTellsSystemdThatItIsReadyAliveAndStopping(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "300000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))

	streams := quiet()
	streams.Getenv = os.Getenv
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := &trial{ctx: ctx, streams: streams, dir: dir}
	if err := host.setUp(); err != nil {
		t.Fatal(err)
	}
	if err := host.publish(); err != nil {
		t.Fatal(err)
	}
	code := make(chan int, 1)
	go func() { code <- Main(ctx, []string{"--config", host.path("warden.yaml"), "serve"}, streams) }()

	// In this order, each within reason; the watchdog goes on beside them, and may begin after a first pass that was quick.
	var got []string
	buffer := make([]byte, 4096)
	for _, want := range []string{"READY=1", "STATUS=drifted; next pass ", "WATCHDOG=1", "STOPPING=1"} {
		if want == "STOPPING=1" {
			cancel()
		}
		if err := listener.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := listener.Read(buffer)
			if err != nil {
				t.Fatalf("no %s after %q: %v", want, got, err)
			}
			got = append(got, string(buffer[:n]))
			if strings.HasPrefix(got[len(got)-1], want) {
				break
			}
		}
	}
	if c := <-code; c != cli.Yes {
		t.Errorf("exit code %d: %s", c, streams.Err.(*bytes.Buffer))
	}
	if said := streams.Err.(*bytes.Buffer).String(); !strings.Contains(said, "warden: drifted; next pass at 2") {
		t.Errorf("it does not say what the pass found and when the next one is:\n%s", said)
	}
}
