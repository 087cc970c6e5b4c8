package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gatehouse/internal/durable"
)

// jobSchema is the schema of the state of a job.
const jobSchema = "gatehouse/job/v1"

// busyWait is how long a call waits for another of the same job.
const busyWait = 5 * time.Second

// jobState is what a job keeps. It only grows: Steps counts up, and once Ended is set it stays.
type jobState struct {
	Schema    string    `json:"schema"`
	Job       string    `json:"job"`
	Catalogue string    `json:"catalogue"`     // digest; the one the job began with
	Cwd       string    `json:"cwd,omitempty"` // the project of the first tool that had one
	Steps     int       `json:"steps"`
	Chain     string    `json:"chain"` // of the last line in the list of steps
	Running   bool      `json:"running"`
	Ended     Code      `json:"ended,omitempty"` // the failure that ended it
	EndedAt   int       `json:"ended_at,omitempty"`
	At        time.Time `json:"at"`
}

// A job is one job, locked.
type job struct {
	disk        durable.Disk
	state, list string // its two files
	lock        *durable.Lock
	jobState
}

// A job is kept in two files in different directories: its state, replaced each time, and a list of its steps that is
// only added to, each line with a digest over all before it. What one of them lacks the other shows: an edit and a
// deletion are found, unless both files are rewritten by somebody who knows how. Against that only another user helps.

// openJob locks a job and reads what it keeps. A new one is refused where there are most already, if that is not 0.
func openJob(ctx context.Context, disk durable.Disk, dir, name string, most int) (*job, error) {
	if name == "" || len(name) > 200 || !plainText(name) {
		return nil, failed(NoJob, "a call names its job, in up to 200 bytes of plain text: gate call --job NAME, or $GATEHOUSE_JOB")
	}
	sum := sha256.Sum256([]byte(name))
	key := hex.EncodeToString(sum[:16])
	j := &job{disk: disk, state: filepath.Join(dir, "jobs", key), list: filepath.Join(dir, "steps", key)}
	for _, d := range []string{dir, filepath.Dir(j.state), filepath.Dir(j.list)} {
		if err := disk.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make the directory of jobs: %w", err)
		}
		if err := private(d); err != nil {
			return nil, &Error{Code: StateCorrupt, Err: err}
		}
	}
	if most > 0 {
		if err := j.room(most); err != nil {
			return nil, err
		}
	}
	waiting, cancel := context.WithTimeout(ctx, busyWait)
	defer cancel()
	lock, err := durable.AcquireLock(waiting, j.state+".lock")
	if errors.Is(err, durable.ErrLocked) {
		return nil, failed(Busy, "another call of job %q is still running", name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock job %q: %w", name, err)
	}
	j.lock = lock
	if err := j.load(name); err != nil {
		lock.Unlock()
		return nil, err
	}
	return j, nil
}

// room reports an error if this would be a new job too many. Each has its state and a lock beside it; the lock comes
// first, whatever comes of the call. Calls that come at once may see the same room.
func (j *job) room(most int) error {
	if _, err := os.Lstat(j.state + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir, err := os.Open(filepath.Dir(j.state))
	if err != nil {
		return fmt.Errorf("count the jobs: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(2 * most)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("count the jobs: %w", err)
	}
	if len(names) >= 2*most {
		return failed(NoJob, "%d jobs are kept in %s, and no more; whoever owns it can take old ones away; their names can then be used again",
			most, filepath.Dir(dir.Name()))
	}
	return nil
}

func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a directory that only this user can write; jobs cannot be counted there", dir)
	}
	return nil
}

func (j *job) close() error { return j.lock.Unlock() }

const wayOut = "; the job is over, take a new name for the next"

func (j *job) load(name string) error {
	lines, last, err := readSteps(j.list)
	noList := errors.Is(err, fs.ErrNotExist)
	if err != nil && !noList {
		return err
	}
	data, err := durable.ReadSealed(j.state)
	switch {
	case errors.Is(err, fs.ErrNotExist) && noList:
		j.jobState = jobState{Schema: jobSchema, Job: name}
		return nil
	case errors.Is(err, fs.ErrNotExist) && lines == 1:
		// A crash can come between the first line and the first state: the step began, and never ended.
		j.jobState = jobState{Schema: jobSchema, Job: name, Steps: 1, Chain: last, Running: true}
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return failed(StateLost, "the state of job %q is gone, and its list shows %d steps%s", name, lines, wayOut)
	case errors.Is(err, durable.ErrCorrupt):
		return failed(StateCorrupt, "the state of job %q was edited or cut: %w%s", name, err, wayOut)
	case err != nil:
		return fmt.Errorf("read the state of job %q: %w", name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j.jobState); err != nil || j.Schema != jobSchema || j.Job != name || j.Steps < 0 {
		return failed(StateCorrupt, "the state of job %q is not one%s", name, wayOut)
	}
	switch {
	case noList && j.Steps > 0, lines < j.Steps:
		return failed(StateLost, "the list of steps of job %q has %d, and its state %d%s", name, lines, j.Steps, wayOut)
	case lines == j.Steps && last != j.Chain, lines > j.Steps+1:
		return failed(StateCorrupt, "the list of steps and the state of job %q disagree%s", name, wayOut)
	case lines == j.Steps+1: // the line of a step was written, and then came a crash
		j.Steps, j.Chain, j.Running = lines, last, true
	}
	return nil
}

// readSteps reads the list of steps: how many there are and the chain at its end.
func readSteps(path string) (n int, last string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, "", err
	}
	for line := range strings.Lines(string(data)) {
		text, whole := strings.CutSuffix(line, "\n")
		next := chained(last, n+1)
		want := strconv.Itoa(n+1) + " " + next
		// A crash can cut the newest line. Its step may have begun; nothing is ever added behind it.
		if text != want && (whole || !strings.HasPrefix(want, text)) {
			return n, last, failed(StateCorrupt, "the list of steps %s was edited in line %d%s", path, n+1, wayOut)
		}
		n, last = n+1, next
	}
	return n, last, nil
}

func chained(before string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", jobSchema, before, n))
	return hex.EncodeToString(sum[:])
}

// open reports an error if the job takes no more calls of this catalogue.
func (j *job) open(c *Catalogue) error {
	switch {
	case j.Running:
		return failed(JobEnded, "step %d of job %q began and never ended; that is a failure, and the job takes no more calls", j.Steps, j.Job)
	case j.Ended != "":
		return failed(JobEnded, "step %d of job %q ended with %s, and after a failure a job takes no more calls", j.EndedAt, j.Job, j.Ended)
	case j.Catalogue != "" && j.Catalogue != c.Digest:
		return failed(CatalogueChanged, "job %q began with another catalogue; begin a new job", j.Job)
	case j.Steps >= c.Steps:
		return failed(NoSteps, "job %q has taken all its %d steps", j.Job, c.Steps)
	}
	return nil
}

// begin counts a step. When it returns nil, the step is on the disk.
func (j *job) begin(c *Catalogue, cwd string, now time.Time) error {
	next := chained(j.Chain, j.Steps+1)
	if err := j.disk.Append(j.list, fmt.Appendf(nil, "%d %s\n", j.Steps+1, next), 0o600); err != nil {
		return fmt.Errorf("count the step: %w", err)
	}
	j.Steps, j.Chain, j.Running, j.Catalogue = j.Steps+1, next, true, c.Digest
	if j.Cwd == "" {
		j.Cwd = cwd
	}
	return j.save(now)
}

// end writes down how a step ended.
func (j *job) end(code Code, now time.Time) error {
	j.Running = false
	if code != OK {
		j.Ended, j.EndedAt = code, j.Steps
	}
	return j.save(now)
}

func (j *job) save(now time.Time) error {
	j.At = now.UTC()
	data, err := json.Marshal(j.jobState)
	if err == nil {
		err = j.disk.WriteSealed(j.state, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the state of job %q: %w", j.Job, err)
	}
	return nil
}
