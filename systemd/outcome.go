package systemd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An Outcome is how the last run of a unit ended.
type Outcome struct {
	Unit         string
	Load, Active string // LoadState and ActiveState
	Result       string // "success", "exit-code", "signal", "timeout", …; empty is not known
	Code         string // "exited", "killed", "dumped", or empty
	Status       int    // the exit code, or the number of the signal
	InvocationID string
	Ended        time.Time // of the main process; zero if there was none
}

// ExitedWith reports whether the main process ended by itself, with this code, and nothing else was wrong.
func (o Outcome) ExitedWith(code int) bool {
	return o.Result == "exit-code" && o.Code == "exited" && o.Status == code
}

// GoodSince reports whether a failure of that time is over: a run ended well after it, or the unit is up, or gone.
func (o Outcome) GoodSince(failed time.Time) bool {
	switch {
	case o.Load == "not-found", o.Load == "masked":
		return true
	case o.Load != "loaded" || o.Result != "success" || o.Active == "failed":
		return false
	case o.Code == "": // a timer or a path
		return o.Active == "active"
	default:
		return o.Ended.After(failed)
	}
}

// String says in a few words how it ended.
func (o Outcome) String() string {
	how := ""
	switch o.Code {
	case "exited":
		how = fmt.Sprintf("exit code %d", o.Status)
		if o.Result == "exit-code" && o.Status >= 200 && o.Status <= 243 { // systemd's own, as 203 for no such program
			how = fmt.Sprintf("its program could not be started (exit code %d); the journal says why", o.Status)
		}
	case "killed", "dumped":
		how = "killed by " + signalName(o.Status)
	}
	switch o.Result {
	case "":
		return "systemd did not say how it ended"
	case "success":
		return "it could not be started; the journal says why"
	case "exit-code", "signal":
		if how != "" {
			return how
		}
	case "core-dump":
		return how + ", with a core dump"
	case "timeout":
		return "it was not done in time"
	case "watchdog":
		return "it gave no sign of life in time"
	case "oom-kill":
		return "it used more memory than it may"
	case "start-limit-hit", "unit-start-limit-hit", "trigger-limit-hit":
		return "it was started too often"
	case "resources":
		return "systemd could not set it up; the journal says why"
	}
	if how != "" {
		return o.Result + ", " + how
	}
	return o.Result
}

func signalName(n int) string {
	if name := unix.SignalName(unix.Signal(n)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", n)
}

// LastOutcome asks the system manager how the last run of a unit ended.
func LastOutcome(ctx context.Context, unit string) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c := new(Checker)
	var properties map[string]any
	var errs []error
	for _, at := range c.systemSockets() {
		conn, err := c.connect(ctx, at)
		if err == nil {
			properties, err = unitProperties(ctx, conn, unit)
			conn.Close()
		}
		if err == nil {
			break
		}
		errs = append(errs, fmt.Errorf("%s: %w", at.path, err))
	}
	if properties == nil {
		return Outcome{}, fmt.Errorf("ask systemd for %q: %w", unit, errors.Join(errs...))
	}
	o := Outcome{Unit: unit}
	text := func(name string) string { s, _ := properties[name].(string); return s }
	o.Load, o.Active, o.Result = text("LoadState"), text("ActiveState"), text("Result")
	id, _ := properties["InvocationID"].([]byte)
	o.InvocationID = hex.EncodeToString(id)
	code, _ := properties["ExecMainCode"].(int32)
	o.Code = map[int32]string{1: "exited", 2: "killed", 3: "dumped"}[code]
	status, _ := properties["ExecMainStatus"].(int32)
	o.Status = int(status)
	if at, _ := properties["ExecMainExitTimestamp"].(uint64); at > 0 {
		o.Ended = time.UnixMicro(int64(at))
	}
	return o, nil
}

// MonitoredOutcome reads what systemd, from 251 on, tells a unit that it started by OnFailure= about the service that
// failed. It is about the very run that failed, which may not be the last one any more when this one looks.
func MonitoredOutcome(unit string, getenv func(string) string) (Outcome, bool) {
	if getenv("MONITOR_UNIT") != unit || getenv("MONITOR_SERVICE_RESULT") == "" {
		return Outcome{}, false
	}
	o := Outcome{Unit: unit, Load: "loaded", Active: "failed", Result: getenv("MONITOR_SERVICE_RESULT"),
		Code: getenv("MONITOR_EXIT_CODE"), InvocationID: getenv("MONITOR_INVOCATION_ID")}
	status := getenv("MONITOR_EXIT_STATUS")
	if n, err := strconv.Atoi(status); err == nil {
		o.Status = n
	} else {
		o.Status = int(unix.SignalNum("SIG" + strings.TrimPrefix(status, "SIG")))
	}
	return o, true
}
