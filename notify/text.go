package notify

import (
	"context"
	"io"
	"strings"
)

// Text writes messages for people who have none of the other sinks.
type Text struct{ w io.Writer }

// NewText returns a sink that writes to w.
func NewText(w io.Writer) *Text { return &Text{w} }

// Name implements Sink.
func (*Text) Name() string { return "text" }

// Send implements Sink.
func (t *Text) Send(_ context.Context, m Message) error {
	var b strings.Builder
	for i := range m.Notices {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Join(m.Notices[i].text(&m), "\n") + "\n")
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}
