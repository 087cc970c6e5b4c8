package systemdtest_test

import (
	"os"
	"strings"
	"testing"

	"gatehouse/internal/systemdtest"
)

func TestAMachineIsARealSystemdOfItsOwn(t *testing.T) {
	m := systemdtest.Boot(t)
	m.WriteFile(t, "/etc/systemd/system/hello.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo hello >/run/said'\n", 0o644)
	m.Run(t, "systemctl", "daemon-reload")
	m.Run(t, "systemctl", "start", "hello.service")
	if said := m.Run(t, "cat", "/run/said"); strings.TrimSpace(said) != "hello" {
		t.Errorf("the service said %q", said)
	}
	if _, err := os.Stat("/etc/systemd/system/hello.service"); err == nil {
		t.Error("the unit file is on the host as well")
	}
}
