// Command check reads the packs of specs and says what is wrong with them, each fault with its file and line.
//
//	go run ./gate/spec/internal/check [-write FILE] [DIR]
//
// DIR is gate/spec/packs if it is not given. With -write it also writes what the packs compile to, and its
// SHA-256 into a file beside it, which is what go generate ./gate/spec does.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gatehouse/gate/spec"
)

func main() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) }

// Main runs the command line args and returns its exit code: 0 the packs are right, 1 they are not, 2 could not tell.
func Main(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	write := flags.String("write", "", "write the compiled packs to this `file`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	dir := "gate/spec/packs"
	if flags.NArg() > 0 {
		dir = flags.Arg(0)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(names) == 0 {
		fmt.Fprintf(stderr, "check: no packs in %s\n", dir)
		return 2
	}
	var files []spec.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(stderr, "check:", err)
			return 2
		}
		files = append(files, spec.File{Name: name, Data: data})
	}
	compiled, err := spec.Compile(files, nil)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if *write != "" {
		sum := fmt.Appendf(nil, "%x", sha256.Sum256(compiled))
		err := errors.Join(os.WriteFile(*write, compiled, 0o644),
			os.WriteFile(strings.TrimSuffix(*write, filepath.Ext(*write))+".sha256", sum, 0o644))
		if err != nil {
			fmt.Fprintln(stderr, "check:", err)
			return 2
		}
	}
	fmt.Fprintf(stdout, "%d packs, %d bytes compiled\n", len(files), len(compiled))
	return 0
}
