package peer

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"testing"
)

// A key that holds a place, or that somebody slips in, lets nobody speak for a host without a private key.
func TestAKeyForWhichAnybodySignsIsRefused(t *testing.T) {
	forged := 0
	for _, point := range []string{
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"0100000000000000000000000000000000000000000000000000000000000080",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		key, err := hex.DecodeString(point)
		if err != nil {
			t.Fatal(err)
		}
		nothing := make([]byte, ed25519.SignatureSize) // R is the neutral point, S is zero
		nothing[0] = 1
		for i := range 64 {
			if ed25519.Verify(key, fmt.Appendf(nil, "anything %d", i), nothing) {
				forged++
				break
			}
		}
		if _, err := ParseKey(FormatKey(key)); err == nil {
			t.Errorf("%s is taken", point)
		}
	}
	if forged < 5 {
		t.Errorf("only %d of them can be forged for; what is refused is not what it should be", forged)
	}
	if _, err := ParseKey(FormatKey(publicOf(keyOf("a")))); err != nil {
		t.Error(err)
	}
}
