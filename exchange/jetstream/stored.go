package jetstream

import (
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What the server writes into the headers of a message that it hands out, after those that the writer of it chose.
const (
	streamHeader  = jetstream.StreamHeader
	pendingHeader = "Nats-Num-Pending"
	beforeHeader  = "Nats-Last-Sequence"
)

// stored reads a message of a stream, and which one came before it in a batch.
//
// A host that puts headers of its own on its message could have them say what the server's should: that it is another
// host's, that it is none, that it is the last. It can even end the headers early, so that the server's are not seen.
// So a message is taken only if it has no header but the server's own, each once, and that of a chunk, and if these are
// all the bytes there are. What else there is, is for the leader to say.
func stored(msg *nats.Msg) (m message, before uint64, ok bool) {
	length := len("NATS/1.0\r\n") + len("\r\n")
	for key, values := range msg.Header {
		if len(values) != 1 || !slices.Contains(plainHeaders(), key) {
			return message{}, 0, false
		}
		length += len(key) + len(": ") + len(values[0]) + len("\r\n")
	}
	if length != msg.Size()-len(msg.Subject)-len(msg.Reply)-len(msg.Data) {
		return message{}, 0, false
	}
	seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 63)
	if err != nil {
		return message{}, 0, false
	}
	at, err := time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return message{}, 0, false
	}
	if text := msg.Header.Get(beforeHeader); text != "" { // in a batch
		if before, err = strconv.ParseUint(text, 10, 63); err != nil {
			return message{}, 0, false
		}
	}
	return message{msg.Header.Get(jetstream.SubjectHeader), seq, at, msg.Data, msg.Header.Get(sizeHeader)}, before, true
}

func plainHeaders() []string {
	return []string{streamHeader, jetstream.SubjectHeader, jetstream.SequenceHeader, jetstream.TimeStampHeaer, pendingHeader, beforeHeader, sizeHeader}
}
