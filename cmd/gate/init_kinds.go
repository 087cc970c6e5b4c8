package main

import "strings"

// A kind is a way in which projects are built. It is found by its files, in the project's directory or one below.
type kind struct {
	name    string
	title   string   // as one says it
	files   []string // patterns of file names, any of which says that the project is of this kind
	section func(p *project, files []string) section
}

// kinds lists what gate init knows, in the order in which it stands in a policy. The first six are presets as well.
func kinds() []kind {
	return []kind{
		{"go", "Go", []string{"go.mod", "go.work"}, goSection},
		{"node", "Node.js", []string{"package.json"}, nodeSection},
		{"python", "Python", []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "tox.ini", "uv.lock", "Pipfile"}, pythonSection},
		{"rust", "Rust", []string{"Cargo.toml"}, fixed("These compile and run the project's own code, its build scripts included.",
			[]suggestion{{call: "cargo build"}, {call: "cargo check"}, {call: "cargo test"}, {call: "cargo fmt"}, {call: "cargo clippy"},
				{call: "cargo doc"}, {call: "cargo tree"}, {call: "cargo metadata"}, {call: "cargo bench"}, {call: "rustfmt"},
				{call: "cargo add", off: "it brings in code of others"}, {call: "cargo publish", off: "it cannot be undone"}})},
		{"make", "make", []string{"Makefile", "makefile", "GNUmakefile"}, makeSection},
		{"java", "Java", []string{"pom.xml", "build.gradle", "build.gradle.kts"}, fixed("These run the project's own code and plugins.",
			plain("mvn compile", "mvn test", "mvn verify", "gradle build", "gradle test", "gradle check", "./gradlew build", "./gradlew test", "./gradlew check", "./mvnw test", "./mvnw verify"))},
		{"ruby", "Ruby", []string{"Gemfile"}, fixed("These run the project's own code.",
			plain("bundle exec rspec", "bundle exec rake test", "rspec", "rake test", "rubocop"))},
		{"php", "PHP", []string{"composer.json"}, fixed("These run the project's own code.",
			plain("composer validate", "composer test", "phpunit", "vendor/bin/phpunit", "php -l"))},
		{"dotnet", ".NET", []string{"*.csproj", "*.fsproj", "*.sln"}, fixed("These run the project's own code.",
			plain("dotnet build", "dotnet test", "dotnet format"))},
		{"cmake", "CMake", []string{"CMakeLists.txt"}, fixed("These run the project's own code.",
			plain("cmake --build", "ctest", "ninja"))},
		{"just", "just", []string{"justfile", "Justfile"}, fixed("A recipe runs what it says; name those that an agent may use.",
			append(plain("just --list"), off("it runs every recipe", "just")...))},
		{"shell", "shell scripts", []string{"*.sh"}, fixed("These read scripts, and run none.", plain("shellcheck", "bash -n", "shfmt -d", "shfmt -l"))},
		{"docker", "Docker", []string{"Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}, fixed(
			"Whoever may start a container has root's rights on this machine, so an agent only looks.",
			append(plain("docker ps", "docker images", "docker logs", "docker compose ps", "docker compose logs"),
				off("it has root's rights on this machine", "docker build", "docker run", "docker exec", "docker compose up")...))},
		{"terraform", "Terraform", []string{"*.tf"}, fixed("A plan runs providers with the credentials that are there.",
			append(plain("terraform fmt", "terraform validate", "terraform version"),
				append(off("it runs providers with real credentials", "terraform plan"), off("it changes what runs", "terraform apply")...)...))},
		{"helm", "Helm", []string{"Chart.yaml"}, fixed("These read charts; a cluster is not touched.", plain("helm lint", "helm template"))},
	}
}

// fixed is a section that is the same for every project of a kind.
func fixed(why string, allow []suggestion) func(*project, []string) section {
	return func(*project, []string) section { return section{title: why, allow: allow} }
}

func goSection(*project, []string) section {
	return section{
		title: "These compile and run the project's own code: the gate does not look inside.",
		allow: append(plain("go build", "go test", "go vet", "go fmt", "go list", "go doc", "go version", "go env", "go mod tidy", "go mod why", "go mod graph",
			"go tool cover", "gofmt", "golangci-lint run", "staticcheck", "govulncheck"),
			append(off("it runs any program", "go run", "go generate"), off("it brings in code of others", "go get", "go install")...)...),
		deny: []refusalEntry{
			{call: "go test", flags: []string{"-exec", "-toolexec"}, why: ownChoice},
			{call: "go build", flags: []string{"-toolexec"}, why: ownChoice},
			{call: "go vet", flags: []string{"-vettool", "-toolexec"}, why: ownChoice},
			{call: "go list", flags: []string{"-toolexec"}, why: ownChoice},
			{call: "go env", flags: []string{"-w", "-u"}, why: "it changes how go works for everything after it"},
		},
	}
}

func pythonSection(p *project, _ []string) section {
	modules := []string{"-m pytest", "-m unittest", "-m mypy", "-m ruff", "-m compileall", "-m json.tool", "-V", "--version"}
	s := section{
		title: "These run the project's own code.",
		allow: append(plain("pytest", "ruff", "mypy", "pyright", "black", "isort", "flake8", "tox"),
			suggestion{call: "python3", only: modules, note: "no -c and no scripts"}, suggestion{call: "python", only: modules},
			suggestion{call: "pip list"}, suggestion{call: "pip show"}, suggestion{call: "pip install", off: "it brings in code of others"}),
	}
	if p.has("uv.lock") || p.has("pyproject.toml") {
		s.allow = append(s.allow, suggestion{call: "uv run", note: "what it runs has to be covered itself"})
	}
	if p.has("poetry.lock") {
		s.allow = append(s.allow, suggestion{call: "poetry run", note: "what it runs has to be covered itself"})
	}
	return s
}

// nodeSection lists the scripts of each package.json by name.
func nodeSection(p *project, files []string) section {
	s := section{title: "Scripts run what package.json says, so an agent that may edit it decides what they do.",
		allow: plain("node --test", "node --check", "node --version")}
	manager := "npm"
	for lock, name := range map[string]string{"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"} {
		if p.has(lock) {
			manager = name
		}
	}
	scripts := map[string]bool{}
	for _, file := range files {
		for _, script := range p.scripts(file) {
			if scripts[script.name] {
				continue
			}
			scripts[script.name] = true
			one := suggestion{call: manager + " run " + script.name, note: file + ": " + shorten(script.text, 50)}
			if script.name == "test" {
				s.allow = append(s.allow, suggestion{call: manager + " test"})
			}
			if reaches(script.name) {
				one.off = "its name says that it reaches beyond the project"
			}
			s.allow = append(s.allow, one)
		}
	}
	if len(files) == 0 {
		s.allow = append(s.allow, plain("npm test", "npm run build", "npm run lint", "npm run test")...)
	}
	s.allow = append(s.allow, plain("tsc", "eslint", "prettier", "vitest", "jest")...)
	s.allow = append(s.allow, suggestion{call: manager + " ls"}, suggestion{call: manager + " install", off: "it brings in code of others, and runs it"})
	return s
}

// makeSection lists the targets of each Makefile by name.
func makeSection(p *project, files []string) section {
	s := section{title: "A target runs what the Makefile says, so an agent that may edit it decides what it does."}
	seen := map[string]bool{}
	for _, file := range files {
		for _, target := range p.targets(file) {
			if seen[target] {
				continue
			}
			seen[target] = true
			one := suggestion{call: "make " + target}
			if dir, _, below := strings.Cut(file, "/"); below {
				one.note = "in " + dir + "/"
			}
			if reaches(target) {
				one.off = "its name says that it reaches beyond the project"
			}
			s.allow = append(s.allow, one)
		}
	}
	if len(seen) == 0 {
		s.allow = plain("make")
	}
	return s
}

// reaches reports whether a script or target of this name is likely to act on more than the project.
func reaches(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"deploy", "publish", "release", "push", "upload", "install", "destroy", "drop", "prod", "migrat", "login", "rollback", "purge"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
