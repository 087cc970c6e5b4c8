package glyph

import "testing"

func TestWhatShows(t *testing.T) {
	for _, r := range "aß中é ~🔒\u0301" {
		if !Shows(r) {
			t.Errorf("%q is taken for something that shows nothing", r)
		}
	}
	for _, r := range []rune{'\n', '\x1b', '\x7f', '\u00a0', '\u00ad', '\u034f', '\u115f', '\u17b4', '\u180b', '\u200b', '\u200d', '\u202e', '\u2066',
		'\u2800', '\u3164', '\ufe0f', '\uffa0', '\ufffd', '\U000e0041', '\U000e0100'} {
		if Shows(r) {
			t.Errorf("%q is taken for something that shows", r)
		}
	}
}
