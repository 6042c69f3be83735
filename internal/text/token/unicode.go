package token

// Character classes. Tokenizers were trained with the tables of their library,
// not Go's: split patterns use Unicode 16, BERT's punctuation Unicode 8,
// canonical composition Unicode 9. zunicode.go holds these sets; this file makes
// lookup tables from them.

import (
	"slices"
	"sync"
	"unicode"
)

//go:generate go run -C ../../../tools ./unicode -o ../internal/text/token/zunicode.go

// A class is a set of character properties.
type class uint16

const (
	classLu class = 1 << iota
	classLl
	classLt
	classLm
	classLo
	classN
	classM
	classP
	classS
	classSpace
	classWord
	classBits = iota

	classL = classLu | classLl | classLt | classLm | classLo
)

// A runTable maps code points to values: pages of 256, equal pages stored once.
type runTable struct {
	index [(unicode.MaxRune + 1) >> 8]uint16
	pages [][256]uint16
}

// newRunTable unpacks runs of start<<bits|value, each extending to the next.
func newRunTable(runs []uint32, bits int) *runTable {
	t, uniform := &runTable{}, map[uint16]uint16{}
	value := func(i int) uint16 { return uint16(runs[i] & (1<<bits - 1)) }
	i := 0
	for page := range t.index {
		first, last := rune(page)<<8, rune(page)<<8|0xff
		for i+1 < len(runs) && rune(runs[i+1]>>bits) <= first {
			i++
		}
		if i+1 == len(runs) || rune(runs[i+1]>>bits) > last {
			v := value(i)
			n, ok := uniform[v]
			if !ok {
				n = t.Add(func(rune) uint16 { return v })
				uniform[v] = n
			}
			t.index[page] = n
			continue
		}
		t.index[page] = t.Add(func(low rune) uint16 {
			for i+1 < len(runs) && rune(runs[i+1]>>bits) <= first|low {
				i++
			}
			return value(i)
		})
	}
	return t
}

func (t *runTable) Add(value func(low rune) uint16) uint16 {
	t.pages = append(t.pages, [256]uint16{})
	p := &t.pages[len(t.pages)-1]
	for low := range p {
		p[low] = value(rune(low))
	}
	return uint16(len(t.pages) - 1)
}

// at returns the value of r, which must be a code point.
func (t *runTable) at(r rune) uint16 { return t.pages[t.index[r>>8]][r&0xff] }

// classes is built at program start: it is read for every character of every
// text, so it must not need a lock.
var (
	classes    = newRunTable(classRuns[:], classBits)
	asciiClass = func() (t [128]class) {
		for c := range t {
			t[c] = class(classes.at(rune(c)))
		}
		return t
	}()
)

// classOf returns the classes of r.
func classOf(r rune) class {
	if r < 128 {
		return asciiClass[r]
	}
	return class(classes.at(r))
}

// isSpaceRune is \s: Unicode white space.
func isSpaceRune(r rune) bool { return classOf(r)&classSpace != 0 }

// isNumeric is \p{N}.
func isNumeric(r rune) bool { return classOf(r)&classN != 0 }

// inRanges reports whether r is in t, a list of first and last code points.
func inRanges(t []rune, r rune) bool {
	i, found := slices.BinarySearch(t, r)
	return found || i%2 == 1
}

// isBertPunctuation follows BERT: ASCII punctuation and symbols, and category P.
func isBertPunctuation(r rune) bool {
	if r < 128 {
		return asciiClass[r]&(classP|classS) != 0
	}
	return inRanges(punct8Ranges[:], r)
}

// isBertControl follows BERT: categories Cc, Cf and Co, except three that count
// as white space.
func isBertControl(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return false
	case r >= 0xe000 && r <= 0xf8ff, r >= 0xf0000 && r <= 0xffffd, r >= 0x100000 && r <= 0x10fffd:
		return true
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0 || inRanges(cf8Ranges[:], r)
}

// lowerRune returns the lower case of r; U+0130 alone has two characters.
func lowerRune(r rune) (first, second rune) {
	switch {
	case r < 128:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r, 0
	case r == 0x130:
		return 'i', 0x307
	case r == 0x1c89:
		return 0x1c8a, 0
	case r == 0xa7cb:
		return 0x264, 0
	case r == 0xa7cc, r == 0xa7da:
		return r + 1, 0
	case r == 0xa7dc:
		return 0x19b, 0
	case r >= 0x10d50 && r <= 0x10d65:
		return r + 0x20, 0
	}
	return unicode.ToLower(r), 0
}

// Grapheme break properties, numbered as by the generator.
const (
	gbOther = iota
	gbCR
	gbLF
	gbControl
	gbExtend
	gbZWJ
	gbRegional
	gbPrepend
	gbSpacing
	gbL
	gbV
	gbT
	gbLV
	gbLVT
	gbPictographic
)

var breaks = sync.OnceValue(func() *runTable { return newRunTable(breakRuns[:], 4) })

// graphemeEnd returns the end of the extended grapheme cluster of s that starts
// at i (UAX 29, rules GB3 to GB13 and GB9c).
func graphemeEnd(s string, i int) int {
	t := breaks()
	r, n := decodeRune(s[i:])
	prev, j := t.at(r), i+n
	regional := prev == gbRegional  // an odd number of them ends here
	pict := prev == gbPictographic  // GB11: a pictograph, then Extend*
	joined := false                 // … then ZWJ
	conjunct := isIndicConsonant(r) // GB9c: a consonant, then marks
	linked := false                 // … with a linker among them
	for j < len(s) {
		r, n := decodeRune(s[j:])
		cur := t.at(r)
		together := false
		switch {
		case prev == gbCR && cur == gbLF:
			together = true
		case prev >= gbCR && prev <= gbControl || cur >= gbCR && cur <= gbControl:
		case prev == gbL && (cur == gbL || cur == gbV || cur == gbLV || cur == gbLVT),
			(prev == gbLV || prev == gbV) && (cur == gbV || cur == gbT),
			(prev == gbLVT || prev == gbT) && cur == gbT,
			cur == gbExtend, cur == gbZWJ, cur == gbSpacing, prev == gbPrepend,
			joined && cur == gbPictographic,
			conjunct && linked && isIndicConsonant(r),
			regional && cur == gbRegional:
			together = true
		}
		if !together {
			return j
		}
		regional = cur == gbRegional && !regional
		joined = pict && cur == gbZWJ
		pict = cur == gbPictographic || pict && cur == gbExtend
		switch {
		case isIndicConsonant(r):
			conjunct, linked = true, false
		case isIndicLinker(r):
			linked = conjunct
		case cur != gbExtend && cur != gbZWJ:
			conjunct = false
		}
		prev, j = cur, j+n
	}
	return j
}

// isIndicConsonant is InCB=Consonant: consonants of the scripts with conjuncts.
func isIndicConsonant(r rune) bool {
	switch {
	case r < 0x915 || r > 0xd3a:
		return false
	case r <= 0x939, r >= 0x958 && r <= 0x95f, r >= 0x978 && r <= 0x97f:
		return true
	}
	for _, p := range [...][2]rune{
		{0x995, 0x9a8}, {0x9aa, 0x9b0}, {0x9b2, 0x9b2}, {0x9b6, 0x9b9}, {0x9dc, 0x9dd}, {0x9df, 0x9df}, {0x9f0, 0x9f1},
		{0xa95, 0xaa8}, {0xaaa, 0xab0}, {0xab2, 0xab3}, {0xab5, 0xab9}, {0xaf9, 0xaf9},
		{0xb15, 0xb28}, {0xb2a, 0xb30}, {0xb32, 0xb33}, {0xb35, 0xb39}, {0xb5c, 0xb5d}, {0xb5f, 0xb5f}, {0xb71, 0xb71},
		{0xc15, 0xc28}, {0xc2a, 0xc39}, {0xc58, 0xc5a},
	} {
		if r >= p[0] && r <= p[1] {
			return true
		}
	}
	return r >= 0xd15 && r <= 0xd3a
}

// isIndicLinker is InCB=Linker: the viramas that join consonants.
func isIndicLinker(r rune) bool {
	switch r {
	case 0x94d, 0x9cd, 0xacd, 0xb4d, 0xc4d, 0xd4d:
		return true
	}
	return false
}
