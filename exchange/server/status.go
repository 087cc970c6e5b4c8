package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"gatehouse/exchange/jetstream"
)

// A StreamStatus is how one stream is.
type StreamStatus struct {
	Name     string `json:"name"`
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	Limit    int64  `json:"limit,omitempty"` // bytes
	Leader   string `json:"leader,omitempty"`
	Problem  string `json:"problem,omitempty"` // none when all replicas are current and it is not nearly full
}

// ReadStatus asks the node behind an operator's connection how the streams are.
func ReadStatus(ctx context.Context, nc *client.Conn) ([]StreamStatus, error) {
	api, err := js.New(nc)
	if err != nil {
		return nil, err
	}
	var list []StreamStatus
	for _, name := range jetstream.Streams() {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		stream, err := api.Stream(try, name)
		cancel()
		if err != nil {
			list = append(list, StreamStatus{Name: name, Problem: fmt.Sprintf("it has no leader, or is not there (%v)", err)})
			continue
		}
		list = append(list, judge(stream.CachedInfo()))
	}
	return list, nil
}

// silent is how long a replica may not have answered its leader, which asks every second.
const silent = 10 * time.Second

func judge(info *js.StreamInfo) StreamStatus {
	s := StreamStatus{Name: info.Config.Name, Messages: info.State.Msgs, Bytes: info.State.Bytes, Limit: max(info.Config.MaxBytes, 0)}
	var problems []string
	if c := info.Cluster; c != nil {
		s.Leader = c.Leader
		for _, peer := range c.Replicas {
			switch {
			case peer.Offline:
				problems = append(problems, "node "+peer.Name+" is not there")
			case peer.Active > silent:
				problems = append(problems, fmt.Sprintf("node %s has not answered for %s", peer.Name, peer.Active.Round(time.Second)))
			case !peer.Current:
				problems = append(problems, fmt.Sprintf("node %s is behind by %d", peer.Name, peer.Lag))
			}
		}
		if n := 1 + len(c.Replicas); n < info.Config.Replicas {
			problems = append(problems, fmt.Sprintf("%d of %d replicas", n, info.Config.Replicas))
		}
	}
	if s.Limit > 0 && s.Bytes > uint64(s.Limit)/10*8 {
		problems = append(problems, fmt.Sprintf("%d of %d bytes are used", s.Bytes, s.Limit))
	}
	s.Problem = strings.Join(problems, "; ")
	return s
}

// A Usage is how much one host has stored.
type Usage struct {
	Host       string `json:"host"`
	Statements int    `json:"statements"` // exports and accepted
	Chunks     int    `json:"chunks"`     // of objects, of half a megabyte at most
}

// ReadUsage counts what each host has stored, most first.
func ReadUsage(ctx context.Context, nc *client.Conn) ([]Usage, error) {
	hosts := make(map[string]Usage)
	count := func(stream string, add func(*Usage)) error {
		return subjects(ctx, nc, stream, jetstream.Root+".>", func(subject string) {
			if parts := strings.Split(strings.TrimPrefix(subject, jetstream.Root+"."), "."); len(parts) > 1 {
				u := hosts[parts[1]]
				u.Host = strings.ReplaceAll(parts[1], "=", ".")
				add(&u)
				hosts[parts[1]] = u
			}
		})
	}
	if err := count(jetstream.StatementsStream, func(u *Usage) { u.Statements++ }); err != nil {
		return nil, err
	}
	if err := count(jetstream.ObjectsStream, func(u *Usage) { u.Chunks++ }); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(hosts), func(a, b Usage) int {
		return cmp.Or(cmp.Compare(b.Chunks, a.Chunks), cmp.Compare(b.Statements, a.Statements), cmp.Compare(a.Host, b.Host))
	}), nil
}

// Forget empties the statements of a host that was removed, so that it is not found any more. Its objects expire.
func Forget(ctx context.Context, nc *client.Conn, host string) error {
	api, err := js.New(nc)
	if err != nil {
		return err
	}
	for _, stream := range []string{jetstream.BeatsStream, jetstream.StatementsStream, jetstream.ToldStream} {
		filter := jetstream.Root + ".*." + jetstream.Token(host) + ".*"
		if stream == jetstream.BeatsStream {
			filter = jetstream.Root + ".*." + jetstream.Token(host)
		}
		var all []string
		if err := subjects(ctx, nc, stream, filter, func(subject string) { all = append(all, subject) }); err != nil {
			return fmt.Errorf("forget %s: %w", host, err)
		}
		for _, subject := range all {
			if _, err := api.Publish(ctx, subject, nil); err != nil {
				return fmt.Errorf("forget %s: %w", host, err)
			}
		}
	}
	return nil
}

func subjects(ctx context.Context, nc *client.Conn, stream, filter string, each func(string)) error {
	api, err := js.New(nc)
	if err != nil {
		return err
	}
	s, err := api.Stream(ctx, stream)
	if err != nil {
		return err
	}
	info, err := s.Info(ctx, js.WithSubjectFilter(filter))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		each(subject)
	}
	return nil
}

// Dial connects to the node of this machine as the operator.
func (h *Home) Dial(name string) (*client.Conn, error) {
	node, err := h.Node(name)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(node.Listen)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	} else if !ip.IsLoopback() {
		host = h.hostOf(name)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, err
	}
	pair, err := nkeys.FromSeed(node.Admin)
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	opts := []client.Option{client.Nkey(public, pair.Sign), client.Name("warden-exchange"), client.MaxReconnects(10), client.ReconnectWait(100 * time.Millisecond), client.Timeout(5 * time.Second)}
	scheme := "nats://"
	if node.TLS != nil {
		scheme = "tls://"
		opts = append(opts, client.RootCAs(node.TLS.CA), client.TLSHandshakeFirst())
	}
	for try := 1; ; try++ {
		nc, err := client.Connect(scheme+net.JoinHostPort(host, port), opts...)
		switch {
		case err == nil:
			return nc, nil
		case try == 5 || errors.Is(err, client.ErrNoServers):
			return nil, fmt.Errorf("the node %s does not answer; is warden exchange serve running? %w", name, err)
		}
		time.Sleep(100 * time.Millisecond) // a node that reloads cuts off who is just coming in
	}
}

func (h *Home) hostOf(name string) string {
	for _, n := range h.plan.Nodes {
		if n.Name == name {
			return n.Host
		}
	}
	return name
}
