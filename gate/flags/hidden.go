package flags

import "strings"

// hidden is what a program takes although neither its help nor its manual page lists it, or lists it in words that are no
// list: names that every version in use has. It is written as a help text.
func hidden(program, sub string) string {
	switch program {
	case "grep", "egrep", "fgrep":
		return "  -y\n  -u\n"
	case "zgrep", "zegrep", "zfgrep", "bzgrep", "bzegrep", "bzfgrep", "xzgrep", "xzegrep", "xzfgrep": // handed on to grep
		return "  -E\n  -F\n  -G\n  -P\n  -a\n  -b\n  -c\n  -h\n  -H\n  -i\n  -l\n  -L\n  -n\n  -o\n  -q\n  -s\n  -v\n  -w\n  -x\n" +
			"  -A NUM\n  -B NUM\n  -C NUM\n  -m NUM\n  -e PATTERN\n  -f FILE\n"
	case "find":
		var b strings.Builder
		for _, of := range "aBcm" {
			for _, than := range "aBcmt" {
				b.WriteString("  -newer" + string(of) + string(than) + " REFERENCE\n")
			}
		}
		return b.String()
	case "sed":
		return "  -z, --null-data, --zero-terminated\n"
	case "diff":
		return "  -f, --forward-ed\n  -h\n  -P\n  -L LABEL\n  --old-group-format=X\n  --new-group-format=X\n  --changed-group-format=X\n" +
			"  --unchanged-group-format=X\n  --old-line-format=X\n  --new-line-format=X\n  --unchanged-line-format=X\n"
	case "gzip", "gunzip", "zcat":
		return "  -a, --ascii\n  -c, --stdout, --to-stdout\n  -d, --decompress, --uncompress\n  -q, --quiet, --silent\n  -m, --no-time\n  -M, --time\n"
	case "jq":
		return "  -n, --null-input\n  -R, --raw-input\n  -s, --slurp\n  -c, --compact-output\n  -r, --raw-output\n  -j, --join-output\n" +
			"  -a, --ascii-output\n  -S, --sort-keys\n  -C, --color-output\n  -M, --monochrome-output\n  -e, --exit-status\n  -f, --from-file\n" +
			"  -L DIRECTORY\n  -h, --help\n  -V, --version\n  --tab\n  --indent N\n  --unbuffered\n  --stream\n  --seq\n"
	case "od":
		return "  -D\n  -e\n  -F\n  -H\n  -h\n  -I\n  -L\n  -O\n  -X\n"
	case "df":
		return "  -m\n"
	case "xxd":
		return "  -p\n  -ps\n  -plain\n  -postscript\n"
	case "ps":
		return "  --sort ORDER\n  --forest\n  --no-headers\n  --no-heading\n  -N, --deselect\n  -x\n"
	case "systemctl":
		return "  --no-legend\n  --after\n  --before\n  --no-warn\n"
	case "node":
		return "  --max-old-space-size=N\n  --max-semi-space-size=N\n  --stack-size=N\n  --stack-trace-limit=N\n  --expose-gc\n  --expose_gc\n  --trace-gc\n  --harmony\n"
	case "npm": // its settings, which every subcommand takes
		return "  --prefix DIR\n  -g, --global\n  --location WHERE\n  --registry URL\n  --loglevel LEVEL\n  -s, --silent\n  -q, --quiet\n  -d, --verbose\n" +
			"  --json\n  -l, --long\n  -y, --yes\n  -f, --force\n  --dry-run\n  --userconfig FILE\n  --cache DIR\n  --offline\n  --prefer-offline\n" +
			"  --prefer-online\n  -w, --workspace NAME\n  -ws, --workspaces\n  --include-workspace-root\n  --if-present\n  --color\n  --no-color\n" +
			"  --fund\n  --no-fund\n  --audit\n  --no-audit\n  --progress\n  --no-progress\n  --no-update-notifier\n  --ignore-scripts\n"
	case "git":
		return hiddenOfGit(sub)
	}
	return ""
}

func hiddenOfGit(sub string) string {
	switch sub {
	case "diff":
		return "  --staged\n  --cc\n"
	case "log", "show", "whatchanged", "reflog", "reflog show":
		return "  --stat-width=N\n  --stat-name-width=N\n  --stat-graph-width=N\n  --stat-count=N\n  --no-stat\n  --no-abbrev\n  --exit-code\n" +
			"  -n NUMBER, --max-count=NUMBER\n  --skip=N\n  --since=DATE, --after=DATE\n  --until=DATE, --before=DATE\n  --max-age=TIME\n  --min-age=TIME\n" +
			"  --author=PATTERN\n  --committer=PATTERN\n  --grep=PATTERN\n  --all\n  --branches\n  --tags\n  --remotes\n  --graph\n  --reverse\n" +
			"  --merges\n  --no-merges\n  --first-parent\n  --follow\n  --full-diff\n  --date=FORMAT\n  --relative-date\n  --oneline\n  --parents\n" +
			"  --children\n  --topo-order\n  --date-order\n  --author-date-order\n  --no-walk\n  --do-walk\n  --in-commit-order\n  --unpacked\n" +
			"  -i, --regexp-ignore-case\n  -E, --extended-regexp\n  -F, --fixed-strings\n  -g, --walk-reflogs\n"
	}
	return ""
}
