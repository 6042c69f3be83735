package token

// Split patterns. Published tokenizers split text with regular expressions that
// Go's package regexp does not support (lookahead) or runs slowly. Each common
// expression has a scanner here, found by its exact text; the engine of regex.go
// runs the others. A scanner is a list of alternatives, like the expression, and
// the first that matches wins.

import "strings"

// A matcher returns the end of its match in s at i, or -1 for none. The end of an
// empty match is i.
type matcher func(s string, i int) int

// anyOf tries alternatives in order.
func anyOf(ms ...matcher) matcher {
	return func(s string, i int) int {
		for _, m := range ms {
			if j := m(s, i); j >= 0 {
				return j
			}
		}
		return -1
	}
}

// runOf returns the end of the longest run of characters from i that have any of
// the classes (or, with not, none of them).
func runOf(s string, i int, c class, not bool) int {
	for i < len(s) {
		r, n := decodeRune(s[i:])
		if (classOf(r)&c == 0) != not {
			return i
		}
		i += n
	}
	return i
}

// some is [classes]+.
func some(c class) matcher {
	return func(s string, i int) int {
		if j := runOf(s, i, c, false); j > i {
			return j
		}
		return -1
	}
}

// upTo is [classes]{1,n}.
func upTo(c class, n int) matcher {
	return func(s string, i int) int {
		j := i
		for k := 0; k < n && j < len(s); k++ {
			r, size := decodeRune(s[j:])
			if classOf(r)&c == 0 {
				break
			}
			j += size
		}
		if j > i {
			return j
		}
		return -1
	}
}

// spaced is " ?[classes]+", or with other set " ?[^classes]+"; followed by
// tail*.
func spaced(c class, other bool, tail string) matcher {
	return func(s string, i int) int {
		j := i
		if s[i] == ' ' {
			j++
		}
		k := runOf(s, j, c, other)
		if k == j {
			return -1
		}
		for k < len(s) && strings.IndexByte(tail, s[k]) >= 0 {
			k++
		}
		return k
	}
}

// ledBy is "[^\r\n lead]?[classes]+": an optional leading character, then a run.
func ledBy(lead, c class) matcher {
	return func(s string, i int) int {
		r, n := decodeRune(s[i:])
		if r != '\r' && r != '\n' && classOf(r)&lead == 0 {
			if j := runOf(s, i+n, c, false); j > i+n {
				return j
			}
		}
		if j := runOf(s, i, c, false); j > i {
			return j
		}
		return -1
	}
}

// contraction is 's|'t|'re|'ve|'m|'ll|'d; fold ignores case, and U+017F folds to
// s.
func contraction(fold bool) matcher {
	return func(s string, i int) int {
		if s[i] != '\'' || i+1 == len(s) {
			return -1
		}
		lower := func(k int) byte {
			if k >= len(s) {
				return 0
			}
			if fold && s[k] >= 'A' && s[k] <= 'Z' {
				return s[k] + 'a' - 'A'
			}
			return s[k]
		}
		switch b := lower(i + 2); lower(i + 1) {
		case 's', 't', 'm', 'd':
			return i + 2
		case 'r', 'v':
			if b == 'e' {
				return i + 3
			}
		case 'l':
			if b == 'l' {
				return i + 3
			}
		}
		if fold && strings.HasPrefix(s[i+1:], "ſ") {
			return i + 1 + len("ſ")
		}
		return -1
	}
}

// newlines is \s*[\r\n]+: white space up to its last line end.
func newlines(s string, i int) int {
	end := -1
	for i < len(s) {
		r, n := decodeRune(s[i:])
		if !isSpaceRune(r) {
			break
		}
		i += n
		if r == '\r' || r == '\n' {
			end = i
		}
	}
	return end
}

// trailingSpace is \s+(?!\S): white space, without its last character if
// something follows.
func trailingSpace(s string, i int) int {
	j, last := i, i
	for j < len(s) {
		r, n := decodeRune(s[j:])
		if !isSpaceRune(r) {
			if last > i {
				return last
			}
			return -1
		}
		last, j = j, j+n
	}
	if j > i {
		return j
	}
	return -1
}

// cased is one of the two case-aware words of o200k and Tekken:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*
//
// with an optional contraction. lower says which half must not be empty.
func cased(lower, contractions bool) matcher {
	const upper, low = classLu | classLt | classLm | classLo | classM, classLl | classLm | classLo | classM
	tail := contraction(true)
	word := func(s string, i int) int {
		// shared is the end of the last character of the upper-case run that is also
		// in the lower class: how far a greedy run can backtrack.
		shared, j := -1, i
		for j < len(s) {
			r, n := decodeRune(s[j:])
			c := classOf(r)
			if c&upper == 0 {
				break
			}
			j += n
			if c&low != 0 {
				shared = j
			}
		}
		k := runOf(s, j, low, false)
		switch {
		case lower && k > j, !lower && j > i:
			return k
		case lower:
			return shared
		}
		return -1
	}
	return func(s string, i int) int {
		end := -1
		r, n := decodeRune(s[i:])
		if r != '\r' && r != '\n' && classOf(r)&(classL|classN) == 0 && i+n < len(s) {
			end = word(s, i+n)
		}
		if end < 0 {
			end = word(s, i)
		}
		if contractions && end >= 0 && end < len(s) {
			if j := tail(s, end); j >= 0 {
				return j
			}
		}
		return end
	}
}

// oneOf is a single character for which f is true.
func oneOf(f func(rune) bool) matcher {
	return func(s string, i int) int {
		if r, n := decodeRune(s[i:]); f(r) {
			return i + n
		}
		return -1
	}
}

// severalOf is one or more characters for which f is true.
func severalOf(f func(rune) bool) matcher {
	return func(s string, i int) int {
		j := i
		for j < len(s) {
			r, n := decodeRune(s[j:])
			if !f(r) {
				break
			}
			j += n
		}
		if j > i {
			return j
		}
		return -1
	}
}

// literal matches the text itself.
func literal(text string) matcher {
	return func(s string, i int) int {
		if text != "" && strings.HasPrefix(s[i:], text) {
			return i + len(text)
		}
		return -1
	}
}

// punctuatedWord is [!-/:-@\[-`{-~][A-Za-z]+.
func punctuatedWord(s string, i int) int {
	if s[i] >= 128 || asciiClass[s[i]]&(classP|classS) == 0 {
		return -1
	}
	j := i + 1
	for j < len(s) && s[j] < 128 && asciiClass[s[j]]&classL != 0 {
		j++
	}
	if j > i+1 {
		return j
	}
	return -1
}

// spaceBefore is \s?[classes]+.
func spaceBefore(c class) matcher {
	return func(s string, i int) int {
		j := i
		if r, n := decodeRune(s[i:]); isSpaceRune(r) {
			j += n
		}
		if k := runOf(s, j, c, false); k > j {
			return k
		}
		return -1
	}
}

// bloomWord is a space and characters that are neither white space nor certain
// marks.
func bloomWord(s string, i int) int {
	j := i
	if s[i] == ' ' {
		j++
	}
	k := j
	for k < len(s) {
		r, n := decodeRune(s[k:])
		if isSpaceRune(r) || strings.ContainsRune("(|.,!?…。，、।۔،)", r) {
			break
		}
		k += n
	}
	return positive(k, j)
}

// threeDigits is [0-9][0-9][0-9].
func threeDigits(s string, i int) int {
	if i+3 > len(s) {
		return -1
	}
	for _, c := range []byte(s[i : i+3]) {
		if c < '0' || c > '9' {
			return -1
		}
	}
	return i + 3
}

// atLeast is c{n,} for an ASCII character.
func atLeast(c byte, n int) matcher {
	return func(s string, i int) int {
		j := i
		for j < len(s) && s[j] == c {
			j++
		}
		if j-i >= n {
			return j
		}
		return -1
	}
}

func isNewline(r rune) bool { return r == '\r' || r == '\n' }

// modern builds the expressions of the cl100k line, which differ in the number
// of digits kept together and in whether marks count as letters.
func modern(digits int, letters class) matcher {
	return anyOf(contraction(true), ledBy(classL|classN, letters), upTo(classN, digits),
		spaced(classSpace|classN|letters, true, "\r\n"), newlines, trailingSpace, some(classSpace))
}

func caseAware(digits int, contractions bool) matcher {
	return anyOf(cased(true, contractions), cased(false, contractions), upTo(classN, digits),
		spaced(classSpace|classN|classL, true, "\r\n/"), newlines, trailingSpace, some(classSpace))
}

var gpt2Scanner = anyOf(contraction(false), spaced(classL, false, ""), spaced(classN, false, ""),
	spaced(classSpace|classL|classN, true, ""), trailingSpace, some(classSpace))

// Expressions by which tokenizers are identified.
const (
	reGPT2     = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	reLlama3   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	reQwen2    = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	reQwen35   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	reO200k    = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	reTekken   = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	reDigits3  = `\p{N}{1,3}`
	reCJK      = `[一-龥぀-ゟ゠-ヿ]+`
	reDeepSeek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
	reTriples  = `[0-9][0-9][0-9]`
	reLineEnd  = `[\r\n]`
	reLetters  = `\s?\p{L}+`
	rePunct    = `\s?\p{P}+`
	reCJKWide  = `[一-龥ࠀ-一가-퟿]+`
	reNumbers  = `\p{N}+`
	reFalconP  = `[\p{P}\$\+<=>\^~\|]+` // "default" of GGUF
	reSpaces   = ` {2,}`
	reBloom    = ` ?[^(\s|.,!?…。，、।۔،)]+`
)

// scanners maps every supported expression to its scanner.
var scanners = map[string]matcher{
	reGPT2:   gpt2Scanner,
	reLlama3: modern(3, classL),
	reQwen2:  modern(1, classL),
	reQwen35: modern(1, classL|classM),
	// The form of cl100k that tiktoken publishes, and its one-digit variant:
	// possessive quantifiers and a single line end do not change matches.
	`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`: modern(3, classL),
	`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`:      modern(1, classL),
	reO200k:   caseAware(3, true),
	reTekken:  caseAware(1, false),
	reDigits3: upTo(classN, 3),
	reCJK: severalOf(func(r rune) bool {
		return r >= '一' && r <= '龥' || r >= 0x3040 && r <= 0x30ff
	}),
	reDeepSeek: anyOf(punctuatedWord, ledBy(classL|classP|classS, classL|classM),
		spaced(classP|classS, false, "\r\n"), newlines, trailingSpace, some(classSpace)),
	`'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`: anyOf(contraction(false), some(classL), upTo(classN, 1),
		func(s string, i int) int {
			if j := runOf(s, i, classSpace|classL|classN, true); j > i {
				return j
			}
			return -1
		}),
	reCJKWide: severalOf(func(r rune) bool {
		return r >= 0x800 && r <= '龥' || r >= '가' && r <= 0xd7ff
	}),
	reFalconP: severalOf(func(r rune) bool {
		return classOf(r)&classP != 0 || strings.ContainsRune("$+<=>^~|", r)
	}),
	// BLOOM, as written by its file and by llama.cpp.
	` ?[^(\s|[.,!?…。，、।۔،])]+`: bloomWord,
	reBloom:                    bloomWord,
	reTriples:                  threeDigits,
	reLetters:                  spaceBefore(classL),
	rePunct:                    spaceBefore(classP),
	`\p{L}+`:                   some(classL),
	reNumbers:                  some(classN),
	`\p{N}`:                    upTo(classN, 1),
	`\s+`:                      some(classSpace),
	`\s`:                       upTo(classSpace, 1),
	`\S+`:                      func(s string, i int) int { return positive(runOf(s, i, classSpace, true), i) },
	reLineEnd:                  oneOf(isNewline),
	`[\r\n]+`:                  severalOf(isNewline),
	`\n`:                       literal("\n"),
	`\n+`:                      atLeast('\n', 1),
	` `:                        literal(" "),
	` +`:                       atLeast(' ', 1),
	reSpaces:                   atLeast(' ', 2),
	`[0-9]`:                    oneOf(func(r rune) bool { return r >= '0' && r <= '9' }),
	`[^\n]+|[\n]+`:             anyOf(severalOf(func(r rune) bool { return r != '\n' }), atLeast('\n', 1)),
}

// positive returns j, or -1 if the match is empty.
func positive(j, i int) int {
	if j > i {
		return j
	}
	return -1
}

// matches is [segments], by all if there is that.
func matches(s string, m matcher, all segmenter, yield func(i, j int, match bool)) {
	if all != nil {
		all(s, yield)
		return
	}
	segments(s, m, yield)
}

// segments calls yield for the matches in s and the stretches between them, in
// order. An empty match counts, except at the end of the match before it.
func segments(s string, m matcher, yield func(i, j int, match bool)) {
	prev, last := 0, -1 // last: the end of the match before
	for i := 0; i < len(s); {
		j := m(s, i)
		if j < 0 || j == i && i == last {
			_, n := decodeRune(s[i:])
			i += n
			continue
		}
		if prev < i {
			yield(prev, i, false)
		}
		yield(i, j, true)
		prev, i, last = j, j, j
	}
	if prev < len(s) {
		yield(prev, len(s), false)
	}
}

// matcherOf returns the matcher of an expression and, if it knows a faster way to find
// all matches of a text, that. Errors are [*regexError].
func matcherOf(expr string) (matcher, segmenter, error) {
	if m, ok := scanners[expr]; ok {
		return m, runs[expr], nil
	}
	re, err := newRegex(expr)
	if err != nil {
		return nil, nil, err
	}
	if all := runs[expr]; all != nil {
		return re.match, all, nil
	}
	return re.match, re.segments, nil
}
