package grammar

import (
	"fmt"
	"unicode/utf8"
)

// Parse reads a grammar in GBNF, the notation of llama.cpp
// (grammars/README.md of its repository):
//
//	root  ::= "yes" | "no" why?      # alternatives, a reference, a comment
//	why   ::= " because " word{1,9}  # also * + ? {m} {m,}
//	word  ::= ([a-z] | [^\x00-\x7F]) .
//
// The rule root derives the whole text. A line ends a rule, except in
// parentheses and after "|" or "::=". Rules that begin with themselves are errors, as
// are names without a rule and references to tokens ("<…>").
func Parse(b *Budget, source string) (*Grammar, error) {
	p := &parser{s: source, ids: map[string]int{}}
	if len(source) > maxSource {
		return nil, b.spent(&LimitError{What: "bytes", Most: maxSource}, place{})
	}
	if err := p.parse(); err != nil {
		return nil, b.spent(err, place{offset: p.pos})
	}
	g := &Grammar{rules: p.rules}
	if err := g.build(b); err != nil {
		if e, ok := err.(*ruleError); ok {
			err = p.fail(g.rules[e.rule].at, "rule %s %s", g.rules[e.rule].name, e.why)
		}
		return nil, err
	}
	return g, nil
}

// A parser reads GBNF.
type parser struct {
	s     string
	pos   int
	rules []rule
	ids   map[string]int // by name
	used  []int          // byte of the first use of each rule
}

func (p *parser) fail(at int, why string, args ...any) error {
	return &Error{Offset: at, Why: fmt.Sprintf(why, args...)}
}

func (p *parser) parse() error {
	p.id("root", 0) // rule 0
	p.space(true)
	for p.pos < len(p.s) {
		at := p.pos
		name := p.name()
		if name == "" {
			return p.fail(at, "want the name of a rule")
		}
		p.space(false)
		if len(p.s)-p.pos < 3 || p.s[p.pos:p.pos+3] != "::=" {
			return p.fail(p.pos, "want ::= after the name of a rule")
		}
		p.pos += 3
		p.space(true)
		id := p.id(name, at)
		if p.rules[id].body != nil {
			return p.fail(at, "rule %s is there twice", name)
		}
		body, err := p.alternatives(0)
		if err != nil {
			return err
		}
		if p.pos < len(p.s) && p.s[p.pos] != '\n' && p.s[p.pos] != '\r' {
			return p.fail(p.pos, "unexpected %q", p.s[p.pos])
		}
		if len(p.rules) > maxRules {
			return &LimitError{What: "rules", Most: maxRules}
		}
		p.rules[id].body, p.rules[id].at = body, at
		p.space(true)
	}
	for i, r := range p.rules {
		if r.body == nil {
			return p.fail(p.used[i], "there is no rule %s", r.name)
		}
	}
	return nil
}

// id returns the number of a rule.
func (p *parser) id(name string, at int) int {
	id, ok := p.ids[name]
	if !ok {
		id = len(p.rules)
		p.ids[name] = id
		p.rules, p.used = append(p.rules, rule{name: name}), append(p.used, at)
	}
	return id
}

// space skips blanks and comments, and the ends of lines if they mean nothing.
func (p *parser) space(lines bool) {
	for p.pos < len(p.s) {
		switch c := p.s[p.pos]; {
		case c == '#':
			for p.pos < len(p.s) && p.s[p.pos] != '\n' && p.s[p.pos] != '\r' {
				p.pos++
			}
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.pos++
		default:
			return
		}
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (p *parser) name() string {
	from := p.pos
	for p.pos < len(p.s) && isWord(p.s[p.pos]) {
		p.pos++
	}
	return p.s[from:p.pos]
}

func (p *parser) alternatives(depth int) (*expr, error) {
	if depth > maxNesting {
		return nil, &LimitError{What: "groups in groups", Most: maxNesting}
	}
	var list []*expr
	for {
		e, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if p.pos >= len(p.s) || p.s[p.pos] != '|' {
			break
		}
		p.pos++
		p.space(true)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return alt(list...), nil
}

func (p *parser) sequence(depth int) (*expr, error) {
	var list []*expr
	for p.pos < len(p.s) {
		var e *expr
		var err error
		at := p.pos
		switch c := p.s[p.pos]; {
		case c == '"':
			e, err = p.text()
		case c == '[':
			e, err = p.class()
		case c == '.':
			p.pos++
			e = class(0, utf8.MaxRune)
		case c == '(':
			p.pos++
			p.space(true)
			if e, err = p.alternatives(depth + 1); err == nil {
				if p.pos >= len(p.s) || p.s[p.pos] != ')' {
					return nil, p.fail(at, "the parenthesis is not closed")
				}
				p.pos++
			}
		case c == '*' || c == '+' || c == '?' || c == '{':
			if len(list) == 0 {
				return nil, p.fail(at, "%q repeats nothing", c)
			}
			last := &list[len(list)-1]
			*last, err = p.repetition(*last)
			if err != nil {
				return nil, err
			}
			p.space(depth > 0)
			continue
		case c == '<' || c == '!':
			return nil, p.fail(at, "references to tokens are not supported: write their text")
		case isWord(c):
			name := p.name()
			e = ref(p.id(name, at))
		default:
			return seq(list...), nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		p.space(depth > 0)
	}
	return seq(list...), nil
}

// repetition reads what follows a repeated expression.
func (p *parser) repetition(e *expr) (*expr, error) {
	at := p.pos
	deep := 0
	for x := e; x.op == opRepeat; x = x.subs[0] {
		if deep++; deep > maxNesting {
			return nil, &LimitError{What: "repetitions of repetitions", Most: maxNesting}
		}
	}
	p.pos++
	switch p.s[at] {
	case '*':
		return repeat(e, 0, unbounded), nil
	case '+':
		return repeat(e, 1, unbounded), nil
	case '?':
		return optional(e), nil
	}
	p.space(true)
	least, err := p.number()
	if err != nil {
		return nil, err
	}
	most := least
	p.space(true)
	if p.pos < len(p.s) && p.s[p.pos] == ',' {
		p.pos++
		p.space(true)
		most = unbounded
		if p.pos < len(p.s) && p.s[p.pos] != '}' {
			if most, err = p.number(); err != nil {
				return nil, err
			}
		}
		p.space(true)
	}
	switch {
	case p.pos >= len(p.s) || p.s[p.pos] != '}':
		return nil, p.fail(p.pos, "want } after a repetition")
	case most < least:
		return nil, p.fail(at, "a repetition of %d to %d times", least, most)
	}
	p.pos++
	return repeat(e, least, most), nil
}

func (p *parser) number() (int, error) {
	at, n := p.pos, 0
	for p.pos < len(p.s) && p.s[p.pos] >= '0' && p.s[p.pos] <= '9' {
		if n = n*10 + int(p.s[p.pos]-'0'); n > maxRepeat {
			return 0, &LimitError{What: "repetitions", Most: maxRepeat}
		}
		p.pos++
	}
	if at == p.pos {
		return 0, p.fail(at, "want a number")
	}
	return n, nil
}

func (p *parser) text() (*expr, error) {
	at := p.pos
	var b []byte
	for p.pos++; p.pos < len(p.s) && p.s[p.pos] != '"'; {
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		b = utf8.AppendRune(b, r)
	}
	if p.pos >= len(p.s) {
		return nil, p.fail(at, "the text has no closing quote")
	}
	p.pos++
	return text(string(b)), nil
}

func (p *parser) class() (*expr, error) {
	at := p.pos
	p.pos++
	not := p.pos < len(p.s) && p.s[p.pos] == '^'
	if not {
		p.pos++
	}
	var set []span
	for p.pos < len(p.s) && p.s[p.pos] != ']' {
		from := p.pos
		lo, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if p.pos+1 < len(p.s) && p.s[p.pos] == '-' && p.s[p.pos+1] != ']' {
			p.pos++
			if hi, err = p.char(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, p.fail(from, "a range from %q down to %q", lo, hi)
		}
		set = append(set, span{lo, hi})
	}
	if p.pos >= len(p.s) {
		return nil, p.fail(at, "the class has no closing bracket")
	}
	p.pos++
	set = tidy(set)
	if not {
		set = complement(set)
	}
	return &expr{op: opClass, class: set}, nil
}

// char reads a character of a text or a class.
func (p *parser) char() (rune, error) {
	at := p.pos
	r, n := utf8.DecodeRuneInString(p.s[p.pos:])
	if r == utf8.RuneError && n <= 1 {
		return 0, p.fail(at, "the grammar is not UTF-8")
	}
	p.pos += n
	if r != '\\' {
		return r, nil
	}
	if p.pos >= len(p.s) {
		return 0, p.fail(at, "nothing follows the backslash")
	}
	c := p.s[p.pos]
	p.pos++
	switch c {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case '\\', '"', '[', ']':
		return rune(c), nil
	case 'x', 'u', 'U':
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		v := 0
		for range digits {
			d := -1
			if p.pos < len(p.s) {
				d = hexDigit(p.s[p.pos])
			}
			if d < 0 {
				return 0, p.fail(at, "want %d hexadecimal digits after \\%c", digits, c)
			}
			v = v<<4 | d
			p.pos++
		}
		if v > utf8.MaxRune || !utf8.ValidRune(rune(v)) {
			return 0, p.fail(at, "U+%X is no character", v)
		}
		return rune(v), nil
	}
	return 0, p.fail(at, "unknown escape \\%c", c)
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
