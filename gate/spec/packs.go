package spec

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

//go:generate go run ./internal/check -write packs.bin packs

// bundled is what packs/*.yaml compiles to.
//
//go:embed packs.bin
var bundled string

// edition is the SHA-256 of bundled, which go generate writes beside it.
//
//go:embed packs.sha256
var edition string

// Edition names the specs that the program comes with: what was compiled with others is not to be believed.
func Edition() string { return edition }

// Packs are the specs that are in force. A spec is decoded when its command is first met. Packs can be used by several
// goroutines at once.
type Packs struct {
	packs []*pack   // a later one counts first
	idle  sync.Pool // of *translator, whose memory is used again
}

// Bundled returns the specs that the program comes with.
func Bundled() *Packs {
	p, err := (&Packs{}).With(bundled)
	if err != nil {
		panic("the program was built without its specs: " + err.Error())
	}
	return p
}

// With returns p with the specs that Compile made on top of it.
func (p *Packs) With(compiled string) (*Packs, error) {
	more, err := open(compiled)
	if err != nil {
		return nil, err
	}
	return &Packs{packs: append(append([]*pack{}, p.packs...), more)}, nil
}

// A pack is one compiled set of specs.
type pack struct {
	data    string
	names   int
	decoded []atomic.Pointer[node]
}

// open looks at the index only; a fault in a node shows when it is decoded, and then the command has no spec.
func open(data string) (*pack, error) {
	if !strings.HasPrefix(data, magic) || len(data) < len(magic)+4 {
		return nil, fmt.Errorf("compiled specs: not of version %q", strings.TrimSpace(magic))
	}
	p := &pack{data: data, names: u32(data, len(magic))}
	if p.names > (len(data)-len(magic)-4)/entrySize {
		return nil, fmt.Errorf("compiled specs: cut short")
	}
	p.decoded = make([]atomic.Pointer[node], p.names)
	return p, nil
}

func (p *pack) entry(i int) (name string, node, alias int) {
	at := len(magic) + 4 + i*entrySize
	from, n := u32(p.data, at), u32(p.data, at+4)
	if from+n > len(p.data) {
		return "", 0, 0
	}
	return p.data[from : from+n], u32(p.data, at+8), u32(p.data, at+12)
}

// find returns the spec of an executable, and where its alias is described.
func (p *pack) find(name string) (*node, int) {
	lo, hi := 0, p.names
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if have, _, _ := p.entry(mid); have < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == p.names {
		return nil, 0
	}
	have, at, alias := p.entry(lo)
	if have != name {
		return nil, 0
	}
	if n := p.decoded[lo].Load(); n != nil {
		return n, alias
	}
	n := p.decode(at)
	p.decoded[lo].Store(n)
	return n, alias
}

// decode returns the node at that offset, nil if it is broken.
func (p *pack) decode(at int) *node {
	d := &decoder{data: p.data, at: at}
	n := d.node()
	if d.broken {
		return nil
	}
	return n
}

func (p *pack) alias(at int) alias {
	d := &decoder{data: p.data, at: at}
	return d.aliasOf()
}

// find returns the spec for the base name of an executable, the pack it is of, and where its alias is described. A name
// with a version behind it (python3.11, gcc-12) is the name without it, unless it has a spec of its own.
func (p *Packs) find(name string) (*node, *pack, int) {
	for {
		for i := len(p.packs) - 1; i >= 0; i-- {
			if n, alias := p.packs[i].find(name); n != nil {
				return n, p.packs[i], alias
			}
		}
		short := strings.TrimRight(name, "0123456789")
		if len(short) == len(name) || short == "" {
			return nil, nil, 0
		}
		if last := short[len(short)-1]; last == '.' || last == '-' {
			short = short[:len(short)-1]
		}
		if name = short; name == "" {
			return nil, nil, 0
		}
	}
}
