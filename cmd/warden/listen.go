package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gatehouse/page"
)

// What a listener allows, so that whoever connects can neither load the host nor hold a pass up.
const (
	maxConnections = 64
	maxHeaderBytes = 8 << 10
	headerWithin   = 5 * time.Second
	answerWithin   = 30 * time.Second
	idleFor        = 30 * time.Second
	lastAnswers    = time.Second
)

type listenOptions struct {
	address  string
	anywhere bool
	names    []string
}

// listen serves the page and the metrics until ctx is done; the function that it returns then waits, briefly, for
// answers that are on their way. What goes wrong later is said and ends nothing: passes are what this host needs.
func (g *globals) listen(ctx context.Context, opts listenOptions, host string) (end func(), err error) {
	listener, err := opts.open(ctx, g.streams.Getenv)
	if err != nil {
		return nil, err
	}
	_, unix := listener.Addr().(*net.UnixAddr)
	pages := &pages{
		look:  g.lookForPage,
		now:   time.Now,
		said:  g.streams.Err,
		names: append([]string{"localhost", host}, opts.names...),
		// No browser can be led to a Unix socket; a proxy before it passes on the names that it has itself.
		anyName: unix,
	}
	web := &http.Server{
		Handler:           pages,
		ReadHeaderTimeout: headerWithin,
		ReadTimeout:       headerWithin,
		WriteTimeout:      answerWithin,
		IdleTimeout:       idleFor,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(g.streams.Err, "warden: page: ", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		// OPTIONS * is a request like any other.
		DisableGeneralOptionsHandler: true,
	}
	where := "http://" + listener.Addr().String() + "/"
	if unix {
		where = listener.Addr().String()
	}
	fmt.Fprintf(g.streams.Err, "warden: the status page is at %s\n", where)
	if !onlyThisHost(listener.Addr()) {
		fmt.Fprintf(g.streams.Err, "warden: other machines can reach it, and it asks nobody who they are; keep it behind a proxy or a firewall that does\n")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := web.Serve(limited(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(g.streams.Err, "warden: the status page is gone: %v\n", err)
		}
	}()
	return func() {
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		if web.Shutdown(brief) != nil {
			web.Close()
		}
		<-ended
	}, nil
}

// bySystemd is the address of the socket that systemd hands over.
const bySystemd = "systemd"

// open opens the socket, or takes the one of systemd, and refuses one that other machines reach unless that was asked for.
func (o listenOptions) open(ctx context.Context, getenv func(string) string) (net.Listener, error) {
	if o.address == bySystemd {
		listener, err := inherited(getenv)
		if err == nil && !o.anywhere && !onlyThisHost(listener.Addr()) {
			err = errors.Join(reachable(listener.Addr().String()), listener.Close())
		}
		return listener, err
	}
	host, port, err := net.SplitHostPort(o.address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: write ADDRESS:PORT, for instance 127.0.0.1:9477", o.address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("--listen %q: the port is a number from 0 to 65535", o.address)
	}
	// Names are not taken: what they stand for is not ours to say.
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: %q is no address; write 127.0.0.1:%s, or [::1]:%s", o.address, host, port, port)
	}
	if !ip.IsLoopback() && !o.anywhere {
		return nil, reachable(o.address)
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(ip.String(), port))
}

func reachable(address string) error {
	return fmt.Errorf("--listen %q can be reached from other machines, and the page asks nobody who they are: it shows policies, what "+
		"changed in them and what people decided to whoever asks; listen at 127.0.0.1 and put a proxy that asks before it, "+
		"or say --listen-anywhere", address)
}

func onlyThisHost(addr net.Addr) bool {
	switch a := addr.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}

// inherited takes the one socket that systemd opened for this process, which may have no network itself.
func inherited(getenv func(string) string) (net.Listener, error) {
	const first = 3 // descriptor of what systemd hands over
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || getenv("LISTEN_FDS") != "1" {
		return nil, errors.New("--listen systemd is for a service with a socket unit: systemd hands it one socket to listen on")
	}
	syscall.CloseOnExec(first)
	f := os.NewFile(first, "socket of systemd")
	defer f.Close()
	listener, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take the socket from systemd: %w", err)
	}
	if unix, ok := listener.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // it stays, for the next start
	}
	return listener, nil
}

// pages answers requests. Whatever is asked and however often, the state is read at most once in freshFor, by one
// goroutine for no more than a tenth of the time, and no request waits longer than waitFor.
type pages struct {
	look    func() *page.Site
	now     func() time.Time
	said    io.Writer
	names   []string // by which this server may be called, beside addresses
	anyName bool

	mutex    sync.Mutex
	last     *made
	building chan struct{} // closed when the one that is being made is there
}

const (
	freshFor   = 5 * time.Second
	waitFor    = 5 * time.Second
	busyAtMost = 10 // a tenth
	// From then on what was to be made anew is shown no more: that nothing new can be read is what has to be seen.
	staleAfter = time.Minute

	refreshEvery = time.Minute // for those who ask for it
)

// made is all that can be asked for, as of one time.
type made struct {
	at                       time.Time
	fresh                    time.Duration
	still, refresh, measured []byte
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	refuse := func(status int, text string) {
		h.Set("Connection", "close")
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		io.WriteString(w, "gatehouse: "+text+"\n")
	}
	if !p.anyName && !called(r.Host, p.names) {
		// A page of another site whose name was made to lead here.
		refuse(http.StatusMisdirectedRequest, fmt.Sprintf("this server is not %q; start it with --listen-name if it is", r.Host))
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		refuse(http.StatusMethodNotAllowed, "this page only shows")
		return
	}
	if r.ContentLength != 0 {
		refuse(http.StatusBadRequest, "nothing may be sent along")
		return
	}
	if !slices.Contains([]string{"/", "/metrics", "/healthz"}, r.URL.Path) {
		refuse(http.StatusNotFound, "there is / and /metrics")
		return
	}
	m, err := p.get(r.Context())
	if err != nil {
		h.Set("Retry-After", "10")
		refuse(http.StatusServiceUnavailable, err.Error())
		return
	}
	var body []byte
	switch r.URL.Path {
	case "/":
		h.Set("Content-Security-Policy", page.Policy())
		h.Set("Content-Type", "text/html; charset=utf-8")
		body = m.still
		if r.URL.RawQuery == fmt.Sprintf("refresh=%d", int(refreshEvery.Seconds())) {
			body = m.refresh
		}
	case "/metrics":
		h.Set("Content-Type", page.MetricsType)
		body = m.measured
	case "/healthz":
		h.Set("Content-Type", "text/plain; charset=utf-8")
		body = []byte("ok\n")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		w.Write(body)
	}
}

// called reports whether a request was meant for this server. An address says so itself: no name can have been made to
// lead here. The port may be that of a tunnel.
func called(host string, names []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && strings.EqualFold(n, strings.TrimSuffix(name, ".")) })
}

var errNotRead = errors.New("what the page shows cannot be read in time")

// get returns what was made last, or waits for something newer.
func (p *pages) get(ctx context.Context) (*made, error) {
	p.mutex.Lock()
	if p.last != nil && p.now().Sub(p.last.at).Abs() < p.last.fresh {
		defer p.mutex.Unlock()
		return p.last, nil
	}
	if p.building == nil {
		p.building = make(chan struct{})
		go p.make(p.building)
	}
	building := p.building
	p.mutex.Unlock()
	select {
	case <-building:
	case <-ctx.Done():
	case <-time.After(waitFor):
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.last == nil || p.now().Sub(p.last.at).Abs() > p.last.fresh+staleAfter {
		return nil, errNotRead
	}
	return p.last, nil
}

// make makes all pages anew. A read that hangs holds up no more than this one goroutine.
func (p *pages) make(done chan struct{}) {
	var m *made
	defer func() {
		if r := recover(); r != nil { // nothing about a page may end the passes
			fmt.Fprintf(p.said, "warden: page: internal error: %v\n", r)
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if m != nil {
			p.last = m
		}
		p.building = nil
		close(done)
	}()
	start := p.now()
	site := p.look()
	site.Served = true
	now := made{at: start, still: page.HTML(site), measured: page.Metrics(site)}
	site.Refresh = refreshEvery
	now.refresh = page.HTML(site)
	now.fresh = max(freshFor, busyAtMost*p.now().Sub(start))
	m = &now
}

// limited is a listener with at most n connections at a time; further ones wait to be accepted.
func limited(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	slots  chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
