package shell

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func wrapperNames() []string {
	return strings.Fields(`bash sh dash ksh mksh zsh fish csh pwsh busybox python3 sudo doas su runuser sg env nice chroot flock watch chrt taskset ionice prlimit choom setarch linux32 strace gdb valgrind xargs parallel find fd script expect tmux screen systemd-run at batch crontab hyperfine entr command builtin exec time timeout nohup stdbuf setsid numactl unshare nsenter setpriv pkexec ltrace systemd-inhibit caffeinate dbus-run-session run0 fakeroot eatmydata cpulimit unbuffer chronic gosu daemonize npx pnpx bunx npm pnpm yarn bun uv uvx poetry pipx bundle direnv conda nix-shell nix ssh docker podman docker-compose kubectl k3s git tar rsync sort man split zip vim less make sed awk coproc eval trap source . exec cd pushd export declare read set test printf getopts mapfile unset`)
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	try := func(name, line string) {
		if len(line) > 1<<20 {
			line = line[:1<<20]
		}
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		begun := time.Now()
		_, err := Parse(line, testOptions)
		took := time.Since(begun)
		runtime.ReadMemStats(&m1)
		mb := (m1.TotalAlloc - m0.TotalAlloc) >> 20
		if took > 500*time.Millisecond || mb > 400 {
			fmt.Printf("%-40s %8v %5d MB %.100v\n", name, took.Round(time.Millisecond), mb, err)
		}
	}
	rep := strings.Repeat
	for _, n := range wrapperNames() {
		try(n+" chain", rep(n+" ", 3000)+"x")
		try(n+" chain99", rep(n+" ", 90)+"x "+rep("y", 900000))
		try(n+" chain99w", rep(n+" ", 90)+"x "+rep("y ", 1000))
		try(n+" operands", n+rep(" a", 49000))
		try(n+" operands2", n+rep(" a", 500000))
		try(n+" -c chain", rep(n+" -c '", 20)+"x")
		for _, o := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0-+;{}" {
			try(n+" -"+string(o), n+rep(" -"+string(o), 49000))
			try(n+" -"+string(o)+" x", n+rep(" -"+string(o)+" x", 33000))
			try(n+" -"+string(o)+"x", n+" -"+rep(string(o), 1<<20))
		}
		for _, w := range []string{"exec c ", "run i ", "-exec ", "-S ", "-x ", "::: ", "-c a=b ", "compose exec c ", "exec -- ", "-o ProxyCommand=x ", "run "} {
			try(n+" "+w, rep(n+" "+w, 60)+"x")
			try(n+" "+w+"many", n+rep(" "+w, 20000)+"x")
		}
	}
}
