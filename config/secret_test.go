package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsAreRead(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "slack-token"), []byte("hunter2\n"), 0o400)
	put(t, filepath.Join(dir, "two"), []byte("hunter2\n\n"), 0o640)
	put(t, filepath.Join(dir, "dos"), []byte("hunter2\r\n"), 0o600)
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	t.Setenv("GATEHOUSE_TEST_TOKEN", "hunter2")
	for secret, want := range map[Secret]string{
		"credential:slack-token":               "hunter2",
		"env:GATEHOUSE_TEST_TOKEN":             "hunter2",
		Secret("file:" + dir + "/slack-token"): "hunter2",
		Secret("file:" + dir + "/two"):         "hunter2\n",
		Secret("file:" + dir + "/dos"):         "hunter2",
	} {
		if got, err := secret.Read(); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", secret, got, err, want)
		}
	}
}

func TestSecretsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "empty"), []byte("\n"), 0o600)
	put(t, filepath.Join(dir, "open"), []byte("hunter2"), 0o644)
	put(t, filepath.Join(dir, "large"), []byte(strings.Repeat("hunter2", 10_000)), 0o600)
	makeFIFO(t, filepath.Join(dir, "fifo"))
	if err := os.Chmod(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string) Secret { return Secret("file:" + dir + "/" + name) }
	for _, test := range []struct {
		secret      Secret
		credentials string
		want        []string
	}{
		{"", "", []string{"it has none of the forms"}},
		{"hunter2", "", []string{"it has none of the forms"}},
		{"credential:../hunter2", dir, []string{"it has none of the forms"}},
		{"credential:slack", "", []string{
			"read secret credential:slack: ", "/etc/gatehouse/credentials/slack: no such file or directory; write the secret into it, with mode 0600"}},
		{"credential:slack", dir, []string{"read secret credential:slack: ", "no such file"}},
		{"credential:empty", dir, []string{"read secret credential:empty: it is empty or not set"}},
		{"env:GATEHOUSE_TEST_UNSET", "", []string{"read secret env:GATEHOUSE_TEST_UNSET: it is empty or not set"}},
		{file("open"), "", []string{"others can use it (mode 0644); fix it with: chmod o= " + dir + "/open"}},
		{file("large"), "", []string{"it is larger than 65536 bytes"}},
		{file("fifo"), "", []string{"it is not a regular file"}},
		{file("none"), "", []string{"no such file"}},
	} {
		t.Setenv("CREDENTIALS_DIRECTORY", test.credentials)
		got, err := test.secret.Read()
		if err == nil || got != "" {
			t.Errorf("%s: got %q, %v; want an error only", test.secret, got, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %q, want %q in it", test.secret, err, want)
			}
		}
		if missing := strings.Contains(err.Error(), "no such file"); missing != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: that there is no such file cannot be told from other faults: %v", test.secret, err)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error holds the value: %v", test.secret, err)
		}
	}
}
