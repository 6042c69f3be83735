package token

// Parsing regular expressions: the syntax of Oniguruma as far as split patterns
// use it. The rest is refused by name.

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A regexKind says what a node matches.
type regexKind uint8

const (
	reSet    regexKind = iota // one character of set
	reSeq                     // subs in turn
	reAlt                     // the first of subs that leads to a match
	reRepeat                  // subs[0], min to max times
	reLook                    // what follows (or precedes: behind) matches subs[0], or does not: not
	reAtomic                  // subs[0] without a second thought
	reAssert                  // a place: assert
)

type regexNode struct {
	kind        regexKind
	set         *runeSet
	subs        []*regexNode
	min, max    int // max is unlimited if it is forever
	lazy, hold  bool
	not, behind bool
	assert      assertion
	from        int // for errors: the position in the expression
}

// forever is the max of * and +.
const forever = 1<<31 - 1

// An assertion is a place in the text.
type assertion uint8

const (
	atTextStart assertion = iota
	atTextEnd
	atLastEnd // \Z: the end, or the line end before it
	atLineStart
	atLineEnd
	atBoundary
	notBoundary
)

// Bounds that keep a hostile expression small.
const (
	maxRegexBytes = 1 << 16
	maxRegexDepth = 64
	maxRegexNodes = 1 << 14
)

// A regexError says where an expression is malformed or uses what the engine
// does not support.
type regexError struct {
	Expr   string
	Offset int // bytes
	Why    string
}

func (e *regexError) Error() string {
	return fmt.Sprintf("expression %s: at byte %d: %s", clip(e.Expr), e.Offset, e.Why)
}

// regexFlags are (?i), (?m) and (?x) of Ruby.
type regexFlags struct{ fold, dot, free bool }

type regexParser struct {
	s     string
	i     int
	depth int
	nodes int
	flags regexFlags
}

// parseRegex returns the tree of expr, or a [*regexError].
func parseRegex(expr string) (n *regexNode, err error) {
	p := &regexParser{s: expr}
	defer func() { // the parser descends; unwinding by hand would double its length
		if r := recover(); r != nil {
			e, ok := r.(*regexError)
			if !ok {
				panic(r)
			}
			n, err = nil, e
		}
	}()
	if len(expr) > maxRegexBytes {
		p.fail("longer than %d bytes", maxRegexBytes)
	}
	if !utf8.ValidString(expr) {
		p.fail("not UTF-8")
	}
	n = p.alternatives()
	if p.i < len(p.s) {
		p.fail("a parenthesis that nothing opens")
	}
	return n, nil
}

func (p *regexParser) fail(format string, args ...any) {
	panic(&regexError{Expr: p.s, Offset: p.i, Why: fmt.Sprintf(format, args...)})
}

func (p *regexParser) node(n regexNode) *regexNode {
	if p.nodes++; p.nodes > maxRegexNodes {
		p.fail("more than %d parts", maxRegexNodes)
	}
	n.from = p.i
	return &n
}

func (p *regexParser) more() bool { return p.i < len(p.s) }

// take consumes text if it comes next.
func (p *regexParser) take(text string) bool {
	if strings.HasPrefix(p.s[p.i:], text) {
		p.i += len(text)
		return true
	}
	return false
}

func (p *regexParser) rune() rune {
	if !p.more() {
		p.fail("an end too early")
	}
	r, n := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += n
	return r
}

// alternatives reads up to a closing parenthesis or the end. Flags set inside
// end with it.
func (p *regexParser) alternatives() *regexNode {
	if p.depth++; p.depth > maxRegexDepth {
		p.fail("more than %d groups in one another", maxRegexDepth)
	}
	flags := p.flags
	defer func() { p.depth--; p.flags = flags }()
	list := []*regexNode{p.sequence()}
	for p.take("|") {
		list = append(list, p.sequence())
	}
	if len(list) == 1 {
		return list[0]
	}
	return p.node(regexNode{kind: reAlt, subs: list})
}

func (p *regexParser) sequence() *regexNode {
	n := p.node(regexNode{kind: reSeq})
	for p.more() && p.s[p.i] != '|' && p.s[p.i] != ')' {
		if p.flags.free && p.skipFree() {
			continue
		}
		if one := p.atom(); one != nil {
			n.subs = append(n.subs, p.quantified(one))
		}
	}
	return n
}

// skipFree skips white space and comments of the extended form.
func (p *regexParser) skipFree() bool {
	switch c := p.s[p.i]; {
	case c == ' ' || c >= '\t' && c <= '\r':
		p.i++
	case c == '#':
		for p.more() && p.s[p.i] != '\n' {
			p.i++
		}
	default:
		return false
	}
	return true
}

// quantified reads what follows an atom.
func (p *regexParser) quantified(n *regexNode) *regexNode {
	for p.more() {
		lo, hi, interval := 0, forever, false
		switch p.s[p.i] {
		case '*':
			p.i++
		case '+':
			lo = 1
			p.i++
		case '?':
			hi = 1
			p.i++
		case '{':
			end := strings.IndexByte(p.s[p.i:], '}')
			var ok bool
			if end < 0 {
				return n
			}
			if lo, hi, ok = interval2(p.s[p.i+1 : p.i+end]); !ok {
				return n // a brace that is only a character; atom reads it
			}
			interval = true
			p.i += end + 1
		default:
			return n
		}
		if lo > hi || lo > maxRegexNodes || hi != forever && hi > maxRegexNodes {
			p.fail("a number of repetitions that is too large or backwards")
		}
		if n.kind == reAssert || n.kind == reLook {
			p.fail("the repetition of a place")
		}
		r := p.node(regexNode{kind: reRepeat, subs: []*regexNode{n}, min: lo, max: hi})
		switch {
		case p.take("?"):
			if interval && lo == hi {
				p.fail("{n}?, which readers understand differently")
			}
			r.lazy = true
		case !interval && p.take("+"):
			r.hold = true
		}
		n = r
	}
	return n
}

// interval2 reads the inside of {n}, {n,}, {,m} or {n,m}.
func interval2(s string) (lo, hi int, ok bool) {
	a, b, two := strings.Cut(s, ",")
	number := func(s string, none int) int {
		if s == "" {
			return none
		}
		for i := range len(s) {
			if s[i] < '0' || s[i] > '9' {
				ok = false
				return 0
			}
		}
		v, err := strconv.Atoi(s)
		if err != nil {
			v = maxRegexNodes + 1
		}
		return v
	}
	ok = s != "" && s != ","
	lo = number(a, 0)
	if hi = lo; two {
		hi = number(b, forever)
	} else if a == "" {
		ok = false
	}
	return lo, hi, ok
}

func (p *regexParser) one(set *runeSet) *regexNode {
	if p.flags.fold {
		if set.single && foldsToSeveral(set.r) {
			p.fail("%q without regard to case, which stands for several letters", set.r)
		}
		set = set.folded()
	}
	return p.node(regexNode{kind: reSet, set: set})
}

func (p *regexParser) place(a assertion) *regexNode {
	return p.node(regexNode{kind: reAssert, assert: a})
}

// atom reads one part; nil is a part that matches nothing by itself, such as a
// comment.
func (p *regexParser) atom() *regexNode {
	start := p.i
	switch r := p.rune(); r {
	case '(':
		return p.group()
	case '[':
		return p.one(p.class())
	case '.':
		if p.flags.dot {
			return p.node(regexNode{kind: reSet, set: newRuneSet(func(rune) bool { return true })})
		}
		return p.node(regexNode{kind: reSet, set: newRuneSet(func(r rune) bool { return r != '\n' })})
	case '^':
		return p.place(atLineStart)
	case '$':
		return p.place(atLineEnd)
	case '*', '+', '?':
		p.i = start
		p.fail("a repetition of nothing")
	case '\\':
		return p.escape()
	default:
		return p.one(only(r))
	}
	return nil
}

func (p *regexParser) close(n *regexNode) *regexNode {
	if !p.take(")") {
		p.fail("a group that does not end")
	}
	return n
}

// group reads what follows an opening parenthesis.
func (p *regexParser) group() *regexNode {
	look := func(not, behind bool) *regexNode {
		return p.close(p.node(regexNode{kind: reLook, not: not, behind: behind, subs: []*regexNode{p.alternatives()}}))
	}
	switch {
	case !p.take("?"):
		return p.close(p.alternatives())
	case p.take(":"):
		return p.close(p.alternatives())
	case p.take("="):
		return look(false, false)
	case p.take("!"):
		return look(true, false)
	case p.take("<="):
		return look(false, true)
	case p.take("<!"):
		return look(true, true)
	case p.take(">"):
		return p.close(p.node(regexNode{kind: reAtomic, subs: []*regexNode{p.alternatives()}}))
	case p.take("#"):
		end := strings.IndexByte(p.s[p.i:], ')')
		if end < 0 {
			p.fail("a comment that does not end")
		}
		p.i += end + 1
		return nil
	case p.take("<"):
		end := strings.IndexByte(p.s[p.i:], '>')
		if end < 1 {
			p.fail("a group without a name")
		}
		p.i += end + 1
		return p.close(p.alternatives())
	}
	return p.flagged()
}

// flagged reads (?imx-imx) and (?imx-imx: … ).
func (p *regexParser) flagged() *regexNode {
	flags, on := p.flags, true
	for {
		switch c := p.rune(); c {
		case 'i':
			flags.fold = on
		case 'm':
			flags.dot = on
		case 'x':
			flags.free = on
		case '-':
			on = false
		case ')': // up to the end of the group around it, and over its alternatives
			p.flags = flags
			return p.alternativesHere()
		case ':':
			before := p.flags
			p.flags = flags
			n := p.close(p.alternatives())
			p.flags = before
			return n
		default:
			p.fail("the unknown group (?%c", c)
		}
	}
}

// alternativesHere reads the rest of the enclosing group, which belongs to a
// flag in its middle.
func (p *regexParser) alternativesHere() *regexNode {
	list := []*regexNode{p.sequence()}
	for p.take("|") {
		list = append(list, p.sequence())
	}
	return p.node(regexNode{kind: reAlt, subs: list})
}

// escape reads what follows a backslash outside of a class.
func (p *regexParser) escape() *regexNode {
	start := p.i
	switch r := p.rune(); r {
	case 'A':
		return p.place(atTextStart)
	case 'z':
		return p.place(atTextEnd)
	case 'Z':
		return p.place(atLastEnd)
	case 'b':
		return p.place(atBoundary)
	case 'B':
		return p.place(notBoundary)
	case 'w', 'W':
		return p.one(newRuneSet(func(c rune) bool { return isLooseWord(c) == (r == 'w') }))
	}
	p.i = start
	return p.one(p.escapedSet())
}

// escapedSet reads what follows a backslash and stands for a character or a
// class.
func (p *regexParser) escapedSet() *runeSet {
	r := p.rune()
	classes := func(c class, not bool) *runeSet {
		return newRuneSet(func(r rune) bool { return (classOf(r)&c != 0) != not })
	}
	switch r {
	case 's', 'S':
		return classes(classSpace, r == 'S')
	case 'w', 'W':
		return newRuneSet(func(c rune) bool { return isRegexWord(c) == (r == 'w') })
	case 'd', 'D':
		return newRuneSet(func(c rune) bool { return isDecimal(c) == (r == 'd') })
	case 'h', 'H':
		return newRuneSet(func(c rune) bool { return unicode.Is(unicode.ASCII_Hex_Digit, c) == (r == 'h') })
	case 'p', 'P':
		return p.property(r == 'P')
	case 'n':
		return only('\n')
	case 't':
		return only('\t')
	case 'r':
		return only('\r')
	case 'f':
		return only('\f')
	case 'v':
		return only('\v')
	case 'a':
		return only('\a')
	case 'e':
		return only(0x1b)
	case 'x':
		if p.take("{") {
			end := strings.IndexByte(p.s[p.i:], '}')
			if end < 0 {
				p.fail("a character number that does not end")
			}
			return p.hex(end, 1)
		}
		n := 0
		for n < 2 && p.i+n < len(p.s) && isHex(p.s[p.i+n]) {
			n++
		}
		return p.hex(n, 0)
	case 'u':
		return p.hex(4, 0)
	}
	if r < utf8.RuneSelf && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
		p.fail(`\%c, which is not supported`, r)
	}
	return only(r)
}

func isHex(c byte) bool { _, ok := hexDigit(c); return ok }

// hex reads n digits, and skips what closes them.
func (p *regexParser) hex(n, skip int) *runeSet {
	if n < 1 || p.i+n > len(p.s) {
		p.fail("a character number without digits")
	}
	v, err := strconv.ParseUint(p.s[p.i:p.i+n], 16, 32)
	if err != nil || v > unicode.MaxRune {
		p.fail("%q, which is no character number", p.s[p.i:p.i+n])
	}
	p.i += n + skip
	return only(rune(v))
}

// property reads {Name} or {^Name} of \p.
func (p *regexParser) property(not bool) *runeSet {
	if !p.take("{") {
		p.fail(`\p without braces`)
	}
	end := strings.IndexByte(p.s[p.i:], '}')
	if end < 0 {
		p.fail("a property that does not end")
	}
	name := p.s[p.i : p.i+end]
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, not = rest, !not
	}
	test := propertyOf(name)
	if test == nil {
		p.fail("the unknown property %s", clip(name))
	}
	p.i += end + 1
	return newRuneSet(func(r rune) bool { return test(r) != not })
}

// class reads what follows an opening bracket: members, nested classes, and
// intersections.
func (p *regexParser) class() *runeSet {
	if p.depth++; p.depth > maxRegexDepth {
		p.fail("more than %d classes in one another", maxRegexDepth)
	}
	defer func() { p.depth-- }()
	not := p.take("^")
	var both, any *runeSet // both: of the intersections so far
	first := true
	for {
		if !p.more() {
			p.fail("a class that does not end")
		}
		switch {
		case p.s[p.i] == ']' && !first:
			p.i++
			any = any.and(both)
			if any == nil {
				p.fail("an empty class")
			}
			if not {
				any = any.not()
			}
			return any
		case p.take("&&"):
			if any == nil {
				p.fail("an intersection with nothing")
			}
			both, any = any.and(both), nil
		case strings.HasPrefix(p.s[p.i:], "[:"):
			any = any.or(p.posix())
		case p.take("["):
			any = any.or(p.class())
		default:
			any = any.or(p.member())
		}
		first = false
		if p.nodes++; p.nodes > maxRegexNodes {
			p.fail("more than %d parts", maxRegexNodes)
		}
	}
}

// posix reads [:name:].
func (p *regexParser) posix() *runeSet {
	end := 2 + strings.Index(p.s[p.i+2:], ":]")
	if end < 2 {
		p.i++
		return p.class() // an ordinary class that begins with a colon
	}
	name, not := strings.CutPrefix(p.s[p.i+2:p.i+end], "^")
	test := posixOf(strings.ToLower(name))
	if test == nil {
		p.fail("the unknown class [:%s:]", name)
	}
	p.i += end + 2
	return newRuneSet(func(r rune) bool { return test(r) != not })
}

// member reads a character, an escape or a range.
func (p *regexParser) member() *runeSet {
	end := func() *runeSet {
		if !p.take(`\`) {
			return only(p.rune())
		}
		if p.take("b") {
			return only('\b')
		}
		return p.escapedSet()
	}
	lo := end()
	if !lo.single || !p.more() || p.s[p.i] != '-' || strings.HasPrefix(p.s[p.i:], "-]") || strings.HasPrefix(p.s[p.i:], "-[") {
		return lo
	}
	p.i++
	hi := end()
	if !hi.single || hi.r < lo.r {
		p.fail("a range that is empty or has no end")
	}
	a, b := lo.r, hi.r
	return newRuneSet(func(r rune) bool { return r >= a && r <= b })
}
