package server

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
)

// raw sends lines of the protocol as a host, without a library that would mind what they are.
func (f *fleet) raw(t *testing.T, host, lines string) {
	t.Helper()
	conn, err := net.Dial("tcp", f.nodes[0].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(conn)
	line, err := from.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Nonce string `json:"nonce"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info); err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.FromSeed(f.seeds[host])
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	signature, err := pair.Sign([]byte(info.Nonce))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "CONNECT {\"nkey\":%q,\"sig\":%q,\"verbose\":false,\"headers\":true,\"protocol\":1}\r\n%sPING\r\n",
		public, base64.RawURLEncoding.EncodeToString(signature), lines)
	for {
		line, err := from.ReadString('\n')
		switch {
		case err != nil:
			t.Fatal(err)
		case strings.HasPrefix(line, "PONG"):
			return
		case strings.HasPrefix(line, "-ERR"):
			t.Fatal(line)
		}
	}
}
