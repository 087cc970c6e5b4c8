package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatehouse/manifest"
)

func (c *Config) read(root value) {
	root.mapping([]field{
		{"version", true, version(&c.Version)},
		{"host", false, text(&c.Host, hostName)},
		{"repository", true, text(&c.Repository, absolute)},
		{"vendored", false, text(&c.Vendored, relative)},
		{"index", false, text(&c.Index, absolute)},
		{"state", false, text(&c.State, absolute)},
		{"gates", true, list(&c.Gates, (*Gate).read)},
		{"notify", false, c.Notify.read},
		{"schedule", false, text(&c.Schedule, schedule)},
		{"peers", false, unsupported},
	})
}

func (g *Gate) read(v value) {
	*g = Gate{
		Decide:   DecideAccepted,
		Witness:  true,
		Interval: time.Hour,
		Limits:   manifest.Limits{Entries: 10000, File: 1 << 20, Total: 64 << 20},
	}
	v.mapping([]field{
		{"name", true, text(&g.Name, slug)},
		{"user", true, account(&g.User)},
		{"decide", false, decide(&g.Decide)},
		{"export", false, text(&g.Export, absolute)},
		{"live", true, list(&g.Live, readLive)},
		{"loaded_by", false, list(&g.LoadedBy, (*LoadedBy).read)},
		{"witness", false, boolean(&g.Witness)},
		{"interval", false, duration(&g.Interval)},
		{"limits", false, limits(&g.Limits)},
	})
	if g.Export == "" && g.Name != "" && !v.doc.has(subKey(v.key, "export")) {
		g.Export = "/var/lib/gatehouse-export/" + g.Name
	}
}

func readLive(l *manifest.Live, v value) {
	v.mapping([]field{
		{"name", true, text(&l.Name, slug)},
		{"root", true, text(&l.Root, absolute)},
		{"exclude", false, list(&l.Exclude, pattern)},
	})
}

func (l *LoadedBy) read(v value) {
	l.Scope = ScopeSystem
	v.mapping([]field{
		{"unit", true, text(&l.Unit, serviceName)},
		{"scope", false, scope(&l.Scope)},
		{"files", true, list(&l.Files, pattern)},
	})
}

func (n *Notify) read(v value) {
	v.mapping([]field{
		{"slack", false, func(v value) {
			n.Slack = new(Slack)
			v.mapping([]field{
				{"channel", true, text(&n.Slack.Channel, anything)},
				{"token", true, secret(&n.Slack.Token)},
				{"api_url", false, text(&n.Slack.APIURL, webURL)},
			})
		}},
		{"webhook", false, func(v value) {
			n.Webhook = new(Webhook)
			v.mapping([]field{
				{"url", true, text(&n.Webhook.URL, webURL)},
				{"secret", false, secret(&n.Webhook.Secret)},
			})
		}},
		{"journal", false, boolean(&n.Journal)},
	})
}

// text stores a value for which wrong finds nothing to say.
func text(to *string, wrong func(string) string) func(value) {
	return func(v value) {
		if s, ok := v.text(); !ok {
			return
		} else if why := wrong(s); why != "" {
			v.bad("%s", why)
		} else {
			*to = s
		}
	}
}

func list[T any](to *[]T, read func(*T, value)) func(value) {
	return func(v value) {
		v.items(func(v value) {
			var item T
			read(&item, v)
			*to = append(*to, item)
		})
	}
}

func pattern(to *string, v value) { text(to, glob)(v) }

func boolean(to *bool) func(value) {
	return func(v value) {
		if s, ok := v.scalar("true or false", "!!bool"); ok {
			*to = strings.EqualFold(s, "true")
		}
	}
}

func version(to *int) func(value) {
	return func(v value) {
		if s, ok := v.scalar("a number", "!!int"); !ok {
			return
		} else if s != "1" {
			v.bad("is %s; this program knows version 1 only", s)
		} else {
			*to = 1
		}
	}
}

func account(to *string) func(value) {
	return func(v value) {
		if s, ok := v.scalar("a user name or a uid", "!!str", "!!int"); !ok || !v.printable(s) {
			return
		} else if why := userName(s); why != "" {
			v.bad("%s", why)
		} else {
			*to = s
		}
	}
}

func decide(to *Decide) func(value) {
	return func(v value) {
		if s, ok := v.text(); !ok {
			return
		} else if !Decide(s).valid() {
			v.bad("%q is none of accepted, refuse and live", s)
		} else {
			*to = Decide(s)
		}
	}
}

func scope(to *Scope) func(value) {
	return func(v value) {
		if s, ok := v.text(); !ok {
			return
		} else if s != string(ScopeSystem) && s != string(ScopeUser) {
			v.bad("%q is neither system nor user", s)
		} else {
			*to = Scope(s)
		}
	}
}

func secret(to *Secret) func(value) {
	return func(v value) {
		if s, ok := v.text(); !ok {
			return
		} else if !Secret(s).valid() {
			v.bad("a secret is named here, not written: credential:NAME, env:NAME or file:/PATH")
		} else {
			*to = Secret(s)
		}
	}
}

// duration takes whole seconds from a minute to a year.
func duration(to *time.Duration) func(value) {
	return func(v value) {
		s, ok := v.scalar("a duration such as 1h or 90m", "!!str")
		if !ok {
			return
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			v.bad("%q is not a duration; write 1h, 90m or 1h30m", s)
		case d < time.Minute || d > 365*24*time.Hour:
			v.bad("must be at least 1m and at most 8760h, not %s", s)
		case d%time.Second != 0:
			v.bad("must be whole seconds, not %s", s)
		default:
			*to = d
		}
	}
}

func limits(to *manifest.Limits) func(value) {
	return func(v value) {
		v.mapping([]field{
			{"entries", false, entries(&to.Entries)},
			{"file", false, size(&to.File)},
			{"total", false, size(&to.Total)},
		})
		if to.File > to.Total {
			v.bad("file (%d bytes) must not be larger than total (%d bytes)", to.File, to.Total)
		}
	}
}

// maxEntries bounds what one pass holds in memory: a few hundred bytes an entry.
const maxEntries = 1_000_000

func entries(to *int) func(value) {
	return func(v value) {
		s, ok := v.scalar("a number", "!!int")
		if !ok {
			return
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxEntries {
			v.bad("must be between 1 and %d, not %s", maxEntries, s)
			return
		}
		*to = n
	}
}

func size(to *int64) func(value) {
	return func(v value) {
		s, ok := v.scalar("a size such as 64KiB or 1MiB", "!!str", "!!int")
		if !ok {
			return
		}
		n, ok := parseSize(s)
		if !ok {
			v.bad("%q is not a size; write bytes, or a number with KB, KiB, MB, MiB, GB or GiB", s)
			return
		}
		*to = n
	}
}

func parseSize(s string) (n int64, ok bool) {
	digits := strings.TrimRight(s, "BKMGi")
	var unit int64
	switch s[len(digits):] {
	case "", "B":
		unit = 1
	case "KB":
		unit = 1000
	case "KiB":
		unit = 1 << 10
	case "MB":
		unit = 1000 * 1000
	case "MiB":
		unit = 1 << 20
	case "GB":
		unit = 1000 * 1000 * 1000
	case "GiB":
		unit = 1 << 30
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] == '+' || n < 1 || unit == 0 || n > (1<<62)/unit {
		return 0, false
	}
	return n * unit, true
}

func anything(string) string { return "" }

// schedule leaves the grammar to cron, and keeps from it what its parser panics at.
func schedule(s string) string {
	if strings.Contains(s, "=") {
		return fmt.Sprintf("%q has a time zone; schedules are in UTC", s)
	}
	return ""
}

// webURL does not repeat the address, which may be as good as a password.
func webURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be an http or https address"
	case u.User != nil:
		return "must not have a user or password in it"
	default:
		return ""
	}
}

func unsupported(v value) { v.bad("is not supported by this version; remove the key") }
