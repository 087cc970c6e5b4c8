package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
)

// A Home is the operator's directory of one exchange:
//
//	exchange.json           the nodes
//	ca.pem                  the CA's certificate: hosts need it too
//	authority/ca.key        the CA's key: only where certificates are made; best kept off the nodes
//	hosts/NAME.json         one file per host, with its public nkey
//	nodes/NAME/             a node's node.pem (certificate and key) and admin.seed: only on that node
//	data/NAME/              what a node stores
//
// Everything but authority, the other nodes' directories and data is the same on all nodes, and copied there by the
// operator's own means. A home that others can write to, or whose secrets they can read, is not opened.
type Home struct {
	disk durable.Disk
	dir  string
	plan Plan
}

// A Plan is what exchange.json says.
type Plan struct {
	Version int        `json:"version"`
	Size    int64      `json:"size,omitempty"` // bytes of data on each node at most
	Nodes   []NodePlan `json:"nodes"`
}

// A NodePlan is one node.
type NodePlan struct {
	Name   string `json:"name"`
	Host   string `json:"host"`            // the name or address under which the others reach it
	Port   int    `json:"port"`            // for hosts
	Route  int    `json:"route,omitempty"` // the port for the other nodes; none for a single one
	Listen string `json:"listen"`          // the address it listens on
}

// limits of files in a home.
const maxFile = 1 << 20

// open reports whether the node may be reached from other machines, which takes TLS.
func (n NodePlan) open() bool {
	ip := net.ParseIP(n.Listen)
	return ip == nil || !ip.IsLoopback() || n.Route != 0
}

func (p Plan) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.Version != 1 {
		bad("version: %d is not known, only 1", p.Version)
	}
	if p.Size < 0 {
		bad("size: %d bytes", p.Size)
	}
	counted := len(p.Nodes) == 1 || len(p.Nodes) == 3
	if !counted {
		bad("nodes: an exchange has one node or three, and this one has %d", len(p.Nodes))
	}
	for i, n := range p.Nodes {
		if err := exchange.CheckHost(n.Name); err != nil {
			bad("nodes[%d].name: %w", i, err)
		}
		if n.Host == "" || strings.ContainsAny(n.Host, "/ \t\n\"'[]") {
			bad("nodes[%d].host: %q is no name or address", i, n.Host)
		}
		if net.ParseIP(n.Listen) == nil {
			bad("nodes[%d].listen: %q is no address", i, n.Listen)
		}
		if n.Port < 0 || n.Port > 65535 || n.Route < 0 || n.Route > 65535 {
			bad("nodes[%d]: %d or %d is no port", i, n.Port, n.Route)
		}
		if counted && (len(p.Nodes) == 3) != (n.Route != 0) {
			bad("nodes[%d].route: each of three nodes has a port for the others, and a single one has none", i)
		}
		if slices.ContainsFunc(p.Nodes[:i], func(other NodePlan) bool { return other.Name == n.Name }) {
			bad("nodes[%d].name: %q is twice", i, n.Name)
		}
	}
	return errors.Join(errs...)
}

// Init makes a home with a CA, the nodes' certificates and the operator's keys. It refuses a directory that has one.
func Init(disk durable.Disk, dir string, plan Plan, now time.Time) (*Home, error) {
	plan.Version = 1
	if err := plan.check(); err != nil {
		return nil, fmt.Errorf("make an exchange: %w", err)
	}
	h := &Home{disk, dir, plan}
	if _, err := os.Lstat(h.path("exchange.json")); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make an exchange: there is one in %s already", dir)
	}
	for _, sub := range []string{"", "authority", "hosts", "nodes", "data"} {
		if err := disk.MkdirAll(h.path(sub), 0o700); err != nil {
			return nil, err
		}
	}
	if err := checkModes(dir); err != nil {
		return nil, fmt.Errorf("make an exchange: %w", err)
	}
	cert, key, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	if err := disk.WriteFile(h.path("authority", "ca.key"), key, 0o600); err != nil {
		return nil, err
	}
	if err := disk.WriteFile(h.path("ca.pem"), cert, 0o644); err != nil {
		return nil, err
	}
	for _, n := range plan.Nodes {
		if err := h.newNode(n, now); err != nil {
			return nil, err
		}
	}
	data, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return nil, err
	}
	return h, disk.WriteFile(h.path("exchange.json"), append(data, '\n'), 0o644) // last: now there is one
}

func (h *Home) newNode(n NodePlan, now time.Time) error {
	if err := h.disk.MkdirAll(h.path("nodes", n.Name), 0o700); err != nil {
		return err
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	seed, err := pair.Seed()
	if err != nil {
		return err
	}
	if err := h.disk.WriteFile(h.path("nodes", n.Name, "admin.seed"), append(seed, '\n'), 0o600); err != nil {
		return err
	}
	return h.certify(n, now)
}

// certify makes a node's certificate anew.
func (h *Home) certify(n NodePlan, now time.Time) error {
	ca, err := os.ReadFile(h.path("ca.pem"))
	if err != nil {
		return err
	}
	caKey, err := os.ReadFile(h.path("authority", "ca.key"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the CA's key, %s, is not here; certificates are made where it is kept", h.path("authority", "ca.key"))
	}
	if err != nil {
		return err
	}
	names := []string{n.Host}
	for _, own := range []string{"localhost", "127.0.0.1", "::1"} {
		if own != n.Host {
			names = append(names, own)
		}
	}
	cert, key, err := newCertificate(ca, caKey, n.Name, names, now)
	if err != nil {
		return fmt.Errorf("certificate of node %s: %w", n.Name, err)
	}
	if err := h.disk.MkdirAll(h.path("nodes", n.Name), 0o700); err != nil {
		return err
	}
	// One file holds both, so that they fit whenever a node reads them.
	return h.disk.WriteFile(h.path("nodes", n.Name, "node.pem"), append(cert, key...), 0o600)
}

// Renew makes new certificates for all nodes that speak TLS.
func (h *Home) Renew(now time.Time) error {
	for _, n := range h.plan.Nodes {
		if !n.open() {
			continue
		}
		if err := h.certify(n, now); err != nil {
			return err
		}
	}
	return nil
}

// Until is the end of a node's certificate.
func (h *Home) Until(node string) (time.Time, error) {
	cert, err := readCertificate(h.path("nodes", node, "node.pem"))
	if err != nil {
		return time.Time{}, err
	}
	return cert.NotAfter, nil
}

// Secure reports whether a node speaks TLS.
func (h *Home) Secure(node string) bool {
	return slices.ContainsFunc(h.plan.Nodes, func(n NodePlan) bool { return n.Name == node && n.open() })
}

// Open opens a home.
func Open(disk durable.Disk, dir string) (*Home, error) {
	h := &Home{disk: disk, dir: dir}
	if err := readJSON(h.path("exchange.json"), &h.plan); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no exchange in %s; make one with: warden exchange init", dir)
		}
		return nil, err
	}
	if err := h.plan.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", h.path("exchange.json"), err)
	}
	if err := checkModes(dir); err != nil {
		return nil, fmt.Errorf("open the exchange: %w", err)
	}
	return h, nil
}

// Plan returns what the home says of its nodes.
func (h *Home) Plan() Plan { return h.plan }

// CA returns the certificate that hosts need, and where it is.
func (h *Home) CA() (data []byte, name string, err error) {
	data, err = os.ReadFile(h.path("ca.pem"))
	return data, h.path("ca.pem"), err
}

// Servers are where hosts find the nodes, as warden.yaml takes them.
func (h *Home) Servers() []string {
	var list []string
	for _, n := range h.plan.Nodes {
		scheme := "nats://"
		if n.open() {
			scheme = "tls://"
		}
		list = append(list, scheme+net.JoinHostPort(n.Host, strconv.Itoa(n.Port)))
	}
	return list
}

// Local is the name of the node of this machine: the one that is asked for, or else the only one whose directory is here.
func (h *Home) Local(name string) (string, error) {
	var here []string
	for _, n := range h.plan.Nodes {
		if _, err := os.Lstat(h.path("nodes", n.Name)); err == nil {
			here = append(here, n.Name)
		}
	}
	switch {
	case name != "" && slices.Contains(here, name):
		return name, nil
	case name != "":
		return "", fmt.Errorf("node %q is not here; its directory would be %s", name, h.path("nodes", name))
	case len(here) == 1:
		return here[0], nil
	default:
		return "", fmt.Errorf("%d nodes are here (%s); say which with --node", len(here), strings.Join(here, ", "))
	}
}

// Node returns what Start needs for a node of this home.
func (h *Home) Node(name string) (Node, error) {
	i := slices.IndexFunc(h.plan.Nodes, func(n NodePlan) bool { return n.Name == name })
	if i < 0 {
		return Node{}, fmt.Errorf("%s has no node %q", h.path("exchange.json"), name)
	}
	p := h.plan.Nodes[i]
	seed, err := os.ReadFile(h.path("nodes", name, "admin.seed"))
	if err != nil {
		return Node{}, err
	}
	n := Node{
		Name: name, Listen: net.JoinHostPort(p.Listen, strconv.Itoa(p.Port)), Store: h.path("data", name), Size: h.plan.Size,
		Admin: bytes.TrimSpace(seed),
	}
	if p.open() {
		own := h.path("nodes", name, "node.pem")
		n.TLS = &TLS{CA: h.path("ca.pem"), Cert: own, Key: own}
	}
	if p.Route != 0 {
		n.Cluster = &Cluster{Listen: net.JoinHostPort(p.Listen, strconv.Itoa(p.Route))}
		for _, other := range h.plan.Nodes {
			if other.Name != name {
				n.Cluster.Routes = append(n.Cluster.Routes, net.JoinHostPort(other.Host, strconv.Itoa(other.Route)))
			}
		}
	}
	return n, nil
}

func (h *Home) path(parts ...string) string {
	return filepath.Join(append([]string{h.dir}, parts...)...)
}

// readJSON reads a file of the operator's strictly.
func readJSON(name string, v any) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return fmt.Errorf("%s: it has more than %d bytes", name, maxFile)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%s: something follows its value", name)
	}
	return nil
}
