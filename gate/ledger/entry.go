package ledger

import "time"

// A Kind says what an entry records. The zero Kind is none, and Append refuses it.
type Kind string

// The kinds of entries.
const (
	Decision Kind = "decision" // the gate judged something
	Ran      Kind = "ran"      // a client reported that it ran; ID is that of the decision before it, empty if there was none
	Note     Kind = "note"     // something about the log itself, or a remark
)

// A Verdict is how a decision ended. The zero Verdict is none.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// An Entry is one record. The caller fills in what it knows; Append sets Seq, Prev, Hash, of a decision Nonce and ID,
// and the time where it is zero. What is written holds no credentials and no texts without end; Redacted and Cut are set
// where that made a difference. The names in JSON are those of the log's own lines.
type Entry struct {
	Seq  uint64    `json:"seq"`  // 1 is the first that this log ever had
	Prev string    `json:"prev"` // Hash of the entry before, zeros for the first
	Time time.Time `json:"time"` // UTC
	Kind Kind      `json:"kind"`

	ID      string `json:"id"` // c- and 12 hex digits
	Session string `json:"session"`
	Client  string `json:"client"` // claude-code, codex, …; check for a person at a shell
	Cwd     string `json:"cwd"`

	// What was judged, or ran: one of the three.
	Line string   `json:"line"`
	Argv []string `json:"argv"`
	Tool *Tool    `json:"tool"`

	Verdict Verdict `json:"verdict"`
	// Would is what the verdict would have been, where the policy only observes and let it pass.
	Would   Verdict       `json:"would"`
	Granted string        `json:"granted"` // which exception of root's let it pass, or who gave it
	Reasons []Reason      `json:"reasons"`
	Calls   []string      `json:"calls"` // names of the calls, in order
	Took    time.Duration `json:"-"`

	Gate       string `json:"gate"`        // empty where no gate is in force
	PolicyTree string `json:"policy_tree"` // digest of the policy that decided
	PolicyMode string `json:"policy_mode"` // accepted, live, none
	PolicyFrom string `json:"policy_from"` // the directory it was read from
	Subject    string `json:"subject"`     // what a grant names: full digest of what was judged
	Nonce      string `json:"nonce"`

	Status *int   `json:"status"` // of a Ran: the exit status, nil where the client does not say
	Text   string `json:"text"`   // of a Note

	Torn    *Torn    `json:"torn"`
	Dropped *Dropped `json:"dropped"`

	Redacted bool `json:"redacted"` // a text is not here as it was, since it held a credential
	Cut      bool `json:"cut"`      // a text is not here as it was: too long, or no UTF-8

	Hash string `json:"hash"` // lower-case hex SHA-256 of the line up to this field
}

// A Tool is a call of a client's own tool.
type Tool struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"` // as encoding/json decodes an object
}

// A Reason is one objection, or the exception that overruled it.
type Reason struct {
	Action Verdict `json:"action"` // what it asks for
	Stage  string  `json:"stage"`
	Call   int     `json:"call"` // index of the call, -1: the line
	Source string  `json:"source"`
	Rule   string  `json:"rule"`
	At     string  `json:"at"` // FILE:LINE
	Text   string  `json:"text"`
	Why    string  `json:"why"`
	Fix    string  `json:"fix"`
	Hint   string  `json:"hint"`
}

// Torn says which bytes of the file, right before this entry's line, are no entries: what a crash left of one.
type Torn struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Dropped says how far the log was cut off at its beginning, by retention.
type Dropped struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}
