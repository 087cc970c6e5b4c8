// Package harness speaks the languages of agent clients: the input of a hook in, the verdict out.
//
// One run of a hook has these steps, always in this order:
//
//   - read: at most 8 MiB of JSON, to its end (input.go);
//   - understand: which event of which client it is, and what is to be judged: lines for a shell, or calls of the
//     client's own tools (client.go and a file for each family of clients);
//   - judge: through the interface Gate, which the package gate satisfies;
//   - answer: in the client's own form, in one write, with the exit status that this client obeys (answer.go).
//
// Most clients run the command when a hook crashes, stalls or prints anything odd. So everything but "no objection",
// which is no output and exit 0, is said explicitly, and whatever goes wrong on the way is the client's own refusal: bad
// input, a fault of the gate, a panic, a decision that could not be logged. All of it happens within Options.Limit: the
// steps run beside a clock, and when that is faster, it answers, whatever the steps are waiting for. An answer that
// cannot be written where the client reads it becomes exit 2 with the reason on the error output, which is the refusal
// that most clients share.
//
// Events that are over when they are told (a call that ran, a turn that ended) cannot be refused. A fault there is said
// to the agent where the client has a place for it, and never ends in a refusal to a person.
//
// The package keeps nothing: what a session remembers, the gate keeps. It reads no file, starts no process and knows no
// clock but its limit.
package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse/gate"
)

// A Judge answers requests.
type Judge interface {
	Check(ctx context.Context, r gate.Request) gate.Decision
	Decide(ctx context.Context, r gate.Request) (gate.Decision, error)
}

// A Recorder is told what ran.
type Recorder interface {
	Ran(ctx context.Context, r gate.Request, o gate.Outcome) error
}

// Turns is told where the turns of a session begin and end.
type Turns interface {
	Start(ctx context.Context, r gate.Request) (string, error)
	Prompt(ctx context.Context, r gate.Request) error
	Finish(ctx context.Context, r gate.Request) ([]gate.Reason, error)
}

// Gate is what a hook needs of a gate.
type Gate interface {
	Judge
	Recorder
	Turns
}

// defaultLimit is how long a hook may take. Clients give it ten seconds or more; many run the command if it takes longer.
const defaultLimit = 1800 * time.Millisecond

// Options say how a hook is answered.
type Options struct {
	// Open opens the gate. It is called once, within the limit.
	Open  func(ctx context.Context) (Gate, error)
	Limit time.Duration // 0: defaultLimit
	// Cwd finds the directory of the hook's own process, for clients that do not say where a call would run.
	Cwd func() (string, error)
	// Env is the environment of the hook's own process: where the shell of the call finds its programs.
	Env func(name string) (string, bool)
	// Attended says whether a person sits at the client's terminal; it is asked where a question without a person would
	// hang. nil: nobody does.
	Attended func() bool
	// Secrets returns the kinds of the credentials in a text. nil: it is not looked for them.
	Secrets func(text string) []string
	// Approve says allow where there is no objection, which spares the client's own question where it has one, and on some
	// clients overrides the user's own rules.
	Approve bool
	// Rewrite lets the line run that the policy names in place of a refused one, where the client is known to obey that.
	Rewrite bool
	// Unattended says that nobody is there to ask, whatever the client says.
	Unattended bool
	// Unheard says that nobody reads the standard output: every refusal is exit 2.
	Unheard bool
}

// Run answers one hook of the client with that name, and returns the exit status.
func Run(ctx context.Context, client string, in io.Reader, out, errOut io.Writer, o Options) int {
	c, ok := find(client)
	if !ok {
		return deliver(universal(unknownClient(client)), out, errOut, o.Unheard)
	}
	limit := o.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	clock := time.NewTimer(limit)
	defer clock.Stop()
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	h := &hook{client: c, options: o, in: in}
	done := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- h.fault(fmt.Errorf("panic: %v at %s", p, origin(debug.Stack())))
			}
		}()
		done <- h.run(inner)
	}()
	var a answer
	select {
	case a = <-done:
	case <-clock.C:
		a = h.fault(fmt.Errorf("no decision within %s", limit))
	case <-ctx.Done():
		a = h.fault(errors.New("interrupted"))
	}
	return deliver(a, out, errOut, o.Unheard)
}

// Refuse answers a hook that cannot even begin, with the client's refusal.
func Refuse(client, reason string, out, errOut io.Writer) int {
	c, ok := find(client)
	if !ok {
		return deliver(universal(unknownClient(client)), out, errOut, false)
	}
	return deliver(c.broken(faultText(reason)), out, errOut, false)
}

func unknownClient(name string) string {
	return fmt.Sprintf("refused: the gate does not know the client %q that asks (gate hook knows %s)", shorten(name, 40), strings.Join(names(), ", "))
}

// patience is how long the reader of an answer may take; what is sent and read takes no time at all.
const patience = time.Second

// deliver sends an answer. Where nobody takes it in time, it is refused by the status and a word on the error output,
// which may have a reader: exit 2 without a word is a yes to some clients.
func deliver(a answer, out, errOut io.Writer, unheard bool) int {
	say := sync.OnceFunc(func() { _, _ = io.WriteString(errOut, plain(a.reason)+"\n") })
	sent := make(chan int, 1)
	go func() { sent <- send(a, out, say, unheard) }()
	select {
	case exit := <-sent:
		return exit
	case <-time.After(patience):
	}
	if !a.held {
		return exitDone
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		say()
	}()
	select {
	case <-said:
	case <-time.After(patience):
	}
	return exitRefused
}

// A hook is one run.
type hook struct {
	client  *client
	options Options
	in      io.Reader
	seen    atomic.Pointer[event] // once it is understood
}

// run is everything between the input and the answer.
func (h *hook) run(ctx context.Context) answer {
	input, err := readInput(h.in)
	if err != nil {
		return h.fault(err)
	}
	e, err := h.client.read(input)
	if err != nil {
		return h.fault(fmt.Errorf("input of the hook: %w", err))
	}
	h.complete(&e)
	h.seen.Store(&e)
	if e.cwd == "" && e.kind != other && h.options.Cwd != nil {
		dir, err := h.options.Cwd()
		if err != nil {
			return h.fault(fmt.Errorf("find the working directory: %w", err))
		}
		e.cwd = dir
		h.place(&e)
	}
	if e.kind == other {
		return h.client.write(&e, verdict{})
	}
	h.spell(&e)
	g, err := h.options.Open(ctx)
	if err != nil {
		return h.fault(err)
	}
	switch e.kind {
	case before:
		return h.before(ctx, g, &e)
	case permission:
		return h.permission(ctx, g, &e)
	case after:
		return h.after(ctx, g, &e)
	case start:
		return h.start(ctx, g, &e)
	case prompt:
		return h.prompt(ctx, g, &e)
	case end:
		return h.end(ctx, g, &e)
	default:
		return h.fault(fmt.Errorf("event %q is of no kind that is known", e.name))
	}
}

// complete fills in what the process knows and the input does not say.
func (h *hook) complete(e *event) {
	if h.options.Unattended {
		e.unattended = true
	}
	if h.client.asksTerminal && e.asks && (h.options.Attended == nil || !h.options.Attended()) {
		e.asks = false
	}
	for i := range e.requests {
		r := &e.requests[i]
		r.Session, r.Client, r.Unattended, r.Env = e.session, h.client.Name, e.unattended, h.options.Env
		r.Deferred = h.defers(e)
	}
	h.place(e)
}

// place says where the requests would run.
func (h *hook) place(e *event) {
	for i := range e.requests {
		e.requests[i].Cwd = place(e.requests[i].Cwd, e.cwd)
	}
}

// spell names the files of the requests in a way that all of them are looked at.
func (h *hook) spell(e *event) {
	home := ""
	if h.options.Env != nil {
		home, _ = h.options.Env("HOME")
	}
	for i := range e.requests {
		if t := e.requests[i].Tool; t != nil {
			t.Args = spelled(t.Args, e.requests[i].Cwd, home)
		}
	}
}

// defers reports whether the next message of a person is the answer to a question, since the client cannot ask.
func (h *hook) defers(e *event) bool { return !e.asks && e.session != "" && h.client.tells(prompt) }

// fault is the answer to an event that could not be judged. Before anything is understood it is a refusal.
func (h *hook) fault(err error) answer {
	text := faultText(problem(err, 400))
	e := h.seen.Load()
	switch {
	case e == nil:
		return h.client.broken(text)
	case e.kind == before || e.kind == permission:
		return h.client.write(e, verdict{action: refuse, reason: text})
	default:
		return h.client.write(e, verdict{action: note, reason: "The gate could not take note of this: " + problem(err, 400) +
			". Rules over the order of calls may judge later calls wrongly for that. A person can look with gate doctor."})
	}
}

func faultText(problem string) string {
	return "refused: the gate could not judge this: " + oneLine(problem, 400) +
		".\nNothing ran, and nothing is wrong with the call itself. A person can look with gate doctor."
}

// problem is an error in one line; of several joined ones, one after another.
func problem(err error, most int) string {
	return oneLine(strings.ReplaceAll(err.Error(), "\n", "; "), most)
}

// origin is the place of a panic: the first one of a stack that is not about panicking.
func origin(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+3 < len(lines) {
			place, _, _ := strings.Cut(strings.TrimSpace(lines[i+3]), " ")
			return filepath.Base(place)
		}
	}
	return "an unknown place"
}
