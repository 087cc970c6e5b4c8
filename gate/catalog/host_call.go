package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse/gate"
)

// ResultSchema is the schema of a Result.
const ResultSchema = "gatehouse/call/v1"

// Call runs one call. Its Result says everything; there is no other error.
func (h *Host) Call(ctx context.Context, r Request) (result Result) {
	begun := time.Now()
	result = Result{Schema: ResultSchema, Job: r.Job, Counter: "guard"}
	if h.Boundary {
		result.Counter = "boundary"
	}
	defer func() {
		if p := recover(); p != nil {
			result.fail(fmt.Errorf("internal error: %v", p))
		}
		result.Took = time.Since(begun).Milliseconds()
	}()
	if err := able(); err != nil {
		result.fail(err)
		return result
	}
	j, err := openJob(ctx, h.Disk, h.Jobs, r.Job, h.MaxJobs)
	if err != nil {
		result.fail(gaveUp(ctx, err))
		return result
	}
	defer func() {
		if err := j.close(); err != nil && result.Code == OK {
			result.fail(err)
		}
	}()
	c := &call{Host: h, job: j, progress: r.Progress, result: &result}
	c.do(ctx, r.Call)
	return result
}

func (r *Result) fail(err error) { r.Code, r.Error = CodeOf(err), err.Error() }

// A call is one call on its way.
type call struct {
	*Host
	job       *job
	catalogue *Catalogue
	bound     bound
	dir       string // where the tool runs
	there     spot   // what that is
	project   string
	begun     bool // the step is counted
	progress  func(Progress)
	result    *Result
}

// do goes through the steps in the order of the package comment.
func (c *call) do(ctx context.Context, data []byte) {
	var err error
	if c.catalogue, err = open(ctx, c.Place); err != nil {
		c.result.fail(gaveUp(ctx, err))
		return
	}
	c.result.Steps = c.catalogue.Steps
	if err := c.job.open(c.catalogue); err != nil {
		c.result.fail(err)
		c.result.Ended = CodeOf(err) == JobEnded || CodeOf(err) == NoSteps
		return
	}
	judged, order, err := c.prepare(ctx, data)
	if err != nil {
		c.refuse(ctx, gaveUp(ctx, err))
		return
	}
	if err := c.begin(); err != nil {
		c.result.fail(err)
		return
	}
	ran, err := c.run(ctx, c.bound.tool, order, c.progress)
	err = c.outcome(ctx, ran, err)
	if ran.Started {
		status := ran.Exit
		outcome := gate.Outcome{Status: &status, Failed: err != nil}
		if ran.Signal != "" || ran.Exit < 0 {
			outcome.Status = nil
		}
		// The caller may be gone, and what ran has to be remembered all the same.
		if recordErr := c.Judge.Record(context.WithoutCancel(ctx), judged.request, judged.decision, outcome); recordErr != nil {
			err = errors.Join(err, failed(Fault, "the call could not be recorded: %w", recordErr))
		}
	}
	c.finish(err)
}

// gaveUp says so where nobody could tell because the caller no longer waited.
func gaveUp(ctx context.Context, err error) error {
	if ctx.Err() != nil && CodeOf(err).Exit() == 2 {
		return failed(Fault, "the caller gave up before anything ran: %w", ctx.Err())
	}
	return err
}

// prepare does everything that comes before the step is counted.
func (c *call) prepare(ctx context.Context, data []byte) (j judged, o order, err error) {
	defer func() { err = wayIn(err, c.Boundary) }()
	c.bound, c.result.Tool, err = c.catalogue.bind(data)
	if err != nil {
		return j, o, err
	}
	t := c.bound.tool
	if err := c.place(t); err != nil {
		return j, o, err
	}
	for _, name := range t.slots {
		if value, _ := c.bound.args[name].(string); t.values[name].path {
			if err := c.inside(value); err != nil {
				return j, o, err
			}
		}
	}
	program, err := t.verify(c.Boundary)
	if err != nil {
		return j, o, err
	}
	o = order{Argv: c.bound.argv, Env: c.environment(t), Dir: c.there, Strict: c.Boundary, Apart: c.Boundary, Program: program.id, Timeout: t.Timeout, Limits: t.Limits}
	if t.Confine != nil {
		if err := t.Confine.supported(); err != nil {
			return j, o, err
		}
		o.Confined, o.Connect, o.TCP = true, t.Confine.Connect, t.Confine.Connect != nil
		if o.Read, err = c.located(t.Confine.Read); err != nil {
			return j, o, err
		}
		if o.Write, err = c.located(t.Confine.Write); err != nil {
			return j, o, err
		}
	}
	env := func(name string) (string, bool) {
		for _, v := range o.Env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
	if err := ctx.Err(); err != nil {
		return j, o, &Error{Code: Fault, Err: err}
	}
	j, c.result.Decision, err = c.judge(ctx, c.bound, c.dir, c.session(), env)
	return j, o, err
}

// session is the session of the policy's memory that a job is.
func (c *call) session() string { return "catalogue: " + c.result.Job }

// refuse ends a call that did not run. A no is a failure of the job and counts as a step; where nobody could tell, the job
// is as it was.
func (c *call) refuse(ctx context.Context, err error) {
	c.result.fail(err)
	if c.result.Code.Exit() != 1 {
		return
	}
	if c.Log != nil && c.result.Decision == "" {
		id, logErr := c.Log.Refused(ctx, *c.result, c.Cwd, c.bound.args)
		if c.result.Decision = id; logErr != nil {
			c.result.Error += "; and the log could not be written: " + logErr.Error()
		}
	}
	if err := c.begin(); err != nil {
		c.result.Error += "; and the job's state could not be written: " + err.Error()
		return
	}
	c.finish(err)
}

func (c *call) begin() error {
	if err := c.job.begin(c.catalogue, c.project, c.now()); err != nil {
		return err
	}
	c.begun, c.result.Step = true, c.job.Steps
	return nil
}

// finish writes down how the step ended. A step whose end could not be written has failed: so the next call will read it.
func (c *call) finish(err error) {
	if endErr := c.job.end(CodeOf(err), c.now()); endErr != nil {
		err = errors.Join(err, endErr)
	}
	c.result.Code = CodeOf(err)
	c.result.Ended = err != nil
	if err != nil {
		c.result.Error = err.Error()
	}
}

// outcome turns what a run came to into the answer.
func (c *call) outcome(ctx context.Context, r ran, err error) error {
	t := c.bound.tool
	if err != nil {
		return err
	}
	c.result.Stdout, c.result.Stderr, c.result.Cut = r.stdout, r.stderr, r.cut
	if !r.Started {
		return failed(r.Code, "%s", r.Fault)
	}
	c.result.Ran, c.result.Killed = true, r.Left
	c.result.Signal = r.Signal
	if r.Signal == "" && r.Exit >= 0 {
		c.result.Exit = &r.Exit
	}
	switch {
	case r.Escaped:
		return failed(ToolFailed, "tool %s left processes behind that could not all be ended", t.Name)
	case r.Late:
		return failed(Timeout, "tool %s was ended after its time limit of %v, with everything that it had started", t.Name, t.Timeout)
	case r.flood:
		return failed(OutputLimit, "tool %s wrote more than %d bytes and was ended", t.Name, maxRead)
	case r.Ended && ctx.Err() != nil:
		return failed(Cancelled, "tool %s was ended by its caller, with everything that it had started", t.Name)
	case r.Ended:
		return failed(Timeout, "tool %s was ended, since its supervisor did not answer in time", t.Name)
	case r.Signal != "":
		return failed(ToolFailed, "tool %s was ended by %s", t.Name, r.Signal)
	case !slices.Contains(t.OKExit, r.Exit):
		return failed(ToolFailed, "tool %s exited with status %d", t.Name, r.Exit)
	case r.over && !t.CutOutput:
		return failed(OutputLimit, "tool %s wrote more than its %d bytes of output; what is shown is the beginning and the end", t.Name, t.Output)
	}
	return nil
}

// systemPath is the PATH of a tool that lists PATH without a value.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is what a tool finds set. What says who it runs for and where programs are is not the caller's to say.
func (c *call) environment(t *Tool) []string {
	env := []string{}
	for _, entry := range t.Env {
		name, _, fixed := strings.Cut(entry, "=")
		if fixed {
			env = append(env, entry)
			continue
		}
		var value string
		ok := true
		switch name {
		case "PATH":
			value = systemPath
		case "HOME":
			value = c.ToolHome
			if value == "" {
				value = c.Home
			}
		case "PWD":
			value = c.dir
		default:
			if ok = c.Getenv != nil; ok {
				value, ok = c.Getenv(name)
			}
		}
		if ok && plainText(value) && len(value) <= maxValue {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (h *Host) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}
