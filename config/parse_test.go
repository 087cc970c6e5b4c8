package config

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse/manifest"
)

// head is a file without gates; a test that changes one of its lines replaces it.
const head = "version: 1\nhost: h\nrepository: /srv/gate\n"

const oneGate = "gates:\n- name: a\n  user: u\n  live:\n  - {name: p, root: /p}\n"

func TestBadFiles(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       []string // lines, each after "w.yaml:"
	}{
		// The file as a whole.
		{"empty", "", []string{"1: the file is empty"}},
		{"only comments", "# nothing\n\n", []string{"1: the file is empty"}},
		{"only a marker", "---\n", []string{
			`1: has no value; remove the key, or put a value that begins with "#" in quotes`}},
		{"a list", "- version: 1\n", []string{"1: must be a mapping, not a list"}},
		{"a word", "version\n", []string{"1: must be a mapping, not a single value"}},
		{"no mapping at all", "{}\n", []string{
			"1: version: is required", "1: repository: is required", "1: gates: is required, unless fleet names gates of other hosts"}},
		{"not UTF-8", "version: 1\nhost: \"\xff\"\n", []string{"2: the file is not valid UTF-8"}},
		{"UTF-16", "v\x00e\x00r\x00", []string{"1: control characters are not allowed"}},
		{"a tab", head + "gates:\n\t- name: a\n", []string{"5: found character that cannot start any token"}},
		{"an open bracket", head + "gates: [\n", []string{"4: did not find expected node content"}},
		{"an open quote", "version: \"1\n", []string{"2: found unexpected end of stream"}},
		{"a second document", head + oneGate + "---\nversion: 1\n", []string{
			"9: a second document begins here; only one is allowed"}},
		{"a second document that is broken", head + oneGate + "--- [\n", []string{
			"9: did not find expected node content"}},

		// Keys.
		{"a misspelt key", "version: 1\nhost: h\nrepositry: /srv/gate\n" + oneGate, []string{
			`3: repositry: unknown key; did you mean "repository"?`}},
		{"a key cut short", head + "sched: x\n" + oneGate, []string{`4: sched: unknown key; did you mean "schedule"?`}},
		{"a key too long", head + "notifying: {}\n" + oneGate, []string{
			`4: notifying: unknown key; did you mean "notify"?`}},
		{"a key like no other", head + "colour: red\n" + oneGate, []string{"4: colour: unknown key"}},
		{"a key in another case", head + "State: /s\n" + oneGate, []string{
			`4: State: unknown key; did you mean "state"?`}},
		{"a key with an escape", head + "\"a\\e[2J\": 1\n" + oneGate, []string{`4: "a\x1b[2J": unknown key`}},
		{"an empty key", head + "\"\": 1\n" + oneGate, []string{`4: "": unknown key`}},
		{"a key of another type", head + "1: 1\n" + oneGate, []string{"4: 1: unknown key"}},
		{"a merge key", head + "<<: {state: /s}\n" + oneGate, []string{`4: "<<": unknown key`}},
		{"a key that is a list", head + "? [a, b]\n: 1\n" + oneGate, []string{"4: a key must be a plain word"}},
		{"a key that is given twice", head + "host: i\n" + oneGate, []string{
			"4: host: is given twice; the first is on line 2"}},
		{"a deep key that is given twice", head + oneGate + "  limits: {file: 1, file: 2}\n", []string{
			"9: gates[0].limits.file: is given twice; the first is on line 9"}},
		{"everything at once", "vresion: 1\nhost: H\nrepository: gate\ngates:\n- nmae: a\n  user: u\n  live: []\n", []string{
			`1: vresion: unknown key; did you mean "version"?`,
			`2: host: "H" must be a-z, 0-9, -, _ and dots, beginning with a letter or digit`,
			`3: repository: "gate" must be an absolute path`,
			`5: gates[0].nmae: unknown key; did you mean "name"?`,
			"7: gates[0].live: must not be empty"}},

		// Types.
		{"no value", head + "state:\n" + oneGate, []string{
			`4: state: has no value; remove the key, or put a value that begins with "#" in quotes`}},
		{"null", head + "state: null\n" + oneGate, []string{
			`4: state: has no value; remove the key, or put a value that begins with "#" in quotes`}},
		{"a channel without quotes", head + oneGate + "notify: {slack: {token: env:T, channel: #agents\n }}\n", []string{
			`9: notify.slack.channel: has no value; remove the key, or put a value that begins with "#" in quotes`}},
		{"an anchor", head + "state: &s /s\n" + oneGate, []string{
			"4: state: anchors and aliases are not supported; write the value out"}},
		{"an alias", head + "state: &s /s\nindex: *s\n" + oneGate, []string{
			"4: state: anchors and aliases are not supported; write the value out",
			"5: index: anchors and aliases are not supported; write the value out"}},
		{"an alias to nothing", head + "state: *xoxb-1234\n" + oneGate, []string{
			"1: anchors and aliases are not supported; write the value out"}},
		{"an anchor at a key", head + "&a state: /s\n" + oneGate, []string{"4: a key must be a plain word"}},
		{"a tag", head + "state: !!str /s\n" + oneGate, []string{
			"4: state: tags are not supported; write the value alone"}},
		{"a tag of our own", head + "state: !secret /s\n" + oneGate, []string{
			"4: state: tags are not supported; write the value alone"}},
		{"a list for text", head + "state: [/s]\n" + oneGate, []string{"4: state: must be text, not a list"}},
		{"a mapping for a list", head + "gates: {name: a}\n", []string{"4: gates: must be a list, not a mapping"}},
		{"text for a mapping", head + oneGate + "notify: slack\n", []string{
			"9: notify: must be a mapping, not a single value"}},
		{"a number for text", "version: 1\nhost: 42\nrepository: /srv/gate\n" + oneGate, []string{
			"2: host: must be text, not a number; put it in quotes"}},
		{"a date for text", "version: 1\nhost: 2026-01-02\nrepository: /srv/gate\n" + oneGate, []string{
			"2: host: must be text, not a date; put it in quotes"}},
		{"a truth for text", "version: 1\nhost: true\nrepository: /srv/gate\n" + oneGate, []string{
			"2: host: must be text, not true or false; put it in quotes"}},
		{"text for a truth", head + oneGate + "  witness: yes\n", []string{
			"9: gates[0].witness: must be true or false, not text"}},
		{"text for a number", "version: \"1\"\nhost: h\nrepository: /srv/gate\n" + oneGate, []string{
			"1: version: must be a number, not text"}},
		{"a version to come", "version: 2\nhost: h\nrepository: /srv/gate\n" + oneGate, []string{
			"1: version: is 2; this program knows version 1 only"}},
		{"empty text", head + "state: ''\n" + oneGate, []string{"4: state: must not be empty"}},
		{"two lines", head + "schedule: |\n  @hourly\n  x\n" + oneGate, []string{
			"4: schedule: must not have line breaks or other characters that do not print"}},
		{"a bidi control", head + "state: \"/s\\u202E\"\n" + oneGate, []string{
			"4: state: must not have line breaks or other characters that do not print"}},

		// Paths.
		{"a relative path", head + "state: var/lib\n" + oneGate, []string{
			`4: state: "var/lib" must be an absolute path`}},
		{"a path that is not clean", head + "index: /etc/../gates.json\n" + oneGate, []string{
			`4: index: "/etc/../gates.json" must be written as "/gates.json"`}},
		{"a closing slash", head + "state: /s/\n" + oneGate, []string{`4: state: "/s/" must be written as "/s"`}},
		{"everything", head + "state: /\n" + oneGate, []string{`4: state: "/" is too much`}},
		{"an absolute vendored", head + "vendored: /v\n" + oneGate, []string{
			`4: vendored: "/v" must be a path below the top of the repository`}},
		{"a whole repository", head + "vendored: .\n" + oneGate, []string{
			`4: vendored: "." must be a path below the top of the repository`}},
		{"a vendored outside", head + "vendored: a/../../b\n" + oneGate, []string{
			`4: vendored: "a/../../b" must be a path below the top of the repository`}},
		{"a vendored that is not clean", head + "vendored: a//b\n" + oneGate, []string{
			`4: vendored: "a//b" must be written as "a/b"`}},
		{"a vendored that is git's", head + "vendored: a/.GIT/b\n" + oneGate, []string{
			`4: vendored: "a/.GIT/b" must have no part that begins with .git`}},

		// Gates.
		{"no gates", head + "gates: []\n", []string{"4: gates: must not be empty, unless fleet names gates of other hosts"}},
		{"no gates and a fleet without hosts", head + "fleet: [{gate: claude}]\n", []string{"4: fleet: needs peers.hosts, with another host and its key"}},
		{"a gate that is text", head + "gates: [claude]\n", []string{
			"4: gates[0]: must be a mapping, not a single value"}},
		{"an empty gate", head + "gates: [{}]\n", []string{
			"4: gates[0].name: is required", "4: gates[0].user: is required", "4: gates[0].live: is required"}},
		{"a gate with a bad name", head + strings.Replace(oneGate, "name: a", "name: A/b", 1), []string{
			`5: gates[0].name: "A/b" must be a-z, 0-9, - and _, beginning with a letter or digit, at most 64 bytes`}},
		{"two gates with one name", head + oneGate + "- name: a\n  user: u\n  export: /e\n  live: [{name: p, root: /p}]\n", []string{
			`9: gates[1].name: "a" is also the name of gates[0]`}},
		{"a user that is none", head + strings.Replace(oneGate, "user: u", "user: a:b", 1), []string{
			`6: gates[0].user: "a:b" is no user name`}},
		{"an octal uid", head + strings.Replace(oneGate, "user: u", "user: 0777", 1), []string{
			`6: gates[0].user: "0777" is no uid`}},
		{"the uid of nobody", head + strings.Replace(oneGate, "user: u", "user: 4294967295", 1), []string{
			`6: gates[0].user: "4294967295" is no uid`}},
		{"a negative uid", head + strings.Replace(oneGate, "user: u", "user: -1", 1), []string{
			`6: gates[0].user: "-1" is no user name`}},
		{"a decision that is none", head + oneGate + "  decide: accpeted\n", []string{
			`9: gates[0].decide: "accpeted" is none of accepted, refuse and live`}},
		{"two live roots with one name", head + oneGate + "  - {name: p, root: /q}\n", []string{
			`9: gates[0].live[1].name: "p" is also the name of gates[0].live[0]`}},
		{"a live name with a slash", head + strings.Replace(oneGate, "name: p", "name: p/q", 1), []string{
			`8: gates[0].live[0].name: "p/q" must be a-z, 0-9, - and _, beginning with a letter or digit, at most 64 bytes`}},
		{"a pattern that is none", head + strings.Replace(oneGate, "root: /p", "root: /p, exclude: ['{a', /b, '', d/, ./e]", 1), []string{
			"8: gates[0].live[0].exclude[0]: \"{a\" is no pattern: syntax error at 2: unclosed `{`",
			`8: gates[0].live[0].exclude[1]: "/b" must not begin with / or ./ or end with /; patterns are relative`,
			"8: gates[0].live[0].exclude[2]: must not be empty",
			`8: gates[0].live[0].exclude[3]: "d/" must not begin with / or ./ or end with /; patterns are relative`,
			`8: gates[0].live[0].exclude[4]: "./e" must not begin with / or ./ or end with /; patterns are relative`}},
		{"more live roots than manifest takes", head + "gates:\n- name: a\n  user: u\n  live:\n" + manyRoots(101), []string{
			"7: gates[0].live: 101 live roots are more than 100"}},
		{"a unit that is no service", head + oneGate + "  loaded_by: [{unit: gatehouse.timer, files: [p]}]\n", []string{
			`9: gates[0].loaded_by[0].unit: "gatehouse.timer" must be the name of a service, such as agent.service`}},
		{"a unit that is an option", head + oneGate + "  loaded_by: [{unit: --x.service, files: [p]}]\n", []string{
			`9: gates[0].loaded_by[0].unit: "--x.service" must be the name of a service, such as agent.service`}},
		{"a scope that is none", head + oneGate + "  loaded_by: [{unit: a.service, scope: global, files: [p]}]\n", []string{
			`9: gates[0].loaded_by[0].scope: "global" is neither system nor user`}},
		{"files of no live root", head + oneGate + "  loaded_by: [{unit: a.service, files: ['q/**']}]\n", []string{
			`9: gates[0].loaded_by[0].files[0]: "q/**" begins with the name of no live root`}},

		// Numbers.
		{"a duration without a unit", head + oneGate + "  interval: 60\n", []string{
			"9: gates[0].interval: must be a duration such as 1h or 90m, not a number"}},
		{"a duration in words", head + oneGate + "  interval: 1 hour\n", []string{
			`9: gates[0].interval: "1 hour" is not a duration; write 1h, 90m or 1h30m`}},
		{"a short interval", head + oneGate + "  interval: 59s\n", []string{
			"9: gates[0].interval: must be at least 1m and at most 8760h, not 59s"}},
		{"a negative interval", head + oneGate + "  interval: -1h\n", []string{
			"9: gates[0].interval: must be at least 1m and at most 8760h, not -1h"}},
		{"a long interval", head + oneGate + "  interval: 2000000h\n", []string{
			"9: gates[0].interval: must be at least 1m and at most 8760h, not 2000000h"}},
		{"part of a second", head + oneGate + "  interval: 60.5s\n", []string{
			"9: gates[0].interval: must be whole seconds, not 60.5s"}},
		{"no entries", head + oneGate + "  limits: {entries: 0}\n", []string{
			"9: gates[0].limits.entries: must be between 1 and 1000000, not 0"}},
		{"too many entries", head + oneGate + "  limits: {entries: 1000001}\n", []string{
			"9: gates[0].limits.entries: must be between 1 and 1000000, not 1000001"}},
		{"entries in hex", head + oneGate + "  limits: {entries: 0x10}\n", []string{
			"9: gates[0].limits.entries: must be between 1 and 1000000, not 0x10"}},
		{"sizes that are none", head + oneGate + "  limits: {file: 1 MiB, total: -1}\n", []string{
			`9: gates[0].limits.file: "1 MiB" is not a size; write bytes, or a number with KB, KiB, MB, MiB, GB or GiB`,
			`9: gates[0].limits.total: "-1" is not a size; write bytes, or a number with KB, KiB, MB, MiB, GB or GiB`}},
		{"a size too large", head + oneGate + "  limits: {total: 9999999999GiB}\n", []string{
			`9: gates[0].limits.total: "9999999999GiB" is not a size; write bytes, or a number with KB, KiB, MB, MiB, GB or GiB`}},
		{"a file larger than all", head + oneGate + "  limits: {file: 2MiB, total: 1MiB}\n", []string{
			"9: gates[0].limits: file (2097152 bytes) must not be larger than total (1048576 bytes)"}},

		// Places that must be apart.
		{"live roots in each other", head + oneGate + "  - {name: q, root: /p/q}\n  - {name: r, root: /p}\n", []string{
			`9: gates[0].live[1].root: "/p/q" lies in the live root "p", "/p"`,
			`10: gates[0].live[2].root: "/p" is the live root "p" as well`,
			`10: gates[0].live[2].root: "/p" holds the live root "q", "/p/q"`}},
		{"an export in the state", head + oneGate + "  export: /var/lib/gatehouse/e\n", []string{
			`9: gates[0].export: "/var/lib/gatehouse/e" lies in the state, "/var/lib/gatehouse"`}},
		{"an export that holds the repository", head + oneGate + "  export: /srv\n", []string{
			`9: gates[0].export: "/srv" holds the repository, "/srv/gate"`}},
		{"an export in a live root", head + oneGate + "  export: /p/e\n", []string{
			`9: gates[0].export: "/p/e" lies in the live root "p", "/p"`}},
		{"a live root that holds the default export", head + strings.Replace(oneGate, "root: /p", "root: /var/lib/gatehouse-export", 1), []string{
			`5: gates[0].export: "/var/lib/gatehouse-export/a" lies in the live root "p", "/var/lib/gatehouse-export"`}},
		{"a live root in the repository", head + strings.Replace(oneGate, "root: /p", "root: /srv/gate/x", 1), []string{
			`8: gates[0].live[0].root: "/srv/gate/x" lies in the repository, "/srv/gate"`}},
		{"a live root that holds the index", head + strings.Replace(oneGate, "root: /p", "root: /etc/gatehouse", 1), []string{
			`8: gates[0].live[0].root: "/etc/gatehouse" holds the index, "/etc/gatehouse/gates.json"`}},
		{"one export for two gates", head + oneGate + "  export: /e\n- name: b\n  user: u\n  live: [{name: p, root: /p}]\n  export: /e\n", []string{
			`13: gates[1].export: "/e" is the export of gates[0] as well`}},
		{"an export in another gate's live root", head + oneGate + "- name: b\n  user: u\n  live: [{name: p, root: /q}]\n  export: /p/e\n", []string{
			`12: gates[1].export: "/p/e" lies in the live root "p", "/p"`}},

		// Notices.
		{"half of slack", head + oneGate + "notify: {slack: {}}\n", []string{
			"9: notify.slack.channel: is required", "9: notify.slack.token: is required"}},
		{"a webhook without a host", head + oneGate + "notify: {webhook: {url: 'https:///x'}}\n", []string{
			"9: notify.webhook.url: must be an http or https address"}},
		{"a webhook of another kind", head + oneGate + "notify: {webhook: {url: 'file:///etc/passwd'}}\n", []string{
			"9: notify.webhook.url: must be an http or https address"}},
		{"a webhook with a password", head + oneGate + "notify: {webhook: {url: 'https://u:hunter2@h/'}}\n", []string{
			"9: notify.webhook.url: must not have a user or password in it"}},
		{"a time zone", head + oneGate + "schedule: TZ=UTC 0 * * * *\n", []string{
			`9: schedule: "TZ=UTC 0 * * * *" has a time zone; schedules are in UTC`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse("w.yaml", []byte(test.file))
			if err == nil {
				t.Fatalf("got %+v, want an error", got)
			}
			want := "w.yaml:" + strings.Join(test.want, "\nw.yaml:")
			if err.Error() != want {
				t.Errorf("got\n%s\nwant\n%s", err, want)
			}
			if got != nil {
				t.Error("got a configuration beside the error")
			}
		})
	}
}

func manyRoots(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - {name: p%d, root: /p%d}\n", i, i)
	}
	return b.String()
}

// A token that somebody pasted into the file must not end up in a log.
func TestSecretsAreNotRepeated(t *testing.T) {
	const token = "xoxb-2026-hunter2"
	for _, written := range []string{
		token, "credential:../" + token, "env:" + token, "file:" + token, "Credential:" + token,
		"*" + token, "!" + token + " x", "!!int " + token, "\"" + token, "[" + token + "]",
		"{" + token + ": 1, " + token + ": 2}",
	} {
		file := head + oneGate + "notify: {slack: {channel: c, token: " + written + "}}\n"
		if got, err := Parse("w.yaml", []byte(file)); err == nil {
			t.Errorf("%s: got %+v, want an error", written, got)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error repeats it: %v", written, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "\xff\xfe", "!!binary x", "- - - -", "{a: {a: {a: [", "<<: {}\n", "a: &a [*a]\n",
		"%YAML 1.1\n---\n? x\n: y\n...\n---\n",
		head + oneGate,
		head + oneGate + "  limits: {file: 1MiB}\nnotify: {slack: {channel: '#c', token: env:T}}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("w.yaml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "w.yaml:") {
					t.Fatalf("a line without its place: %q", line)
				}
			}
			return
		}
		if c.Version != 1 || c.Host == "" || absolute(c.Repository) != "" || absolute(c.State) != "" || len(c.Gates) == 0 {
			t.Fatalf("a configuration with holes: %+v", c)
		}
		for _, g := range c.Gates {
			if !validName(g.Name) || g.User == "" || !g.Decide.valid() || absolute(g.Export) != "" || len(g.Live) == 0 ||
				g.Interval <= 0 || g.Limits.Entries <= 0 || g.Limits.File <= 0 || g.Limits.Total < g.Limits.File {
				t.Fatalf("a gate with holes: %+v", g)
			}
			if source := (manifest.Source{Live: g.Live, Limits: g.Limits}); source.Valid() != nil {
				t.Fatalf("a gate that cannot be scanned: %v", source.Valid())
			}
		}
	})
}
