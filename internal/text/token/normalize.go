package token

// Normalizers rewrite text before it is split. Each behaves exactly like the
// component of the same name in tokenizer.json.

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A normalizer rewrites a piece.
type normalizer interface {
	Normalize(p Piece) Piece
}

type (
	// unicodeForm is NFC, NFD, NFKC or NFKD.
	unicodeForm struct{ Form norm.Form }

	// lowercase maps each character in isolation: no final sigma.
	lowercase struct{}

	// prefixText is "Prepend".
	prefixText struct{ Text string }

	// replacement is "Replace": every match becomes content.
	replacement struct {
		Name    string // the pattern as spelled in the file
		Match   matcher
		All     segmenter // finds all matches at once; nil: Match does, one by one
		Least   int       // bytes of a match; 0 = 1
		Content string
	}

	// strip is "Strip": it removes white space at the ends.
	strip struct{ Left, Right bool }

	// stripAccents drops the combining marks of Unicode 9.
	stripAccents struct{}

	// nmt is the clean-up of Google's neural machine translation.
	nmt struct{}

	// bertText is "BertNormalizer": remove control characters, put spaces around
	// Chinese characters, strip accents, lower case.
	bertText struct{ Clean, Chinese, Accents, Lower bool }

	// byteText is "ByteLevel" as a normalizer: bytes become characters.
	byteText struct{}

	// normalizers is "Sequence".
	normalizers []normalizer
)

// Normalize implements [normalizer].
func (ns normalizers) Normalize(p Piece) Piece {
	for _, n := range ns {
		p = n.Normalize(p)
	}
	return p
}

// Normalize implements [normalizer].
func (n prefixText) Normalize(p Piece) Piece {
	if p.S == "" {
		return p
	}
	return p.prepend(n.Text)
}

// Normalize implements [normalizer].
func (n replacement) Normalize(p Piece) Piece {
	if p.At == nil && utf8.RuneCountInString(n.Name) == 1 {
		p.S = strings.ReplaceAll(p.S, n.Name, n.Content)
		return p
	}
	w := rewrite(p)
	matches(p.S, n.Match, n.All, func(i, j int, match bool) {
		if match {
			w.insert(n.Content, j-1)
		} else {
			w.copy(i, j)
		}
	})
	return w.piece()
}

// Normalize implements [normalizer].
func (n strip) Normalize(p Piece) Piece {
	i, j := 0, len(p.S)
	if n.Left {
		i = runOf(p.S, 0, classSpace, false)
	}
	for n.Right && j > i {
		r, size := utf8.DecodeLastRuneInString(p.S[:j])
		if !isSpaceRune(r) {
			break
		}
		j -= size
	}
	q := p.Slice(i, j)
	q.start = p.start
	return q
}

// Normalize implements [normalizer].
func (lowercase) Normalize(p Piece) Piece {
	if p.At == nil && isASCII(p.S) {
		p.S = strings.ToLower(p.S)
		return p
	}
	w := rewrite(p)
	for _, r := range p.S {
		first, second := lowerRune(r)
		w.put(first, 0)
		if second != 0 {
			w.put(second, 1)
		}
	}
	return w.piece()
}

// keep drops the characters for which ok is false.
func keep(p Piece, ok func(rune) bool) Piece {
	if strings.IndexFunc(p.S, func(r rune) bool { return !ok(r) }) < 0 {
		return p
	}
	w := rewrite(p)
	last, any, removed := rune(0), false, 0
	for _, r := range p.S {
		if !ok(r) {
			removed++
			continue
		}
		if any {
			w.put(last, -removed)
		} else {
			w.skip(removed)
		}
		last, any, removed = r, true, 0
	}
	if any {
		w.put(last, -removed)
	}
	return w.piece()
}

// each maps every character to one character.
func each(p Piece, f func(rune) rune) Piece {
	w := rewrite(p)
	for _, r := range p.S {
		w.put(f(r), 0)
	}
	return w.piece()
}

// Normalize implements [normalizer].
func (stripAccents) Normalize(p Piece) Piece {
	return keep(p, func(r rune) bool { return classOf(r)&classM == 0 || !inRanges(assigned9Ranges[:], r) })
}

// Normalize implements [normalizer].
func (nmt) Normalize(p Piece) Piece {
	p = keep(p, func(r rune) bool {
		return !(r >= 1 && r <= 8 || r == 0x0b || r >= 0x0e && r <= 0x1f || r == 0x7f || r == 0x8f || r == 0x9f)
	})
	return each(p, func(r rune) rune {
		switch {
		case r == 9, r == 10, r == 12, r == 13, r == 0x1680, r >= 0x200b && r <= 0x200f,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xfeff, r == 0xfffd:
			return ' '
		}
		return r
	})
}

// Normalize implements [normalizer].
func (n bertText) Normalize(p Piece) Piece {
	if n.Clean {
		p = keep(p, func(r rune) bool { return r != 0 && r != 0xfffd && !isBertControl(r) })
		p = each(p, func(r rune) rune {
			if isSpaceRune(r) {
				return ' '
			}
			return r
		})
	}
	if n.Chinese && strings.IndexFunc(p.S, isChinese) >= 0 {
		w := rewrite(p)
		for _, r := range p.S {
			if isChinese(r) {
				w.put(' ', 0)
				w.put(r, 1)
				w.put(' ', 1)
			} else {
				w.put(r, 0)
			}
		}
		p = w.piece()
	}
	if n.Accents {
		p = unicodeForm{norm.NFD}.Normalize(p)
		p = keep(p, func(r rune) bool { return !inRanges(mn8Ranges[:], r) })
	}
	if n.Lower {
		p = lowercase{}.Normalize(p)
	}
	return p
}

// isChinese follows BERT: blocks of unified ideographs. The gap between U+2B820
// and U+2B91F is the reference's.
func isChinese(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf ||
		r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2b73f ||
		r >= 0x2b740 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf ||
		r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}

// Normalize implements [normalizer].
func (byteText) Normalize(p Piece) Piece {
	w := rewrite(p)
	for i, n := 0, 0; i < len(p.S); i += n {
		_, n = decodeRune(p.S[i:])
		for k := range n {
			w.put(byteChar[p.S[i+k]], min(k, 1))
		}
	}
	return w.piece()
}

// isASCII reports whether s has no byte above 127.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// A change is a character of rewritten text with its relation to the old one
// (see rewriter.put).
type change struct {
	r   rune
	n   int
	ccc uint8 // canonical combining class, while sorting
}

// Normalize follows UAX 15. Text that is already normalized is unchanged; other
// text is decomposed, sorted and, for the composed forms, recomposed here rather
// than by the standard package, because origins must be tracked and because the
// reference library implements Unicode 9: newer characters neither decompose nor
// combine.
func (f unicodeForm) Normalize(p Piece) Piece {
	if isASCII(p.S) || f.Form.IsNormalString(p.S) {
		return p
	}
	cs := f.decompose(p.S)
	if f.Form == norm.NFC || f.Form == norm.NFKC {
		cs = recompose(cs)
	}
	w := rewrite(p)
	for _, c := range cs {
		w.put(c.r, c.n)
	}
	return w.piece()
}

// decompose returns the fully decomposed characters of s in canonical order.
func (f unicodeForm) decompose(s string) []change {
	form := norm.NFD
	if f.Form == norm.NFKC || f.Form == norm.NFKD {
		form = norm.NFKD
	}
	out, sorted := make([]change, 0, len(s)), 0
	push := func(r rune, n int) {
		ccc := uint8(0)
		if r >= 0x300 && inRanges(assigned9Ranges[:], r) {
			ccc = norm.NFD.PropertiesString(string(r)).CCC()
		}
		if ccc == 0 {
			sortMarks(out[sorted:])
			sorted = len(out) + 1
		}
		out = append(out, change{r, n, ccc})
	}
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			push(r, 0)
		case r >= hangulBase && r < hangulBase+hangulCount:
			i := r - hangulBase
			push(0x1100+i/(21*28), 0)
			push(0x1161+i%(21*28)/28, 1)
			if t := i % 28; t > 0 {
				push(0x11a7+t, 1)
			}
		default:
			parts := []byte(nil)
			if inRanges(assigned9Ranges[:], r) {
				parts = form.PropertiesString(string(r)).Decomposition()
			}
			if parts == nil {
				push(r, 0)
			}
			for i, d := range string(parts) {
				push(d, min(i, 1))
			}
		}
	}
	sortMarks(out[sorted:])
	return out
}

const (
	hangulBase  = 0xac00
	hangulCount = 11172
)

// sortMarks puts a run of marks in canonical order.
func sortMarks(cs []change) {
	slices.SortStableFunc(cs, func(a, b change) int { return int(a.ccc) - int(b.ccc) })
}

// recompose joins starters with the marks and vowels that follow them.
func recompose(cs []change) []change {
	out, starter := cs[:0:0], -1 // starter: index into out
	last := uint8(0)             // class of the last character left between, 0 for none
	for _, c := range cs {
		if starter < 0 {
			if c.ccc == 0 {
				starter = len(out)
			}
			out = append(out, c)
			continue
		}
		if last == 0 || last < c.ccc {
			if r, ok := compose(out[starter].r, c.r); ok {
				out[starter].r = r
				out[starter].n += c.n - 1
				continue
			}
		}
		if c.ccc == 0 {
			starter, last = len(out), 0
		} else {
			last = c.ccc
		}
		out = append(out, c)
	}
	return out
}

// compose returns the primary composite of two characters.
func compose(a, b rune) (rune, bool) {
	if b < 0x300 {
		return 0, false
	}
	s := norm.NFC.String(string([]rune{a, b}))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s) && inRanges(assigned9Ranges[:], r) && inRanges(assigned9Ranges[:], b)
}
