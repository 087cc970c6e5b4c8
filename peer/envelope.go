package peer

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"gatehouse/exchange"
)

// MaxPayload is what a statement may hold, so that it fits into an exchange with its first line.
const MaxPayload = exchange.MaxStatement - maxFirstLine

const (
	envelopeMagic = "gatehouse/signed/v1"
	maxFirstLine  = 256
)

// ErrSignature means that a statement is not one that the holder of the key made for this purpose.
var ErrSignature = errors.New("the signature does not fit")

// Seal signs payload with the key of a host. The domain says what kind of statement it is, such as
// "gatehouse/export/v1": a signature of one kind is none of another. The result is one line, with the domain, the id of
// the key and the signature, and then the payload as it is.
func Seal(key ed25519.PrivateKey, domain string, payload []byte) ([]byte, error) {
	if err := checkDomain(domain); err != nil {
		return nil, err
	}
	if len(key) != ed25519.PrivateKeySize {
		return nil, errors.New("sign: there is no private key")
	}
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("sign: a statement has %d bytes; %d is the most", len(payload), MaxPayload)
	}
	signature := ed25519.Sign(key, signed(domain, payload))
	public := key.Public().(ed25519.PublicKey)
	head := fmt.Sprintf("%s %s %s %s\n", envelopeMagic, domain, KeyID(public), base64.StdEncoding.EncodeToString(signature))
	return append([]byte(head), payload...), nil
}

// Open returns the payload of what Seal made with this key for this domain. Every other input, by one byte, is refused.
func Open(envelope []byte, domain string, key ed25519.PublicKey) ([]byte, error) {
	if err := checkDomain(domain); err != nil {
		return nil, err
	}
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w: there is no key to hold it against", ErrSignature)
	}
	if len(envelope) > exchange.MaxStatement {
		return nil, fmt.Errorf("%w: a statement has at most %d bytes", ErrSignature, exchange.MaxStatement)
	}
	at := bytes.IndexByte(envelope[:min(len(envelope), maxFirstLine)], '\n')
	if at < 0 {
		return nil, fmt.Errorf("%w: it is no signed statement", ErrSignature)
	}
	words := strings.Split(string(envelope[:at]), " ")
	payload := envelope[at+1:]
	switch {
	case len(words) != 4 || words[0] != envelopeMagic:
		return nil, fmt.Errorf("%w: it is no signed statement", ErrSignature)
	case words[1] != domain:
		return nil, fmt.Errorf("%w: it is a statement of another kind, %.64q", ErrSignature, words[1])
	case words[2] != KeyID(key):
		return nil, fmt.Errorf("%w: it is signed with the key %.16q, and the key of this host is %s", ErrSignature, words[2], KeyID(key))
	}
	signature, ok := decodeBase64(words[3])
	if !ok || !ed25519.Verify(key, signed(domain, payload), signature) {
		return nil, fmt.Errorf("%w: it was changed, or made without the key", ErrSignature)
	}
	return payload, nil
}

// signed is what a signature covers. The length before the domain keeps it from running into the payload.
func signed(domain string, payload []byte) []byte {
	text := append([]byte(envelopeMagic), 0)
	text = binary.AppendUvarint(text, uint64(len(domain)))
	text = append(text, domain...)
	return append(text, payload...)
}

func checkDomain(domain string) error {
	if domain == "" || len(domain) > 64 || strings.Trim(domain, "abcdefghijklmnopqrstuvwxyz0123456789-/") != "" {
		return fmt.Errorf("%q is no kind of statement", domain)
	}
	return nil
}
