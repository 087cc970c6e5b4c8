package vendorgate

import (
	"os"
	"path/filepath"
)

// Init makes an empty git repository with a work tree in the new directory path, as "git init -b main" does, for hosts
// that do not have git itself.
func Init(path string) error {
	git := filepath.Join(path, ".git")
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(git, dir), 0o755); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	if err := os.WriteFile(filepath.Join(git, "config"), []byte(config), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
}
