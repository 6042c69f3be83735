package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// isASCII reports text of ASCII alone.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// upper and lower are the full case mappings: ß becomes SS, a final Σ ς.

// upper is the full case mapping: ß becomes SS.
func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

// lower is the full case mapping: a final Σ becomes ς.
func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

// casefold is str.casefold.
func casefold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Fold().String(s)
}

// titleRune is the full title case of one character.
func titleRune(r rune) string {
	if r < utf8.RuneSelf {
		return string(unicode.ToUpper(r))
	}
	if r == 'ŉ' {
		return "ʼN" // the one letter whose capital is not its first character
	}
	if s := cases.Upper(language.Und).String(string(r)); utf8.RuneCountInString(s) > 1 && unicode.ToTitle(r) == r {
		first, n := utf8.DecodeRuneInString(s) // ß → Ss, ﬁ → Fi
		return string(first) + strings.ToLower(s[n:])
	}
	return string(unicode.ToTitle(r))
}

func isUpper(r rune) bool { return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r) }
func isLower(r rune) bool { return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r) }
func isCased(r rune) bool { return isUpper(r) || isLower(r) || unicode.IsTitle(r) }

// title is str.title: every run of cased characters starts with a capital.
func title(s string) string {
	var b strings.Builder
	inside := false
	for i, r := range s {
		switch {
		case !inside:
			b.WriteString(titleRune(r))
		case r == 'Σ':
			b.WriteString(finalSigma(s, i))
		default:
			b.WriteString(lower(string(r)))
		}
		inside = isCased(r)
	}
	return b.String()
}

// finalSigma lowers the Σ at offset i by its neighbours.
func finalSigma(s string, i int) string {
	ignorable := func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·’", r)
	}
	before := strings.TrimRightFunc(s[:i], ignorable)
	after := strings.TrimLeftFunc(s[i+len("Σ"):], ignorable)
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	if before != "" && isCased(last) && (after == "" || !isCased(first)) {
		return "ς"
	}
	return "σ"
}

// capitalize is str.capitalize.
func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	whole := lower(s)
	_, k := utf8.DecodeRuneInString(lower(string(r)))
	return titleRune(r) + whole[min(max(k, len(lower(string(r)))), len(whole)):]
}

// swapcase is str.swapcase.
func swapcase(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == 'Σ':
			b.WriteString(finalSigma(s, i))
		case isUpper(r):
			b.WriteString(lower(string(r)))
		case isLower(r):
			b.WriteString(upper(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// every makes a test that is false for the empty string.
func every(f func(rune) bool) func(string) bool {
	return func(s string) bool {
		for _, r := range s {
			if !f(r) {
				return false
			}
		}
		return s != ""
	}
}

// isDecimal, isDigit, isNumeric and isAlnum are Python's predicates of
// characters.
func isDecimal(r rune) bool { return unicode.Is(unicode.Nd, r) }
func isDigit(r rune) bool   { return isDecimal(r) || unicode.Is(digits, r) }
func isNumeric(r rune) bool { return unicode.IsNumber(r) || unicode.Is(numerals, r) }
func isAlnum(r rune) bool   { return unicode.IsLetter(r) || isDigit(r) || isNumeric(r) }

// digits have the Unicode property Numeric_Type=Digit.
var digits = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0xb2, 0xb3, 1}, {0xb9, 0xb9, 1}, {0x1369, 0x1371, 1}, {0x19da, 0x19da, 1}, {0x2070, 0x2070, 1}, {0x2074, 0x2079, 1},
		{0x2080, 0x2089, 1}, {0x2460, 0x2468, 1}, {0x2474, 0x247c, 1}, {0x2488, 0x2490, 1}, {0x24ea, 0x24ea, 1}, {0x24f5, 0x24fd, 1},
		{0x24ff, 0x24ff, 1}, {0x2776, 0x277e, 1}, {0x2780, 0x2788, 1}, {0x278a, 0x2792, 1},
	},
	R32:         []unicode.Range32{{0x10a40, 0x10a43, 1}, {0x10e60, 0x10e68, 1}, {0x11052, 0x1105a, 1}, {0x1f100, 0x1f10a, 1}},
	LatinOffset: 2,
}

// isIdentifier is str.isidentifier.
func isIdentifier(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && nameLen(s) == len(s) && (r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r))
}

// isLowerString is str.islower.
func isLowerString(s string) bool { return casedWithout(s, unicode.Upper, unicode.Other_Uppercase) }

// isUpperString is str.isupper.
func isUpperString(s string) bool { return casedWithout(s, unicode.Lower, unicode.Other_Lowercase) }

// casedWithout reports whether s has cased characters, none of them in title
// case or in two tables.
func casedWithout(s string, a, b *unicode.RangeTable) bool {
	cased := false
	for _, r := range s {
		if unicode.In(r, a, b, unicode.Title) {
			return false
		}
		cased = cased || isCased(r)
	}
	return cased
}

// isTitle is str.istitle.
func isTitle(s string) bool {
	cased, inside := false, false
	for _, r := range s {
		switch {
		case isUpper(r) || unicode.IsTitle(r):
			if inside {
				return false
			}
			cased, inside = true, true
		case isLower(r):
			if !inside {
				return false
			}
		default:
			inside = false
		}
	}
	return cased
}

// isPrintable is str.isprintable.
func isPrintable(s string) bool {
	for _, r := range s {
		if r != ' ' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// numerals are letters with a numeric value: 一, 二, 百 …
var numerals = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x3405, 0x3405, 1}, {0x3483, 0x3483, 1}, {0x382a, 0x382a, 1}, {0x3b4d, 0x3b4d, 1}, {0x4e00, 0x4e00, 1}, {0x4e03, 0x4e03, 1}, {0x4e07, 0x4e07, 1},
		{0x4e09, 0x4e09, 1}, {0x4e5d, 0x4e5d, 1}, {0x4e8c, 0x4e8c, 1}, {0x4e94, 0x4e94, 1}, {0x4e96, 0x4e96, 1}, {0x4ebf, 0x4ec0, 1}, {0x4edf, 0x4edf, 1},
		{0x4ee8, 0x4ee8, 1}, {0x4f0d, 0x4f0d, 1}, {0x4f70, 0x4f70, 1}, {0x5104, 0x5104, 1}, {0x5146, 0x5146, 1}, {0x5169, 0x5169, 1}, {0x516b, 0x516b, 1},
		{0x516d, 0x516d, 1}, {0x5341, 0x5341, 1}, {0x5343, 0x5345, 1}, {0x534c, 0x534c, 1}, {0x53c1, 0x53c4, 1}, {0x56db, 0x56db, 1}, {0x58f1, 0x58f1, 1},
		{0x58f9, 0x58f9, 1}, {0x5e7a, 0x5e7a, 1}, {0x5efe, 0x5eff, 1}, {0x5f0c, 0x5f0e, 1}, {0x5f10, 0x5f10, 1}, {0x62fe, 0x62fe, 1}, {0x634c, 0x634c, 1},
		{0x67d2, 0x67d2, 1}, {0x6f06, 0x6f06, 1}, {0x7396, 0x7396, 1}, {0x767e, 0x767e, 1}, {0x8086, 0x8086, 1}, {0x842c, 0x842c, 1}, {0x8cae, 0x8cae, 1},
		{0x8cb3, 0x8cb3, 1}, {0x8d30, 0x8d30, 1}, {0x9621, 0x9621, 1}, {0x9646, 0x9646, 1}, {0x964c, 0x964c, 1}, {0x9678, 0x9678, 1}, {0x96f6, 0x96f6, 1},
		{0xf96b, 0xf96b, 1}, {0xf973, 0xf973, 1}, {0xf978, 0xf978, 1}, {0xf9b2, 0xf9b2, 1}, {0xf9d1, 0xf9d1, 1}, {0xf9d3, 0xf9d3, 1}, {0xf9fd, 0xf9fd, 1},
	},
	R32: []unicode.Range32{
		{0x20001, 0x20001, 1}, {0x20064, 0x20064, 1}, {0x200e2, 0x200e2, 1}, {0x20121, 0x20121, 1}, {0x2092a, 0x2092a, 1}, {0x20983, 0x20983, 1}, {0x2098c, 0x2098c, 1},
		{0x2099c, 0x2099c, 1}, {0x20aea, 0x20aea, 1}, {0x20afd, 0x20afd, 1}, {0x20b19, 0x20b19, 1}, {0x22390, 0x22390, 1}, {0x22998, 0x22998, 1}, {0x23b1b, 0x23b1b, 1},
		{0x2626d, 0x2626d, 1}, {0x2f890, 0x2f890, 1},
	},
}

// nameLen is the length of the word that s starts with.
func nameLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.M, r) || r == utf8.RuneError {
			return i
		}
	}
	return len(s)
}

// isSpace is Python's notion of white space.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
