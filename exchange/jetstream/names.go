package jetstream

import (
	"strings"

	"gatehouse/exchange"
)

// The streams. Each holds the last message of each subject and nothing older.
const (
	BeatsStream      = "GATEHOUSE_BEATS"
	StatementsStream = "GATEHOUSE_STATEMENTS" // exports and accepted
	ToldStream       = "GATEHOUSE_TOLD"
	ObjectsStream    = "GATEHOUSE_OBJECTS"
	ClaimsStream     = "GATEHOUSE_CLAIMS"
)

// Streams are all streams.
func Streams() []string {
	return []string{BeatsStream, StatementsStream, ToldStream, ObjectsStream, ClaimsStream}
}

// Root begins the subject of everything that is stored.
//
// It lies below $JS. for one reason: a server refuses a message of a client whose reply subject begins so. Elsewhere, a
// host could publish to a subject of its own, name a subject of another host as the one for the reply, and the server
// would store its acknowledgement, or any message that the host asked it for, in that other host's name. Below $JS., a
// stream may only have subjects of $JS.EVENT.
const Root = "$JS.EVENT.GATEHOUSE"

// Claims is the kind of the subjects of claims, which are no keys: ROOT.claims.ID.HOST.
const Claims = "claims"

// ChunkSize is how many bytes of an object go into one message: an object is ROOT.objects.HOST.SHA256.NUMBER.
const ChunkSize = 512 << 10

// StreamOf is the stream of a kind.
func StreamOf(kind exchange.Kind) string {
	switch kind {
	case exchange.Beats:
		return BeatsStream
	case exchange.Told:
		return ToldStream
	case exchange.Objects:
		return ObjectsStream
	default:
		return StatementsStream
	}
}

// Token writes a name of a key as one token of a subject. No name has the byte that stands for a dot.
func Token(name string) string { return strings.ReplaceAll(name, ".", "=") }

func fromToken(token string) string { return strings.ReplaceAll(token, "=", ".") }

// Subject is where the statement of key is.
func Subject(key exchange.Key) string {
	subject := Root + "." + string(key.Kind) + "." + Token(key.Host)
	if key.Rest != "" {
		subject += "." + Token(key.Rest)
	}
	return subject
}

// Under matches the subjects of all keys at and below key.
func Under(key exchange.Key) string {
	host, rest := "*", "*"
	if key.Host != "" {
		host = Token(key.Host)
	}
	if key.Rest != "" {
		rest = Token(key.Rest)
	}
	subject := Root + "." + string(key.Kind) + "." + host
	if key.Kind != exchange.Beats {
		subject += "." + rest
	}
	return subject
}

// parse returns the key of a subject, or false if it is none: a host may write to any name below its own.
func parse(subject string) (exchange.Key, bool) {
	rest, ok := strings.CutPrefix(subject, Root+".")
	if !ok || strings.ContainsRune(rest, '/') {
		return exchange.Key{}, false
	}
	key, err := exchange.ParseKey(fromToken(strings.ReplaceAll(rest, ".", "/")))
	return key, err == nil && Subject(key) == subject
}

// Inbox begins the subjects on which a host gets answers, and nobody else.
func Inbox(host string) string { return "_INBOX." + Token(host) }
