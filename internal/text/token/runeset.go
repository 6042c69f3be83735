package token

// Sets of characters in regular expressions.

import (
	"strings"
	"sync"
	"unicode"
)

// A runeSet is a set of characters.
type runeSet struct {
	ascii  [128]bool
	test   func(rune) bool
	r      rune // the only member …
	single bool // … if there is only one
}

func newRuneSet(test func(rune) bool) *runeSet {
	s := &runeSet{test: test}
	for r := range s.ascii {
		s.ascii[r] = test(rune(r))
	}
	return s
}

// only is the set of one character.
func only(r rune) *runeSet {
	s := newRuneSet(func(c rune) bool { return c == r })
	s.r, s.single = r, true
	return s
}

func (s *runeSet) has(r rune) bool {
	if r < 128 {
		return s.ascii[r]
	}
	return s.test(r)
}

func (s *runeSet) not() *runeSet { return newRuneSet(func(r rune) bool { return !s.has(r) }) }

// or is the union; s may be nil.
func (s *runeSet) or(t *runeSet) *runeSet {
	if s == nil {
		return t
	}
	return newRuneSet(func(r rune) bool { return s.has(r) || t.has(r) })
}

// and is the intersection; nil stands for all characters.
func (s *runeSet) and(t *runeSet) *runeSet {
	if t == nil {
		return s
	}
	if s == nil {
		return t
	}
	return newRuneSet(func(r rune) bool { return s.has(r) && t.has(r) })
}

// folded adds the other cases of every member.
func (s *runeSet) folded() *runeSet {
	return newRuneSet(func(r rune) bool {
		if s.has(r) {
			return true
		}
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			if s.has(c) {
				return true
			}
		}
		return false
	})
}

// isRegexWord is \w of Oniguruma in a class: that of the reference library's own
// patterns (classWord) without joiners.
func isRegexWord(r rune) bool {
	return classOf(r)&classWord != 0 && r != 0x200c && r != 0x200d
}

// isLooseWord is \w outside of a class, which has six more numbers of Latin-1.
func isLooseWord(r rune) bool {
	return isRegexWord(r) || r < 0x100 && classOf(r)&classN != 0
}

// isDecimal is \d: category Nd of Unicode 16.
func isDecimal(r rune) bool {
	switch {
	case r < 128:
		return r >= '0' && r <= '9'
	case r < 0x10d40:
	case r <= 0x10d49, r >= 0x116d0 && r <= 0x116e3, r >= 0x11bf0 && r <= 0x11bf9, r >= 0x16130 && r <= 0x16139, r >= 0x16d70 && r <= 0x16d79, r >= 0x1ccf0 && r <= 0x1ccf9, r >= 0x1e5f1 && r <= 0x1e5fa:
		return true
	}
	return unicode.Is(unicode.Nd, r)
}

// isHan is \p{Han} of Unicode 16.
func isHan(r rune) bool { return unicode.Is(unicode.Han, r) || r >= 0x2ebf0 && r <= 0x2ee5d }

// isAlphabetic is the property of that name; of marks it has those of the standard
// library's Unicode version.
func isAlphabetic(r rune) bool {
	return classOf(r)&classL != 0 || unicode.In(r, unicode.Nl, unicode.Other_Alphabetic)
}

// foldsToSeveral reports whether r equals several letters without regard to
// case, as ß equals ss.
func foldsToSeveral(r rune) bool {
	switch {
	case r < 0xdf:
		return false
	case r == 0xdf, r == 0x130, r == 0x149, r == 0x1f0, r == 0x390, r == 0x3b0, r == 0x587, r >= 0x1e96 && r <= 0x1e9e && r != 0x1e9b && r != 0x1e9c && r != 0x1e9d:
		return true
	case r >= 0x1f50 && r <= 0x1f56:
		return r%2 == 0
	case r >= 0x1f80 && r <= 0x1faf:
		return true
	case r >= 0x1fb2 && r <= 0x1ffc:
		switch r & 15 {
		case 2, 3, 4, 6, 7, 12:
			return unicode.IsLetter(r)
		}
	}
	return r >= 0xfb00 && r <= 0xfb17
}

// ownClasses are the categories that this package has tables for.
var ownClasses = map[string]class{
	"l": classL, "lu": classLu, "ll": classLl, "lt": classLt, "lm": classLm, "lo": classLo,
	"n": classN, "m": classM, "p": classP, "s": classS,
	"letter": classL, "number": classN, "mark": classM, "punctuation": classP, "symbol": classS,
}

// otherTables are categories and scripts of the standard library by their name
// in lower case. Its Unicode version may lag behind that of the classes.
var otherTables = sync.OnceValue(func() map[string]*unicode.RangeTable {
	out := map[string]*unicode.RangeTable{}
	for name, t := range unicode.Scripts {
		out[plainName(name)] = t
	}
	for name, t := range unicode.Categories {
		out[plainName(name)] = t
	}
	return out
})

// plainName is a property's name as readers compare it.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
}

// propertyOf returns the characters of \p{name}, or nil.
func propertyOf(name string) func(rune) bool {
	name = plainName(name)
	if c, ok := ownClasses[name]; ok {
		return func(r rune) bool { return classOf(r)&c != 0 }
	}
	switch name {
	case "han":
		return isHan
	case "nd":
		return isDecimal
	case "any":
		return func(rune) bool { return true }
	case "ascii":
		return func(r rune) bool { return r < 128 }
	}
	if t, ok := otherTables()[name]; ok {
		return func(r rune) bool { return unicode.Is(t, r) }
	}
	return posixOf(name)
}

// posixOf returns the characters of [:name:], or nil.
func posixOf(name string) func(rune) bool {
	classes := func(c class) func(rune) bool { return func(r rune) bool { return classOf(r)&c != 0 } }
	table := func(ts ...*unicode.RangeTable) func(rune) bool {
		return func(r rune) bool { return unicode.In(r, ts...) }
	}
	switch name {
	case "alpha":
		return isAlphabetic
	case "digit":
		return isDecimal
	case "alnum":
		return func(r rune) bool { return isAlphabetic(r) || isDecimal(r) }
	case "upper":
		return func(r rune) bool { return classOf(r)&classLu != 0 || unicode.Is(unicode.Other_Uppercase, r) }
	case "lower":
		return func(r rune) bool { return classOf(r)&classLl != 0 || unicode.Is(unicode.Other_Lowercase, r) }
	case "space":
		return classes(classSpace)
	case "word":
		return isRegexWord
	case "punct":
		return classes(classP | classS)
	case "blank":
		return func(r rune) bool { return r == '\t' || unicode.Is(unicode.Zs, r) }
	case "cntrl":
		return table(unicode.Cc)
	case "xdigit":
		return table(unicode.ASCII_Hex_Digit)
	}
	return nil
}
