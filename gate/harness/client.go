package harness

import (
	"fmt"
	"slices"
)

// A Client is an agent client whose hooks the gate can answer.
type Client struct {
	Name    string
	Aliases []string
	Events  []Event
}

// An Event is one that a hook can be installed for.
type Event struct {
	Name string // as the client's configuration spells it
	Kind string // before, permission, after, start, prompt, end; other: the gate has no part in it
}

// Clients returns all clients, the best known first.
func Clients() []Client {
	var all []Client
	for _, c := range clients() {
		all = append(all, c.public())
	}
	return all
}

// Lookup returns the client with a name or an alias.
func Lookup(name string) (Client, bool) {
	c, ok := find(name)
	if !ok {
		return Client{}, false
	}
	return c.public(), true
}

func (c *client) public() Client {
	public := c.Client
	for _, e := range c.events {
		public.Events = append(public.Events, Event{Name: e.name, Kind: e.kind.String()})
	}
	return public
}

// client is a Client with its language.
type client struct {
	Client
	events []eventName
	// echoes is set where the client shows the agent the command beside the reason.
	echoes bool
	// asksTerminal is set where a question that nobody answers hangs the client.
	asksTerminal bool
	// typesUnseen is set where no hook is told what the agent types into a program that runs.
	typesUnseen bool

	// event is the name of the event of an input, as it stands in events.
	event func(m object) string
	// understand takes apart the input of an event whose name and kind are known.
	understand func(m object, e *event) error
	// write says a verdict on an event of kinds before, permission, after, start, prompt, end or other.
	write func(e *event, v verdict) answer
	// broken is the refusal before an event is understood.
	broken func(reason string) answer
}

type eventName struct {
	name string
	kind kind
}

// clients are the clients that are known.
func clients() []client {
	return []client{
		claudeCode(), codex(), gemini(), copilot(), cursor(), opencode(), openclaw(),
		cline(), vibe(), hermes(), windsurf(), kiro(),
	}
}

func find(name string) (*client, bool) {
	for _, c := range clients() {
		if c.goesBy(name) {
			return &c, true
		}
	}
	return nil, false
}

func (c *client) goesBy(name string) bool { return name == c.Name || slices.Contains(c.Aliases, name) }

func names() []string {
	var all []string
	for _, c := range clients() {
		all = append(all, c.Name)
	}
	return all
}

// tells reports whether the client has an event of that kind.
func (c *client) tells(k kind) bool {
	return slices.ContainsFunc(c.events, func(e eventName) bool { return e.kind == k })
}

// read understands an input.
func (c *client) read(m object) (event, error) {
	e := event{name: c.event(m)}
	i := slices.IndexFunc(c.events, func(known eventName) bool { return known.name == e.name })
	if i < 0 {
		return event{}, fmt.Errorf("%q is no event that the gate knows of %s", shorten(e.name, 60), c.Name)
	}
	e.kind = c.events[i].kind
	if e.kind == other {
		return e, nil
	}
	if err := c.understand(m, &e); err != nil {
		return event{}, err
	}
	return e, nil
}

// calls reports whether events of a kind are about a call.
func (k kind) calls() bool { return k == before || k == permission || k == after }

// named are events of one kind.
func named(k kind, names ...string) []eventName {
	all := make([]eventName, len(names))
	for i, name := range names {
		all[i] = eventName{name, k}
	}
	return all
}
