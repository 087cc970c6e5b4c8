package shell

import "strings"

// remoteOpener is for programs that run commands in a container or on another host. Those commands are Remote, and
// touch nothing here; where it cannot be told what they are, there is nothing to refuse, since the call that carries them
// is judged by its own words.
func remoteOpener(name string) unwrapper {
	switch name {
	case "ssh", "slogin", "autossh":
		return invocation.ssh
	case "docker", "podman", "nerdctl":
		return invocation.docker
	case "docker-compose", "podman-compose":
		return func(in invocation) ([]inner, *Error) { return in.elsewhere(in.compose(in.argv[1:])) }
	case "kubectl", "oc", "k3s", "microk8s":
		return invocation.kubectl
	}
	return nil
}

// elsewhere marks what runs remotely, and drops what cannot be told.
func (in invocation) elsewhere(inners []inner, err *Error) ([]inner, *Error) {
	if err != nil {
		return nil, nil
	}
	for i := range inners {
		if !in.nested && !told(inners[i].Argv, in.stdin, 10) {
			return nil, nil
		}
		inners[i].Remote = true
		inners[i].UnknownDir = inners[i].Dir == nil
	}
	return inners, nil
}

// told reports whether all that argv runs is known, down to the last script.
func told(argv []Word, stdin Stdin, depth int) bool {
	if depth == 0 || argv[0].State != Exact || argv[0].Splits {
		return false
	}
	inners, err := open(invocation{argv: argv, stdin: stdin, nested: true})
	if err != nil {
		return false
	}
	for _, i := range inners {
		switch {
		case i.FromStdin && !stdin.Known, i.Script != nil && i.Script.State != Exact:
			return false
		case len(i.Argv) > 0 && !told(i.Argv, stdin, depth-1):
			return false
		}
	}
	return true
}

func (in invocation) docker() ([]inner, *Error) {
	s := in.scan(optionTable{style: pflagStyle, short: "+c:DH:l:vhn:a:",
		long: "config: context: debug host: log-level: tls tlscacert: tlscert: tlskey: tlsverify version help connection: " +
			"remote root: runroot: storage-driver: storage-opt: url: identity: cgroup-manager: conmon: events-backend: " +
			"hooks-dir: module: namespace: tmpdir: transient-store out: runtime: address: host-gateway-ip: snapshotter: " +
			"cni-path: cni-netconfpath: data-root: insecure-registry"})
	sub, ok := s.verb()
	if !ok {
		return nil, nil
	}
	if sub.is("container") && s.next+1 < len(s.argv) {
		s.next++
		sub = s.argv[s.next]
	}
	switch sub.Text {
	case "exec":
		return in.elsewhere(s.subcommand(in.name + " exec").dockerExec())
	case "run", "create":
		return in.elsewhere(s.subcommand(in.name + " " + sub.Text).dockerRun())
	case "compose":
		return in.elsewhere(in.compose(s.argv[s.next+1:]))
	}
	return nil, nil
}

func (in invocation) dockerExec() ([]inner, *Error) {
	return in.container(optionTable{style: pflagStyle, short: "+de:itu:w:l",
		long: "detach detach-keys: env: env-file: interactive privileged tty user: workdir: latest preserve-fds: cidfile: help"})
}

func (in invocation) dockerRun() ([]inner, *Error) {
	return in.container(optionTable{style: pflagStyle, short: "+a:c:de:h:il:m:p:Pqtu:v:w:",
		long: "add-host: annotation: attach: blkio-weight: blkio-weight-device: cap-add: cap-drop: cgroup-parent: cgroupns: " +
			"cidfile: cpu-count: cpu-percent: cpu-period: cpu-quota: cpu-rt-period: cpu-rt-runtime: cpu-shares: cpus: " +
			"cpuset-cpus: cpuset-mems: detach detach-keys: device: device-cgroup-rule: device-read-bps: device-read-iops: " +
			"device-write-bps: device-write-iops: disable-content-trust dns: dns-opt: dns-option: dns-search: domainname: " +
			"entrypoint: env: env-file: expose: gpus: group-add: health-cmd: health-interval: health-retries: " +
			"health-start-interval: health-start-period: health-timeout: help hostname: init interactive io-maxbandwidth: " +
			"io-maxiops: ip: ip6: ipc: isolation: kernel-memory: label: label-file: link: link-local-ip: log-driver: " +
			"log-opt: mac-address: memory: memory-reservation: memory-swap: memory-swappiness: mount: name: network: net: " +
			"network-alias: net-alias: no-healthcheck oom-kill-disable oom-score-adj: pid: pids-limit: platform: privileged " +
			"publish: publish-all pull: quiet read-only restart: rm runtime: security-opt: shm-size: sig-proxy stop-signal: " +
			"stop-timeout: storage-opt: sysctl: tmpfs: tty ulimit: use-api-socket user: userns: uts: volume: volume-driver: " +
			"volumes-from: workdir: arch: authfile: pod: replace systemd: tz: userns-mode: rootfs secret: env-host http-proxy " +
			"no-hosts uidmap: gidmap: subuidname: subgidname: umask: timeout: tls-verify variant: os: hostuser: init-path: " +
			"chrootdirs: conmon-pidfile: decryption-key: group-entry: passwd passwd-entry: personality: preserve-fds: " +
			"rdt-class: read-only-tmpfs requires: retry: retry-delay: sdnotify: seccomp-policy: shm-size-systemd: unsetenv: " +
			"unsetenv-all"})
}

// container reads the options of exec or run, the container or image, and the command.
func (in invocation) container(o optionTable) ([]inner, *Error) {
	o.none = "help"
	s := in.scan(o)
	as := inner{Wrapper: in.name}
	var entry *Word
	for opt := range s.options() {
		switch opt.name {
		case "e", "env":
			as.assign(opt.value)
		case "w", "workdir":
			as.Dir = new(opt.value)
		case "entrypoint":
			entry = &opt.value
		}
	}
	rest, ok := s.rest()
	if !ok {
		return nil, s.err
	}
	_, rest, err := in.operand(rest)
	if err != nil {
		return nil, err
	}
	if entry != nil && entry.Text != "" {
		rest = append([]Word{*entry}, rest...)
	}
	return in.command(rest, as)
}

func (in invocation) compose(argv []Word) ([]inner, *Error) {
	sub := invocation{name: in.name, argv: append([]Word{in.argv[0]}, argv...), stdin: in.stdin}
	s := sub.scan(optionTable{style: pflagStyle, short: "+f:p:vDH:hc:",
		long: "all-resources ansi: compatibility dry-run env-file: file: parallel: profile: progress: project-directory: " +
			"project-name: verbose version debug host: context: tls tlscacert: tlscert: tlskey: tlsverify log-level: help " +
			"no-ansi insecure-registry workdir:"})
	verb, ok := s.verb()
	if !ok {
		return nil, nil
	}
	switch verb.Text {
	case "exec":
		return s.subcommand("docker compose exec").container(optionTable{style: pflagStyle, short: "+de:Titu:w:",
			long: "detach dry-run env: index: interactive no-tty no-TTY privileged tty user: workdir: help"})
	case "run":
		return s.subcommand("docker compose run").container(optionTable{style: pflagStyle, short: "+de:il:p:Pqtu:v:w:T",
			long: "build cap-add: cap-drop: detach dry-run entrypoint: env: env-from-file: interactive label: name: no-tty " +
				"no-TTY no-deps publish: pull: quiet quiet-build quiet-pull remove-orphans rm service-ports use-aliases tty " +
				"user: volume: workdir: help"})
	}
	return nil, nil
}

// kubectl runs what stands after "--", or the words after the pod in the old form.
func (in invocation) kubectl() ([]inner, *Error) {
	const global = "as: as-group: as-uid: cache-dir: certificate-authority: client-certificate: client-key: cluster: " +
		"context: disable-compression insecure-skip-tls-verify kubeconfig: kuberc: log-flush-frequency: " +
		"match-server-version namespace: password: profile: profile-output: request-timeout: server: tls-server-name: " +
		"token: user: username: v: vmodule: warnings-as-errors help "
	argv := in.argv
	if (in.name == "k3s" || in.name == "microk8s") && len(argv) > 1 && argv[1].Text == "kubectl" {
		argv = argv[1:]
	}
	s := invocation{name: in.name, argv: argv, stdin: in.stdin}.scan(optionTable{style: pflagStyle, short: "+hn:s:v:", long: global})
	if verb, ok := s.verb(); !ok || verb.Text != "exec" {
		return nil, nil
	}
	sub := s.subcommand(in.name + " exec")
	for at, w := range sub.argv {
		if w.is("--") {
			return in.elsewhere(sub.command(sub.argv[at+1:], inner{Wrapper: sub.name}))
		}
	}
	s = sub.scan(optionTable{style: pflagStyle, short: "+hn:s:v:c:f:qit",
		long: global + "container: filename: pod: pod-running-timeout: quiet stdin tty"})
	rest, ok := s.skip()
	if !ok {
		return nil, nil
	}
	_, rest, err := sub.operand(rest)
	if err != nil {
		return nil, nil
	}
	return in.elsewhere(sub.command(rest, inner{Wrapper: sub.name}))
}

// ssh hands its words, joined, to the shell of the other host; some of its settings run commands here.
func (in invocation) ssh() ([]inner, *Error) {
	var inners []inner
	as := inner{Remote: true, UnknownDir: true}
	s := in.scan(optionTable{short: "+1246ab:c:e:fgi:kl:m:no:p:qstvxAB:CD:E:F:GI:J:KL:MNO:P:Q:R:S:TVw:W:XYy"})
	var rest []Word
	for host := false; ; host = true { // once it has the host, ssh looks for options once more
		for opt := range s.options() {
			switch opt.name {
			case "V", "Q", "G", "O":
				return inners, nil
			case "f":
				as.Background = true
			case "o":
				more, err := in.sshSetting(opt.value)
				if err != nil {
					return nil, err
				}
				inners = append(inners, more...)
			}
		}
		var ok bool
		if rest, ok = s.rest(); !ok {
			return nil, s.err
		}
		if host || len(rest) == 0 {
			break
		}
		if _, _, err := in.operand(rest); err != nil {
			return nil, err
		}
		s.next++
	}
	if text := joined(rest); len(rest) > 0 && text.State == Exact {
		as.Script = &text
		inners = append(inners, as)
	}
	return inners, nil
}

// sshSetting is for the settings of ssh that run a command on this host.
func (in invocation) sshSetting(w Word) ([]inner, *Error) {
	prefix := knownPrefix(w)
	end := strings.IndexAny(prefix, "= \t")
	if end < 0 {
		return nil, in.dynamic(w, "write the setting out")
	}
	value := strings.TrimLeft(w.Text[end:], "= \t")
	switch strings.ToLower(prefix[:end]) {
	case "proxycommand", "localcommand", "knownhostscommand":
		if strings.EqualFold(value, "none") {
			return nil, nil
		}
		text := Word{Text: value, State: w.State}
		if strings.Contains(value, "%") {
			if strings.ContainsAny(value, `'"\`) {
				text.State = Unknown
			}
			for _, token := range "CdfHhiIjKkLlnpRrTtu" {
				text.Text = strings.ReplaceAll(text.Text, "%"+string(token), `"$ssh_token"`)
			}
		}
		return in.script(text, inner{})
	case "match", "include":
		return nil, in.refuse("ssh -o " + prefix[:end] + " is not followed; leave it out")
	}
	return nil, nil
}
