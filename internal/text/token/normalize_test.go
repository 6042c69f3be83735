package token

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// randomText draws n characters, many of them marks and Hangul, all of them
// known to Unicode 9.
func randomText(r *rand.Rand, n int) string {
	pools := [][2]rune{{'a', 'z'}, {0xc0, 0x17f}, {0x300, 0x36f}, {0x900, 0x97f}, {0x1100, 0x11ff}, {0xac00, 0xac80}, {0x1e00, 0x1fff}, {0x2100, 0x218f}, {0xfb00, 0xfb4f}, {0x1d150, 0x1d170}}
	var out []rune
	for len(out) < n {
		p := pools[r.IntN(len(pools))]
		if c := p[0] + r.Int32N(p[1]-p[0]+1); inRanges(assigned9Ranges[:], c) {
			out = append(out, c)
		}
	}
	return string(out)
}

// TestUnicodeForms compares the four forms with package norm, and the origins
// with and without the short cut for text that is normal already.
func TestUnicodeForms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		s := randomText(r, 1+r.IntN(12))
		for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			f := unicodeForm{form}
			p := newPiece(s, true)
			q := f.Normalize(p)
			if want := form.String(s); q.S != want || len(q.At) != len(want) {
				t.Fatalf("%v of %+q: got %+q with %d origins, want %+q", f, s, q.S, len(q.At), want)
			}
			if bare := f.Normalize(newPiece(s, false)); bare.S != q.S {
				t.Fatalf("%v of %+q without origins: %+q", f, s, bare.S)
			}
			// Normalized text keeps its offsets.
			again := newPiece(q.S, true)
			cs := f.decompose(q.S)
			if form == norm.NFC || form == norm.NFKC {
				cs = recompose(cs)
			}
			w := rewrite(again)
			for _, c := range cs {
				w.put(c.r, c.n)
			}
			if got := w.piece(); got.S != again.S || !slices.Equal(got.At, again.At) {
				t.Fatalf("%v of %+q: the long way moves %v to %v", f, q.S, again.At, got.At)
			}
		}
	}
}

// TestNormalizers checks each by a few words: result and where it came from.
func TestNormalizers(t *testing.T) {
	for _, c := range []struct {
		name string
		n    normalizer
		in   string
		want string
	}{
		{"lower", lowercase{}, "ÀİΣẞ\U00010d50\u1c89", "ài̇σß\U00010d70\u1c8a"},
		{"strip", strip{true, true}, "\u3000 a b\n", "a b"},
		{"strip left", strip{Left: true}, "  a ", "a "},
		{"strip all", strip{true, true}, " \t ", ""},
		{"accents", normalizers{unicodeForm{norm.NFD}, stripAccents{}}, "éà", "ea"},
		{"nmt", nmt{}, "a\u200bb\x01c\tﬁ", "a bc ﬁ"},
		{"prepend", prefixText{"▁"}, "x", "▁x"},
		{"prepend nothing", prefixText{"▁"}, "", ""},
		{"replace", replacement{Name: "ab", Match: literal("ab"), Content: "ß"}, "cabab", "cßß"},
		{"bytes", byteText{}, "é ", "Ã©Ġ"},
		{"bert", bertText{true, true, true, true}, "É漢\x00\u200d\ue123\t!", "e 漢  !"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bare, tracked := c.n.Normalize(newPiece(c.in, false)), c.n.Normalize(newPiece(c.in, true))
			if bare.S != c.want || tracked.S != c.want {
				t.Errorf("got %+q, and %+q with origins, want %+q", bare.S, tracked.S, c.want)
			}
			if len(tracked.At) != len(tracked.S) {
				t.Errorf("%d origins for %d bytes", len(tracked.At), len(tracked.S))
			}
			for _, o := range tracked.At {
				if o.A < 0 || o.A > o.B || int(o.B) > len(c.in) {
					t.Errorf("origin %v outside the text", o)
				}
			}
		})
	}
}

// TestUnicode16 spot-checks the class table where Go's own is older.
func TestUnicode16(t *testing.T) {
	for r, want := range map[rune]class{
		'a': classLl | classWord, 'Z': classLu | classWord, '_': classP | classWord, '$': classS, '5': classN | classWord,
		0x85: classSpace, 0x200b: 0, 0x180e: 0, 0x1c: 0, '漢': classLo | classWord, 'ǅ': classLt | classWord, 'ʰ': classLm | classWord,
		0x301: classM | classWord, 0x10d50: classLu | classWord, 0x10d40: classN | classWord, 0x897: classM | classWord,
		0x2ebf0: classLo | classWord, '½': classN, 'Ⅷ': classN | classWord, 'Ⓐ': classS | classWord, 0x10ffff: 0, 0x200d: classWord,
	} {
		if got := classOf(r); got != want {
			t.Errorf("%U: got %011b, want %011b", r, got, want)
		}
	}
}
