package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/internal/cli"
)

// endpoint is the one path that is served.
const endpoint = "/mcp"

// sessionless is the first version of the protocol without sessions. Versions are dates, and compare as texts.
const sessionless = "2026-07-28"

// What a request may take.
const (
	maxBody     = 4 << 20
	maxHeader   = 64 << 10
	headerTime  = 10 * time.Second
	sessionIdle = time.Hour
)

// serveHTTP serves clients at a loopback address until ctx is done.
func serveHTTP(ctx context.Context, s *server, address, tokenFile string, streams cli.Streams) error {
	at, err := loopback(address)
	if err != nil {
		return err
	}
	secret, made, err := token(tokenFile)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
	if err != nil {
		return err
	}
	at = listener.Addr().(*net.TCPAddr).AddrPort()
	fmt.Fprintf(streams.Out, "url: http://%s%s\n", at, endpoint)
	if made {
		fmt.Fprintf(streams.Out, "token: %s\n", secret)
	}
	web := &http.Server{
		Handler:           guard{at: at, secret: secret, next: s.streamable()}.handler(),
		ReadHeaderTimeout: headerTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelError),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.calls.end()
	s.calls.wait(lastWords)
	// Answers are on their way; streams that clients hold open are waited for no longer.
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if web.Shutdown(brief) != nil {
		web.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// loopback reads an address to listen at. Names are not taken: what they stand for is not ours to say.
func loopback(address string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--listen %q: write ADDRESS:PORT, for instance 127.0.0.1:8765", address)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--listen %q: the port is a number from 0 to 65535", address)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() || ip.Is4In6() || ip.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("--listen %q is not a loopback address; write 127.0.0.1:%s or [::1]:%s. "+
			"Who is on another machine comes through a tunnel: ssh -L", address, port, port)
	}
	return netip.AddrPortFrom(ip, uint16(number)), nil
}

// streamable serves both eras of the protocol. Before 2026-07-28 a client has a session, and cancels a call by a message of
// its own; from then on each request stands alone, and a client cancels by going away.
func (s *server) streamable() http.Handler {
	p := s.protocol()
	get := func(*http.Request) *mcp.Server { return p }
	single := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, Logger: s.log,
	})
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxBody, Logger: s.log,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
			if fault := unanswerable(body); err == nil && fault != nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				w.Write(refusalOf(body, fault))
				return
			}
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		}
		if r.Header.Get("Mcp-Protocol-Version") >= sessionless {
			single.ServeHTTP(w, r)
			return
		}
		if id := r.Header.Get("Mcp-Session-Id"); r.Method == http.MethodDelete && id != "" {
			s.calls.cancel(id)
		}
		sessions.ServeHTTP(w, r)
	})
}

// A guard lets through only requests that are meant for this server and made by who knows its secret.
type guard struct {
	at     netip.AddrPort
	secret string
	next   http.Handler
}

func (g guard) handler() http.Handler {
	port := strconv.Itoa(int(g.at.Port()))
	hosts := []string{g.at.String(), "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port}
	if port == "80" { // which clients leave out
		hosts = append(hosts, g.at.Addr().String(), "localhost", "127.0.0.1", "[::1]")
	}
	ours := func(origin string) bool {
		return slices.ContainsFunc(hosts, func(host string) bool { return origin == "http://"+host })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(status int, text string) { http.Error(w, "gatehouse: "+text, status) }
		origins := r.Header.Values("Origin")
		switch {
		case !slices.Contains(hosts, r.Host):
			// A page of another site whose name was made to lead here.
			refuse(http.StatusForbidden, fmt.Sprintf("this server is not %q", r.Host))
		case len(origins) > 1, len(origins) == 1 && !ours(origins[0]):
			refuse(http.StatusForbidden, "pages of other sites may not call this server")
		case !authorized(r, g.secret):
			w.Header().Set("WWW-Authenticate", `Bearer realm="gatehouse"`)
			refuse(http.StatusUnauthorized, "send the token of this server: Authorization: Bearer TOKEN")
		case r.URL.Path != endpoint:
			refuse(http.StatusNotFound, "the endpoint is "+endpoint)
		default:
			g.next.ServeHTTP(w, r)
		}
	})
}
