package token

import (
	"strings"
	"testing"
)

func TestLossy(t *testing.T) {
	for in, want := range map[string]string{
		"abc": "abc", "\xff": "\uFFFD", "\xe2\x82": "\uFFFD", "\xe2\x82a": "\uFFFDa", "\xe2\xff": "\uFFFD\uFFFD",
		"\xf0\x9f\x98": "\uFFFD", "\xf0\x8f\x98": "\uFFFD\uFFFD\uFFFD", "\xed\xa0\x80": "\uFFFD\uFFFD\uFFFD",
		"\xf4\x90\x80\x80": "\uFFFD\uFFFD\uFFFD\uFFFD", "\xc0\xaf": "\uFFFD\uFFFD", "é\x80": "é\uFFFD",
	} {
		if got := toValidUTF8([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestGraphemes checks the cases of UAX 29 that the short-cluster rule of the
// precompiled normalizer can meet.
func TestGraphemes(t *testing.T) {
	for _, clusters := range [][]string{
		{"\r\n", "a", "\u0301\u0302"[:0] + "b\u0301", "\n", "c"},
		{"🇩🇪", "🇫🇷", "🇯"},
		{"👩\u200d🚀", "👍🏽", "x"},
		{"각", "가", "ᄀ"},
		{"क्ष", "त्रि"},
		{"\u0600a", "b"},
		{"©\u200d©", "é"},
	} {
		s := strings.Join(clusters, "")
		for i := 0; i < len(s); {
			end := graphemeEnd(s, i)
			if s[i:end] != clusters[0] {
				t.Errorf("%q: got %q, want %q", s, s[i:end], clusters[0])
			}
			i, clusters = end, clusters[1:]
		}
	}
}

// TestEveryBehavior compares the ways to split with what the reference
// documents for "the-final--countdown".
func TestEveryBehavior(t *testing.T) {
	for how, want := range map[behavior]string{
		removed:            "the|final|countdown",
		isolatedMatch:      "the|-|final|-|-|countdown",
		mergedWithPrevious: "the-|final-|-|countdown",
		mergedWithNext:     "the|-final|-|-countdown",
		contiguous:         "the|-|final|--|countdown",
	} {
		var parts []string
		(&splitter{Match: literal("-"), How: how}).Cut(newPiece("the-final--countdown", true), func(p Piece) { parts = append(parts, p.S) })
		if got := strings.Join(parts, "|"); got != want {
			t.Errorf("%s: got %s, want %s", how, got, want)
		}
	}
}
