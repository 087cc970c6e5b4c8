package exchange

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"gatehouse/internal/durable"
	"gatehouse/internal/safefs"

	"golang.org/x/sys/unix"
)

const (
	claimsDir  = "claims"
	maxClaim   = 1 << 10 // bytes of a claim
	maxClaims  = 1 << 10 // claims of one id
	claimAge   = 48 * time.Hour
	tempPrefix = ".tmp-" // as durable.IsTemp knows
)

// inside runs write in a directory below the exchange, which is made if it is not there. Other writers of the exchange
// may have put links into it; none of them leads out of the directory that safefs opened.
func (d *Directory) inside(name string, write func(*os.Root) error) error {
	tree, err := d.open(0)
	if err != nil {
		return err
	}
	defer tree.Close()
	top, err := os.OpenRoot(d.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer top.Close()
	if err := same(top, tree.Info()); err != nil {
		return err
	}
	if err := top.MkdirAll(name, 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	dir, err := top.OpenRoot(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer dir.Close()
	if err := write(dir); err != nil {
		return err
	}
	return errors.Join(flush(dir), flush(top))
}

// same makes sure that what was opened for writing is the directory that was judged.
func same(top *os.Root, judged safefs.Info) error {
	info, err := top.Stat(".")
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Dev != judged.Dev || st.Ino != judged.Ino {
		return fmt.Errorf("%w: another directory took the place of %s", ErrUnavailable, top.Name())
	}
	return nil
}

func flush(dir *os.Root) error {
	f, err := dir.OpenFile(".", os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// writeFile replaces one file in dir; full is its name for people.
func writeFile(disk durable.Disk, dir *os.Root, full string, data []byte) error {
	return disk.Do("write", full, func() error {
		temp, err := writeTemp(dir, data)
		if err != nil {
			return err
		}
		defer dir.Remove(temp) // there is nothing to remove after the rename
		return dir.Rename(temp, path.Base(full))
	})
}

// writeTemp writes data to a new file in dir and returns its name.
func writeTemp(dir *os.Root, data []byte) (string, error) {
	temp := tempPrefix + rand.Text()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		dir.Remove(temp)
		return "", err
	}
	return temp, nil
}

// A claimFile is what a claim says. When it was made is the file's time.
type claimFile struct {
	Host  string        `json:"host"`
	Lease time.Duration `json:"lease_ns"`
}

// Claim implements Exchange. Claims of one id are files with numbers; who makes the next number first has it.
func (d *Directory) Claim(ctx context.Context, id string, lease time.Duration) (Claim, error) {
	if err := CheckID(id); err != nil {
		return Claim{}, err
	}
	data, err := json.Marshal(claimFile{d.host, lease})
	if err != nil {
		return Claim{}, err
	}
	ctx, cancel := within(ctx, claimTime)
	defer cancel()
	var got Claim
	err = d.inside(path.Join(claimsDir, id), func(dir *os.Root) error {
		full := filepath.Join(d.path, claimsDir, id, d.host)
		return d.disk.Do("claim", full, func() error {
			got, err = d.claim(ctx, dir, id, data)
			return err
		})
	})
	if err != nil {
		return Claim{}, fmt.Errorf("claim %s: %w", id, err)
	}
	return got, nil
}

func (d *Directory) claim(ctx context.Context, dir *os.Root, id string, data []byte) (Claim, error) {
	for ctx.Err() == nil {
		stored, next, err := d.stored(ctx, id)
		if err != nil {
			return Claim{}, err
		}
		// The file that becomes the claim also says what time it is where the directory lies: later than all that was read.
		temp, err := writeTemp(dir, data)
		if err != nil {
			return Claim{}, err
		}
		defer dir.Remove(temp)
		info, err := dir.Lstat(temp)
		if err != nil {
			return Claim{}, err
		}
		if held, ok := Holder(id, stored, d.host, info.ModTime()); ok {
			return held, nil
		}
		err = renameNew(dir, temp, strconv.Itoa(next))
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
			err = linkNew(dir, temp, strconv.Itoa(next))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return Claim{}, err
		}
	}
	return Claim{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
}

// renameNew gives a file a name that must be free.
func renameNew(dir *os.Root, from, to string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Renameat2(int(f.Fd()), from, int(f.Fd()), to, unix.RENAME_NOREPLACE)
}

// linkNew is renameNew where the file system has no such thing, as NFS. For a moment the file has two links, with which
// safefs does not read it: whoever is held up there for longer than others wait may see his claim go to one of them.
func linkNew(dir *os.Root, from, to string) error {
	if err := dir.Link(from, to); err != nil {
		return err
	}
	return dir.Remove(from)
}

// stored reads the claims of id in their order, and the number of the next one. A number whose file says nothing is
// taken, but nobody's.
func (d *Directory) stored(ctx context.Context, id string) ([]Stored, int, error) {
	tree, err := d.open(maxClaim)
	if err != nil {
		return nil, 0, err
	}
	defer tree.Close()
	list, err := names(ctx, tree, claimsDir+"/"+id)
	if err != nil {
		return nil, 0, err
	}
	taken := make(map[int]string)
	for _, name := range list {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < maxClaims && strconv.Itoa(n) == name {
			taken[n] = name
		}
	}
	var claims []Stored
	patient := time.Now().Add(claimAgain) // with all of them: somebody may have spoilt many
	for n := range maxClaims {
		name, ok := taken[n]
		if !ok {
			return claims, n, nil
		}
		var data []byte
		var info safefs.Info
		err := again(ctx, time.Until(patient), func() (err error) { // a claim that is being made can have two links for a moment
			data, info, err = tree.ReadFile(claimsDir+"/"+id+"/"+name, nil)
			return err
		}, safefs.InFlux, safefs.Links)
		var c claimFile
		if err == nil && json.Unmarshal(data, &c) == nil && CheckHost(c.Host) == nil {
			claims = append(claims, Stored{c.Host, info.MTime, c.Lease})
		}
	}
	return nil, 0, fmt.Errorf("%w: %d claims of one id", ErrTooLarge, maxClaims)
}

// sweep removes what has expired of this host's own, and old claims, once in the life of a Directory. What it cannot
// remove in a short time stays: others may have made more than can be removed.
func (d *Directory) sweep() {
	d.swept.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), tidyTime)
		defer cancel()
		for kind, age := range map[Kind]time.Duration{Objects: ObjectAge, Told: StatementAge} {
			d.removeOlder(ctx, string(kind)+"/"+d.host, age)
		}
		d.removeOlder(ctx, claimsDir, claimAge)
	})
}

func (d *Directory) removeOlder(ctx context.Context, name string, age time.Duration) {
	tree, err := d.open(0)
	if err != nil {
		return
	}
	defer tree.Close()
	list, err := names(ctx, tree, name)
	if err != nil || len(list) == 0 {
		return
	}
	_ = d.inside(name, func(dir *os.Root) error {
		for _, entry := range list {
			if ctx.Err() != nil {
				break
			}
			info, err := tree.Lstat(name + "/" + entry)
			if err != nil || d.now().Sub(info.MTime) <= age {
				continue
			}
			if info.Type == safefs.TypeDir {
				d.removeOlder(ctx, name+"/"+entry, math.MinInt64) // all that is in it
			}
			full := filepath.Join(d.path, name, entry)
			_ = d.disk.Do("remove", full, func() error { return dir.Remove(entry) })
		}
		return nil
	})
}
