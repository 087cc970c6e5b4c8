package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const searching = `version: 1
check_flags: off
dynamic_values: deny
allow: [cat, ls, grep, rg, fd, find, head, tail, sort, uniq, echo, git, tar, rsync, xargs, parallel, cp, rm, sh, "true", zip, diff, cpio, pytest, mv, unzip, wget, scp, docker]
`

// Names that find or a list of files brings are those of files that it looks through only where nothing changes them on
// their way.
func TestNamesThatArrive(t *testing.T) {
	h := newHost(t, searching+"paths: {deny: [\".env*\"], redirects: [\"**\"]}\n").files("a.txt", "b.txt", "src/a.go", ".env", "x .env", "list", "sub/.env", "sub/.gitignore")
	put(t, filepath.Join(h.work, ".gitignore"), ".env\nx*\n")
	var rows []row
	for _, line := range []string{
		"find . -name a.txt | % | xargs cat", "find . -name a.txt -print0 | xargs -0 cat", "git ls-files src | % | xargs cat", "find src -type f | % | xargs -n1 cat",
	} {
		for _, filter := range []string{"sort -u", "sort -k2 2>/dev/null", "grep -v test", "grep -vE -e 'a|b'", "head -5", "tail -n +2 | uniq"} {
			rows = append(rows, row{strings.Replace(line, "%", filter, 1), "allow"})
		}
	}
	for _, filter := range []string{"grep -o '[.]env'", "head -c 5", "tail -c5", "sort list", "sort - list", "sort -o x", "head list", "uniq list -", "grep . list", "grep -r .",
		"grep -l --label=.env a", "sort < list", "{ sort; echo .env; }", "{ echo .env; sort; }", "tr a .", "uniq --group x", "grep -f list . list"} {
		rows = append(rows, row{"find . -name a.txt | " + filter + " | xargs cat", "deny dynamic"}, row{"find . -name a.txt | " + filter + " | xargs rm", "deny dynamic"})
	}
	for _, source := range []string{"find . -name a.txt -printf '.env\\n'", "find . -name a.txt -exec echo .env ';'", "if true; then echo .env; find . -name a.txt; fi",
		"for i in 1; do echo .env; find . -name a.txt; done", "{ echo .env; find . -name a.txt; }", "fd a.txt -x echo .env", "fd --format .env", "git ls-files --format=.env",
		"grep -l --label=.env x - src"} {
		rows = append(rows, row{source + " | xargs cat", "deny dynamic"})
	}
	for _, takes := range []string{"xargs -d. cat", "xargs -d/ cat", "xargs -a list cat", "xargs --arg-file=list cat", "xargs cat < list", "xargs cat <<< .env", "parallel -C a cat"} {
		rows = append(rows, row{"find . -name a.txt | " + takes, "deny"})
	}
	rows = append(rows,
		row{"find . -name a.txt -exec grep -l x {} + | xargs cat", "allow"},
		row{"find . -name 'x*' | xargs cat", "deny paths"}, // cut at its blank
		row{"find . -name 'x*' -print0 | xargs -0 cat", "allow"},
		row{"find . -name a.txt | xargs grep -r x .", "deny paths"}, // the directory is one of grep's own words
		row{"find . -name a.txt -exec grep -r x . {} +", "deny paths"},
		// what find passes over
		row{"find . -print -name a.txt | xargs cat", "deny paths"},
		row{"find . -printf -name -exec cat {} +", "deny paths"},
		row{"find . -name a.txt -exec cat {} ';' -o -exec cat {} ';'", "deny paths"},
		row{"find . -name a.txt -exec sort -o x {} ';'", "allow"},
		row{"find . -name \"$(cat list)\" -exec cat {} +", "deny"},
		row{"find . -name a.txt | cpio -o", "allow"},
		row{"find . -name a.txt -printf .env | cpio -o", "deny dynamic"},
		// what is ignored is listed all the same
		row{"git ls-files -o --exclude-standard src | xargs cat", "allow"},
		row{"git ls-files -o | xargs cat", "deny paths"},
	)
	h.rows(rows)
}

// What a call is told to leave out it leaves out only where nothing takes it in again.
func TestWhatIsTakenInAgain(t *testing.T) {
	h := newHost(t, searching+"paths: {deny: [\".env*\"], redirects: [\"**\"]}\n").files("a.txt", "dir/.env", "dir/.gitignore", "dir/k.pem", "build/")
	h.rows([]row{
		{"grep -r --exclude=.env x .", "allow"}, {"grep -r --include='*.go' x .", "allow"}, {"grep -r --include='*.go' --exclude=a.go x .", "allow"},
		{"grep -r --exclude=.env --include=.env x .", "deny paths"}, {"grep -r --exclude=a --include='*.go' x .", "deny paths"},
		{"grep -r --exclude=.env --include='{a,.env}' x .", "deny paths"}, {"grep -r --exclude-dir=dir/ x .", "allow"},
		{"rsync -a --exclude=.env . build/", "allow"}, {"rsync -a --include='*/' --include=.env --exclude='*' . build/", "deny paths"}, {"rsync -a --include='*/' --include='*.txt' --exclude='*' ./ build/", "allow"}, {"rsync -a --include='*/' --exclude='*.txt' ./ build/", "deny paths"},
		{"rsync -a --filter='+ .env' --exclude=.env . build/", "deny paths"},
		{"rsync -a --exclude=.env/ . build/", "deny paths"}, {"rsync -a --exclude=./.env . build/", "deny paths"}, {"rsync -a --exclude=dir/ . build/", "allow"},
		{"tar cf x.tar --exclude=./.env .", "allow"}, {"tar cf x.tar --exclude=.env/ .", "deny paths"},
		{"rg x", "allow"}, {"rg -g '*.go' x", "allow"}, {"rg -g '.e*' x", "deny paths"}, {"rg -g '!.env' -g '.e*' x", "deny paths"}, {"rg --hidden -g '!.env' x", "allow"},
		{"rg --iglob '.E*' x", "deny paths"}, {"rg --type-add 'x:.e*' -tx x", "deny paths"}, {"rg --hidden -g '.e*' -g '!.env' x", "allow"},
		{"git grep x", "allow"}, {"git grep --untracked x", "deny paths"}, {"git grep --no-index x", "deny paths"},
		{"git add .", "deny paths"},
	})
	put(t, filepath.Join(h.work, ".gitignore"), ".env\n")
	h.rows([]row{{"git add .", "allow"}, {"git grep --untracked x", "allow"}})
	put(t, filepath.Join(h.work, "dir", ".gitignore"), "!.env\n")
	h.rows([]row{{"git add . ", "deny paths"}})
}

// A link on the way through a tree stands for the file that it leads to, unless the call leaves links alone.
func TestLinksInATree(t *testing.T) {
	h := newHost(t, searching+"paths: {deny: [/secret/**, \"*.key\", \"${HOME}/.ssh/**\"], redirects: [\"**\"]}\n").files("tree/a.txt", "dirs/a.txt", "secret/k", "out/p.key", "build/")
	put(t, filepath.Join(h.home, ".ssh", "id"), "key")
	must(t, os.Symlink("../secret/k", filepath.Join(h.work, "tree", "plain")))
	must(t, os.Symlink("../out", filepath.Join(h.work, "dirs", "more")))
	must(t, os.Symlink("..", filepath.Join(h.work, "dirs", "up")))
	must(t, os.MkdirAll(filepath.Join(h.work, "home"), 0o755))
	must(t, os.Symlink(filepath.Join(h.home, ".ssh"), filepath.Join(h.work, "home", "s")))
	var rows []row
	for _, follow := range []string{"grep -R x %", "rg -L x %", "find -L % -type f -exec cat {} +", "find -L % | xargs cat", "cp -rL % build/x", "rsync -aL % build/", "tar chf x.tar %",
		"zip -r x.zip %", "diff -r % build"} {
		for _, dir := range []string{"tree", "dirs", "home"} {
			rows = append(rows, row{strings.ReplaceAll(follow, "%", dir), "deny paths"})
		}
	}
	for _, lead := range []string{"find % -exec cat {} +", "find % | xargs cat", "find % -name 'plain' -exec cat {} +"} {
		rows = append(rows, row{strings.ReplaceAll(lead, "%", "tree"), "deny paths"}, row{strings.ReplaceAll(lead, "%", "dirs"), "allow"})
	}
	for _, stay := range []string{"grep -r x %", "rg x %", "find % -type f -exec cat {} +", "find % -type f | xargs cat", "cp -r % build/x", "rsync -a % build/", "tar cf x.tar %", "git add %",
		"rm -r %", "zip -ry x.zip %", "diff -r --no-dereference % build", "mv % build/x"} {
		rows = append(rows, row{strings.ReplaceAll(stay, "%", "tree"), "allow"}, row{strings.ReplaceAll(stay, "%", "dirs"), "allow"})
	}
	h.rows(rows)
}

// What is put into a directory may get a name there that the policy or the gate keeps.
func TestNamesInADirectory(t *testing.T) {
	h := newHost(t, searching+"paths: {deny: [config/prod.yml, /secret/**, \"${HOME}/.ssh/**\"], read_only: [migrations/**], redirects: [\"**\"]}\n").
		files("a", "a.tar", "a.zip", "t/config/prod.yml", "t/migrations/1", "c/prod.yml", "s/secret/k", "r/.git/config", "cl/x/settings.json", "g/hooks/pre-commit", "b/.bashrc", "plain/a/b", "build/", ".git/hooks/",
			"cl/.claude/x", "config/")
	h.rows([]row{
		{"cp -r plain/. .", "allow"}, {"cp -r plain build/", "allow"}, {"mv plain build/x", "allow"}, {"rsync -a plain/ build/", "allow"}, {"cp -r t build", "allow"},
		{"cp -rT t .", "deny paths"}, {"cp -r t/. .", "deny paths"}, {"rsync -a t/ .", "deny paths"}, {"rsync -a t/config .", "deny paths"}, {"cp -r c/. config", "deny paths"},
		{"cp -r t/* .", "deny paths"}, {"mv c config2", "allow"}, {"mv -T c config", "deny paths"}, {"mv s/secret .", "deny paths"}, {"cp -r t/migrations migrations", "deny paths"},
		{"cp -r cl/x .claude", "deny protect"}, {"cp -r g/. .git", "deny protect"}, {"cp -rT b ~", "deny protect"}, {"cp -r r build/r", "allow"}, {"mv r build/r", "allow"},
		// an archive and a server choose any
		{"tar xf a.tar", "deny dynamic config/prod.yml"}, {"tar xf a.tar -C build", "allow"}, {"tar xf a.tar -C config", "deny dynamic"}, {"tar xf a.tar build/x", "allow"},
		{"tar xf a.tar config", "deny dynamic"}, {"tar xf a.tar build/x --strip-components=1", "deny dynamic"}, {"cat a.tar | tar x", "deny dynamic"}, {"tar tf a.tar", "allow"},
		{"tar cf x.tar config", "allow"}, {"unzip a.zip", "deny dynamic"}, {"unzip a.zip -d build", "allow"}, {"unzip -l a.zip", "allow"}, {"unzip a.zip -d secret", "deny paths"},
		{"rsync -a host:x/ .", "deny dynamic"}, {"rsync -a host:x/ build/", "allow"}, {"scp -r host:config .", "deny dynamic"}, {"scp host:x build/", "allow"}, {"docker cp c:/x config", "deny dynamic"},
		{"wget -r https://example.org/", "deny dynamic"}, {"wget https://example.org/a", "allow"},
	})
	open := newHost(t, searching).files("a.tar", "build/", ".claude/x")
	open.rows([]row{{"tar xf a.tar", "deny dynamic"}, {"tar xf a.tar -C build", "allow"}}) // .git/config
	must(t, os.RemoveAll(filepath.Join(open.work, ".git")))
	open.rows([]row{{"tar xf ./a.tar", "deny dynamic .claude"}})
	must(t, os.RemoveAll(filepath.Join(open.work, ".claude")))
	open.rows([]row{{"tar -xf a.tar", "allow"}})
}
