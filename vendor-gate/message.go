package vendorgate

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing/object"

	"gatehouse/manifest"
)

// validate refuses what would not come back from git as it was given.
func (c *Change) validate() error {
	if err := manifest.ValidGate(c.Gate); err != nil {
		return err
	}
	if c.Generation == nil || c.Generation.Gate != c.Gate {
		return fmt.Errorf("the generation is not one of gate %q", c.Gate)
	}
	if c.Parent.Branch == "" {
		return fmt.Errorf("%w: there is no branch to commit to", ErrDetached)
	}
	if c.When.Unix() <= 0 {
		return errors.New("the commit has no time")
	}
	if strings.TrimSpace(c.Subject) == "" {
		return errors.New("the commit has no subject")
	}
	if err := validText(c.Subject, ""); err != nil {
		return fmt.Errorf("subject: %w", err)
	}
	if err := validText(c.Body, "\n\t"); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	for _, t := range c.Trailers {
		if !isTrailerKey(t[0]) {
			return fmt.Errorf("trailer key %q: only letters, digits and - are possible", t[0])
		}
		if err := validText(t[1], ""); err != nil || strings.TrimSpace(t[1]) != t[1] || t[1] == "" {
			return fmt.Errorf("trailer %s: %q is not one line of text", t[0], t[1])
		}
	}
	return nil
}

// validText refuses what could move a terminal's cursor or turn a line around.
func validText(text, allowed string) error {
	if !utf8.ValidString(text) {
		return errors.New("not UTF-8")
	}
	for _, c := range text {
		if (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) && !strings.ContainsRune(allowed, c) {
			return fmt.Errorf("the control character %U; quote names first", c)
		}
	}
	return nil
}

func isTrailerKey(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-'
	})
}

// message puts the parts together as git does: paragraphs, with the trailers as the last one.
func (c *Change) message() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(c.Subject) + "\n")
	if body := strings.Trim(c.Body, "\n"); body != "" {
		b.WriteString("\n")
		for line := range strings.Lines(body + "\n") {
			if strings.HasPrefix(line, "---") {
				line = " " + line // git would take it for the end of the message
			}
			b.WriteString(line)
		}
	}
	for i, t := range c.Trailers {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(t[0] + ": " + t[1] + "\n")
	}
	return b.String()
}

// parseTrailers returns the trailers of a message: its last paragraph, if it is not the first and holds nothing else.
func parseTrailers(message string) [][2]string {
	paragraphs := strings.Split(strings.TrimSpace(message), "\n\n")
	if len(paragraphs) < 2 {
		return nil
	}
	var trailers [][2]string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		line = strings.TrimRight(line, " \r\n")
		if len(trailers) > 0 && strings.HasPrefix(line, " ") {
			trailers[len(trailers)-1][1] += line // folded
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || !isTrailerKey(key) {
			return nil
		}
		trailers = append(trailers, [2]string{key, strings.TrimSpace(value)})
	}
	return trailers
}

// subject returns the first line of a message.
func subject(message string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	return strings.TrimSpace(line)
}

// committer is who the configuration says commits here, or the warden of this host.
func (r *Repository) committer(when time.Time) (object.Signature, error) {
	host, err := os.Hostname()
	if err != nil {
		return object.Signature{}, err
	}
	name, email := "Gatehouse warden", "warden@"+host
	if configured, ok := r.config.get("user.name"); ok && clean(configured) != "" {
		name = clean(configured)
	}
	if configured, ok := r.config.get("user.email"); ok && clean(configured) != "" {
		email = clean(configured)
	}
	return object.Signature{Name: name, Email: email, When: when}, nil
}

// clean drops from a name or address what git's format has no room for.
func clean(name string) string {
	name = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '<' || c == '>' {
			return -1
		}
		return c
	}, name)
	return strings.Trim(name, " .,:;\"'\\")
}
