package config

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"gatehouse/internal/document"
	"gatehouse/manifest"
)

func (c *Config) read(root document.Value) {
	root.Mapping([]document.Field{
		document.Need("version", version(&c.Version)),
		document.May("host", text(&c.Host, hostName)),
		document.Need("repository", text(&c.Repository, absolute)),
		document.May("vendored", text(&c.Vendored, relative)),
		document.May("index", text(&c.Index, absolute)),
		document.May("state", text(&c.State, absolute)),
		document.May("gates", c.readGates),
		document.May("notify", c.Notify.read),
		document.May("schedule", text(&c.Schedule, schedule)),
		document.May("peers", c.readPeers),
		document.May("fleet", list(&c.Fleet, (*FleetGate).read)),
		document.May("ping", c.Ping.read),
	})
}

// readGates takes an empty list as well: a hub may have gates of other hosts only.
func (c *Config) readGates(v document.Value) {
	if v.Node.Kind == yaml.SequenceNode && len(v.Node.Content) == 0 {
		return
	}
	list(&c.Gates, (*Gate).read)(v)
}

func (g *Gate) read(v document.Value) {
	*g = Gate{
		Decide:   DecideAccepted,
		Witness:  true,
		Interval: defaultInterval,
		Limits:   defaultLimits(),
	}
	v.Mapping([]document.Field{
		document.Need("name", text(&g.Name, slug)),
		document.Need("user", account(&g.User)),
		document.May("decide", decide(&g.Decide)),
		document.May("export", text(&g.Export, absolute)),
		document.Need("live", list(&g.Live, readLive)),
		document.May("loaded_by", list(&g.LoadedBy, (*LoadedBy).read)),
		document.May("witness", boolean(&g.Witness)),
		document.May("interval", duration(&g.Interval)),
		document.May("limits", limits(&g.Limits)),
	})
	if g.Export == "" && g.Name != "" && !v.Doc.Has(document.SubKey(v.Key, "export")) {
		g.Export = "/var/lib/gatehouse-export/" + g.Name
	}
}

const defaultInterval = time.Hour

func defaultLimits() manifest.Limits {
	return manifest.Limits{Entries: 10000, File: 1 << 20, Total: 64 << 20}
}

func readLive(l *manifest.Live, v document.Value) {
	v.Mapping([]document.Field{
		document.Need("name", text(&l.Name, slug)),
		document.Need("root", text(&l.Root, absolute)),
		document.May("exclude", list(&l.Exclude, pattern)),
	})
}

func (l *LoadedBy) read(v document.Value) {
	l.Scope = ScopeSystem
	v.Mapping([]document.Field{
		document.Need("unit", text(&l.Unit, serviceName)),
		document.May("scope", scope(&l.Scope)),
		document.Need("files", list(&l.Files, pattern)),
	})
}

func (n *Notify) read(v document.Value) {
	v.Mapping([]document.Field{
		document.May("slack", func(v document.Value) {
			n.Slack = new(Slack)
			v.Mapping([]document.Field{
				document.Need("channel", text(&n.Slack.Channel, anything)),
				document.Need("token", secret(&n.Slack.Token)),
				document.May("api_url", text(&n.Slack.APIURL, webURL)),
			})
		}),
		document.May("webhook", func(v document.Value) {
			n.Webhook = new(Webhook)
			v.Mapping([]document.Field{
				document.Need("url", text(&n.Webhook.URL, webURL)),
				document.May("secret", secret(&n.Webhook.Secret)),
			})
		}),
		document.May("journal", boolean(&n.Journal)),
	})
}

// text stores a value for which wrong finds nothing to say.
func text(to *string, wrong func(string) string) func(document.Value) {
	return func(v document.Value) {
		if s, ok := v.Text(); !ok {
			return
		} else if why := wrong(s); why != "" {
			v.Bad("%s", why)
		} else {
			*to = s
		}
	}
}

func list[T any](to *[]T, read func(*T, document.Value)) func(document.Value) {
	return func(v document.Value) {
		v.Items(func(v document.Value) {
			var item T
			read(&item, v)
			*to = append(*to, item)
		})
	}
}

func pattern(to *string, v document.Value) { text(to, glob)(v) }

func boolean(to *bool) func(document.Value) {
	return func(v document.Value) {
		if s, ok := v.Scalar("true or false", "!!bool"); ok {
			*to = strings.EqualFold(s, "true")
		}
	}
}

func version(to *int) func(document.Value) {
	return func(v document.Value) {
		if s, ok := v.Scalar("a number", "!!int"); !ok {
			return
		} else if s != "1" {
			v.Bad("is %s; this program knows version 1 only", s)
		} else {
			*to = 1
		}
	}
}

func account(to *string) func(document.Value) {
	return func(v document.Value) {
		if s, ok := v.Scalar("a user name or a uid", "!!str", "!!int"); !ok || !v.Printable(s) {
			return
		} else if why := userName(s); why != "" {
			v.Bad("%s", why)
		} else {
			*to = s
		}
	}
}

func decide(to *Decide) func(document.Value) {
	return func(v document.Value) {
		if s, ok := v.Text(); !ok {
			return
		} else if !Decide(s).valid() {
			v.Bad("%q is none of accepted, refuse and live", s)
		} else {
			*to = Decide(s)
		}
	}
}

func scope(to *Scope) func(document.Value) {
	return func(v document.Value) {
		if s, ok := v.Text(); !ok {
			return
		} else if s != string(ScopeSystem) && s != string(ScopeUser) {
			v.Bad("%q is neither system nor user", s)
		} else {
			*to = Scope(s)
		}
	}
}

func secret(to *Secret) func(document.Value) {
	return func(v document.Value) {
		if s, ok := v.Text(); !ok {
			return
		} else if !Secret(s).valid() {
			v.Bad("a secret is named here, not written: credential:NAME, env:NAME or file:/PATH")
		} else {
			*to = Secret(s)
		}
	}
}

// duration takes whole seconds from a minute to a year.
func duration(to *time.Duration) func(document.Value) {
	return func(v document.Value) {
		s, ok := v.Scalar("a duration such as 1h or 90m", "!!str")
		if !ok {
			return
		}
		d, err := time.ParseDuration(s)
		switch {
		case err != nil:
			v.Bad("%q is not a duration; write 1h, 90m or 1h30m", s)
		case d < time.Minute || d > 365*24*time.Hour:
			v.Bad("must be at least 1m and at most 8760h, not %s", s)
		case d%time.Second != 0:
			v.Bad("must be whole seconds, not %s", s)
		default:
			*to = d
		}
	}
}

func limits(to *manifest.Limits) func(document.Value) {
	return func(v document.Value) {
		v.Mapping([]document.Field{
			document.May("entries", entries(&to.Entries)),
			document.May("file", size(&to.File)),
			document.May("total", size(&to.Total)),
		})
		if to.File > to.Total {
			v.Bad("file (%d bytes) must not be larger than total (%d bytes)", to.File, to.Total)
		}
	}
}

// maxEntries bounds what one pass holds in memory: a few hundred bytes an entry.
const maxEntries = 1_000_000

func entries(to *int) func(document.Value) {
	return func(v document.Value) {
		s, ok := v.Scalar("a number", "!!int")
		if !ok {
			return
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxEntries {
			v.Bad("must be between 1 and %d, not %s", maxEntries, s)
			return
		}
		*to = n
	}
}

func size(to *int64) func(document.Value) {
	return func(v document.Value) {
		s, ok := v.Scalar("a size such as 64KiB or 1MiB", "!!str", "!!int")
		if !ok {
			return
		}
		n, ok := parseSize(s)
		if !ok {
			v.Bad("%q is not a size; write bytes, or a number with KB, KiB, MB, MiB, GB or GiB", s)
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
