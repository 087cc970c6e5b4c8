package gate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
)

// Subject names what is asked under a policy: the same line in the same directory under the same policy has the same
// subject, and nothing else has. A grant is for one subject. It is a SHA-256 in lower-case hexadecimals, over texts with
// their length (64 bits, big-endian) before each: "gatehouse/subject/v1", the kind (line, argv or tool), the line, or each
// word, or name and arguments of the tool as JSON with sorted keys, then the directory and the digest of the policy.
func Subject(r Request, tree string) string {
	s := sums{make([]byte, 0, 512)}
	s.add("gatehouse/subject/v1")
	switch {
	case r.Tool != nil:
		args, err := json.Marshal(r.Tool.Args)
		if err != nil {
			return "" // what JSON did not bring cannot be granted
		}
		s.add("tool", r.Tool.Name, string(args))
	case r.Argv != nil:
		s.add("argv")
		s.add(r.Argv...)
	default:
		s.add("line", r.Line)
	}
	s.add(r.Cwd, tree)
	return s.digest()
}

// sums are texts to be hashed so that where one ends and the next begins is a part of the digest.
type sums struct{ text []byte }

func (s *sums) add(texts ...string) {
	for _, t := range texts {
		s.text = binary.BigEndian.AppendUint64(s.text, uint64(len(t)))
		s.text = append(s.text, t...)
	}
}

func (s *sums) digest() string {
	sum := sha256.Sum256(s.text)
	return hex.EncodeToString(sum[:])
}
