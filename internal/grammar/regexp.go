package grammar

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A pattern is a regular expression of ECMA-262 with the flag u, which is what JSON Schema
// means, as a tree. What Annex B of the standard allows without that flag, such as "\-"
// and a "{" that repeats nothing, is read as browsers do.
type pattern struct {
	op          patternOp
	set         []span // of opSet
	subs        []*pattern
	least, most int  // of opTimes
	not         bool // of opAhead
}

type patternOp uint8

const (
	opSet     patternOp = iota // one character of set
	opConcat                   // subs, one after another
	opUnion                    // one of subs
	opTimes                    // subs[0], least to most times
	opAhead                    // subs[0] follows, or with not does not
	opBegin                    // ^
	opEnd                      // $
	opNothing                  // no text
)

// A patternReader reads a pattern.
type patternReader struct {
	s     string
	pos   int
	depth int
}

// readPattern returns the tree of a regular expression. What no finite automaton decides,
// or this package does not, is an error.
func readPattern(s string) (*pattern, error) {
	p := &patternReader{s: s}
	e, err := p.union()
	if err == nil && p.pos < len(s) {
		err = fmt.Errorf("unexpected %q in a pattern", s[p.pos:])
	}
	return e, err
}

func (p *patternReader) more() bool { return p.pos < len(p.s) }

// take reads a text if it comes next.
func (p *patternReader) take(s string) bool {
	if strings.HasPrefix(p.s[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *patternReader) union() (*pattern, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("more than %d groups in groups in a pattern", maxNesting)
	}
	defer func() { p.depth-- }()
	u := &pattern{op: opUnion}
	for {
		e := &pattern{op: opConcat}
		for p.more() && p.s[p.pos] != '|' && p.s[p.pos] != ')' {
			one, err := p.term()
			if err != nil {
				return nil, err
			}
			e.subs = append(e.subs, one)
		}
		u.subs = append(u.subs, e)
		if !p.take("|") {
			break
		}
	}
	if len(u.subs) == 1 {
		return u.subs[0], nil
	}
	return u, nil
}

// term reads an atom or an assertion, and how often it comes.
func (p *patternReader) term() (*pattern, error) {
	e, err := p.atom()
	if err != nil {
		return nil, err
	}
	least, most, ok := 0, unbounded, true
	switch at := p.pos; {
	case p.take("*"):
	case p.take("+"):
		least = 1
	case p.take("?"):
		most = 1
	case p.take("{"):
		if least, most, ok = p.bounds(); !ok {
			p.pos = at
		}
	default:
		ok = false
	}
	if !ok {
		return e, nil
	}
	p.take("?") // matches the same texts
	if least > most {
		return nil, fmt.Errorf("a repetition of %d to %d times in a pattern", least, most)
	}
	return &pattern{op: opTimes, subs: []*pattern{e}, least: least, most: most}, nil
}

// bounds reads what follows the "{" of a repetition.
func (p *patternReader) bounds() (least, most int, ok bool) {
	inner, _, ok := strings.Cut(p.s[p.pos:], "}")
	if !ok {
		return 0, 0, false
	}
	a, b, two := strings.Cut(inner, ",")
	least, err := strconv.Atoi(a)
	if err != nil || strings.Trim(a, "0123456789") != "" {
		return 0, 0, false
	}
	switch {
	case !two:
		most = least
	case b == "":
		most = unbounded
	default:
		if most, err = strconv.Atoi(b); err != nil || strings.Trim(b, "0123456789") != "" {
			return 0, 0, false
		}
	}
	p.pos += len(inner) + 1
	return least, most, true
}

func (p *patternReader) atom() (*pattern, error) {
	switch {
	case p.take("^"):
		return &pattern{op: opBegin}, nil
	case p.take("$"):
		return &pattern{op: opEnd}, nil
	case p.take("."):
		return &pattern{op: opSet, set: complement(lineEnds())}, nil
	case p.take("["):
		return p.class()
	case p.take("("):
		return p.group()
	case p.take(`\`):
		set, err := p.escape(false)
		return &pattern{op: opSet, set: set}, err
	}
	r, n := utf8.DecodeRuneInString(p.s[p.pos:])
	if r == '*' || r == '+' || r == '?' {
		return nil, fmt.Errorf("%q repeats nothing in a pattern", r)
	}
	p.pos += n
	return &pattern{op: opSet, set: []span{{r, r}}}, nil
}

func (p *patternReader) group() (*pattern, error) {
	var e *pattern
	switch {
	case p.take("?:"):
	case p.take("?="):
		e = &pattern{op: opAhead}
	case p.take("?!"):
		e = &pattern{op: opAhead, not: true}
	case p.take("?<=") || p.take("?<!"):
		return nil, fmt.Errorf("a pattern that looks back is not supported")
	case p.take("?<"):
		name, _, ok := strings.Cut(p.s[p.pos:], ">")
		if !ok || name == "" {
			return nil, fmt.Errorf("the name of a group is not closed in a pattern")
		}
		p.pos += len(name) + 1
	case p.take("?"):
		return nil, fmt.Errorf("flags in a pattern are not supported")
	}
	sub, err := p.union()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, fmt.Errorf("a parenthesis is not closed in a pattern")
	}
	if e == nil {
		return sub, nil
	}
	e.subs = []*pattern{sub}
	return e, nil
}

// class reads a set of characters behind its "[".
func (p *patternReader) class() (*pattern, error) {
	not := p.take("^")
	var set []span
	for !p.take("]") {
		lo, err := p.member()
		if err != nil {
			return nil, err
		}
		from := p.pos
		if len(lo) != 1 || lo[0].lo != lo[0].hi || !p.take("-") || strings.HasPrefix(p.s[p.pos:], "]") {
			p.pos = from
			set = append(set, lo...)
			continue
		}
		hi, err := p.member()
		if err != nil {
			return nil, err
		}
		if len(hi) != 1 || hi[0].lo != hi[0].hi { // a range up to \w is three members
			set = append(append(append(set, lo...), span{'-', '-'}), hi...)
			continue
		}
		if hi[0].lo < lo[0].lo {
			return nil, fmt.Errorf("a range from %q down to %q in a pattern", lo[0].lo, hi[0].lo)
		}
		set = append(set, span{lo[0].lo, hi[0].lo})
	}
	if set = tidy(set); not {
		set = complement(set)
	}
	return &pattern{op: opSet, set: set}, nil
}

func (p *patternReader) member() ([]span, error) {
	if p.take(`\`) {
		return p.escape(true)
	}
	if !p.more() {
		return nil, fmt.Errorf("a bracket is not closed in a pattern")
	}
	r, n := utf8.DecodeRuneInString(p.s[p.pos:])
	p.pos += n
	return []span{{r, r}}, nil
}

func lineEnds() []span { return []span{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}} }

// whites are the characters of \s: WhiteSpace and LineTerminator of ECMA-262.
func whites() []span {
	return []span{{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}}
}

// escape reads what follows a backslash, as a set.
func (p *patternReader) escape(inClass bool) ([]span, error) {
	if !p.more() {
		return nil, fmt.Errorf("nothing follows the backslash of a pattern")
	}
	r, n := utf8.DecodeRuneInString(p.s[p.pos:])
	p.pos += n
	one := func(r rune) ([]span, error) { return []span{{r, r}}, nil }
	switch r {
	case 'd':
		return []span{{'0', '9'}}, nil
	case 'D':
		return complement([]span{{'0', '9'}}), nil
	case 'w':
		return tidy([]span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}), nil
	case 'W':
		return complement(tidy([]span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}})), nil
	case 's':
		return whites(), nil
	case 'S':
		return complement(whites()), nil
	case 'p', 'P':
		return p.property(r == 'P')
	case 't':
		return one('\t')
	case 'n':
		return one('\n')
	case 'v':
		return one('\v')
	case 'f':
		return one('\f')
	case 'r':
		return one('\r')
	case 'b', 'B':
		if r == 'b' && inClass {
			return one('\b')
		}
		return nil, fmt.Errorf("the boundaries of words of a pattern are not supported")
	case 'c':
		if p.more() && unicode.IsLetter(rune(p.s[p.pos])) {
			p.pos++
			return one(rune(p.s[p.pos-1]) % 32)
		}
	case 'x', 'u':
		return p.code(r)
	case '0':
		if !p.more() || p.s[p.pos] < '0' || p.s[p.pos] > '9' {
			return one(0)
		}
	}
	if r >= '0' && r <= '9' || r == 'k' && !inClass {
		return nil, fmt.Errorf(`references such as \%c in a pattern are not supported`, r)
	}
	if unicode.IsLetter(r) && r < utf8.RuneSelf && r != '_' {
		return nil, fmt.Errorf(`unknown escape \%c in a pattern`, r)
	}
	return one(r)
}

// code reads the digits of \x and \u; two surrogates are one character.
func (p *patternReader) code(kind rune) ([]span, error) {
	digits := 4
	if kind == 'x' {
		digits = 2
	}
	hex := func(n int) (rune, bool) {
		if p.pos+n > len(p.s) {
			return 0, false
		}
		v, err := strconv.ParseUint(p.s[p.pos:p.pos+n], 16, 32)
		if err == nil {
			p.pos += n
		}
		return rune(v), err == nil
	}
	var r rune
	var ok bool
	if inner, _, closed := strings.Cut(p.s[p.pos:], "}"); kind == 'u' && strings.HasPrefix(inner, "{") && closed {
		p.pos++
		r, ok = hex(len(inner) - 1)
		p.pos++
	} else if r, ok = hex(digits); ok && r >= 0xd800 && r < 0xdc00 && p.take(`\u`) {
		var low rune
		low, ok = hex(4)
		r = 0x10000 + (r-0xd800)<<10 + low - 0xdc00
	}
	if !ok || r > utf8.MaxRune {
		return nil, fmt.Errorf(`want hexadecimal digits of a character after \%c in a pattern`, kind)
	}
	return []span{{r, r}}, nil
}

// property reads the name of \p, a category or a script.
func (p *patternReader) property(not bool) ([]span, error) {
	name, _, ok := strings.Cut(p.s[p.pos:], "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return nil, fmt.Errorf(`want {NAME} after \p in a pattern`)
	}
	p.pos += len(name) + 1
	name = name[1:]
	if _, value, ok := strings.Cut(name, "="); ok {
		name = value
	}
	long := map[string]string{"Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Number": "N", "Decimal_Number": "Nd", "Punctuation": "P", "Symbol": "S", "Mark": "M", "Separator": "Z", "Other": "C"}
	if short, ok := long[name]; ok {
		name = short
	}
	t := unicode.Categories[name]
	if t == nil {
		t = unicode.Scripts[name]
	}
	if t == nil {
		t = map[string]*unicode.RangeTable{"Alphabetic": unicode.L, "White_Space": unicode.White_Space}[name]
	}
	if t == nil || name == "Alphabetic" {
		return nil, fmt.Errorf(`the set \p{%s} of a pattern is not supported`, name)
	}
	var set []span
	for _, r := range t.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			set = append(set, span{c, c})
		}
	}
	for _, r := range t.R32 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			set = append(set, span{c, c})
		}
	}
	if set = tidy(set); not {
		set = complement(set)
	}
	return set, nil
}
