package grammar

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Grammar is a list of rules, the first of which derives the texts of its
// language. [Parse] and [FromSchema] make one; String prints GBNF, which Parse
// reads back.
type Grammar struct {
	rules  []rule
	net    *net
	schema bool // its source is one
}

type rule struct {
	name string
	body *expr
	at   int // byte of the source, for errors
	// pointer is into the schema that it comes from.
	pointer string
}

// An op says what an expr matches.
type op uint8

const (
	opText   op = iota // text
	opClass            // one character of class
	opSeq              // subs, one after another
	opAlt              // one of subs; of none, nothing at all
	opRepeat           // subs[0], least to most times
	opRef              // rule
)

// unbounded is the upper bound of a repetition without one.
const unbounded = math.MaxInt

// An expr is a part of a rule.
type expr struct {
	op          op
	text        string
	class       []span // ascending, apart
	subs        []*expr
	least, most int
	rule        int
}

// A span is a range of code points.
type span struct{ lo, hi rune }

func text(s string) *expr     { return &expr{op: opText, text: s} }
func ref(r int) *expr         { return &expr{op: opRef, rule: r} }
func seq(subs ...*expr) *expr { return &expr{op: opSeq, subs: subs} }
func alt(subs ...*expr) *expr { return &expr{op: opAlt, subs: subs} }
func optional(e *expr) *expr  { return repeat(e, 0, 1) }
func repeat(e *expr, least, most int) *expr {
	return &expr{op: opRepeat, subs: []*expr{e}, least: least, most: most}
}

// class returns the expression of a set of characters given as pairs of bounds.
func class(bounds ...rune) *expr {
	var set []span
	for i := 0; i < len(bounds); i += 2 {
		set = append(set, span{bounds[i], bounds[i+1]})
	}
	return &expr{op: opClass, class: tidy(set)}
}

// tidy sorts spans and joins those that touch.
func tidy(set []span) []span {
	slices.SortFunc(set, func(a, b span) int { return int(a.lo - b.lo) })
	out := set[:0]
	for _, s := range set {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, s.hi)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// complement returns the characters that a tidy set lacks.
func complement(set []span) []span {
	var out []span
	next := rune(0)
	for _, s := range set {
		if s.lo > next {
			out = append(out, span{next, s.lo - 1})
		}
		next = s.hi + 1
	}
	if next <= utf8.MaxRune {
		out = append(out, span{next, utf8.MaxRune})
	}
	return out
}

// intersect returns the characters of two tidy sets.
func intersect(a, b []span) []span {
	var out []span
	for _, x := range a {
		for _, y := range b {
			if lo, hi := max(x.lo, y.lo), min(x.hi, y.hi); lo <= hi {
				out = append(out, span{lo, hi})
			}
		}
	}
	return tidy(out)
}

// String returns the grammar as GBNF.
func (g *Grammar) String() string {
	var b strings.Builder
	for i, r := range g.rules {
		fmt.Fprintf(&b, "%s ::= ", g.name(i))
		g.print(&b, r.body, false)
		b.WriteByte('\n')
	}
	return b.String()
}

// name returns the name of a rule in GBNF.
func (g *Grammar) name(i int) string {
	if i == 0 {
		return "root"
	}
	return g.rules[i].name
}

// print writes an expression; inner is set inside another one.
func (g *Grammar) print(b *strings.Builder, e *expr, inner bool) {
	switch e.op {
	case opText:
		b.WriteByte('"')
		for _, r := range e.text {
			printRune(b, r, `"\`)
		}
		b.WriteByte('"')
	case opClass:
		b.WriteByte('[')
		for _, s := range e.class {
			printRune(b, s.lo, `]\^-[`)
			if s.hi > s.lo {
				b.WriteByte('-')
				printRune(b, s.hi, `]\^-[`)
			}
		}
		b.WriteByte(']')
	case opRef:
		b.WriteString(g.name(e.rule))
	case opRepeat:
		g.print(b, e.subs[0], true)
		switch {
		case e.most == unbounded:
			fmt.Fprintf(b, "{%d,}", e.least)
		case e.most == e.least:
			fmt.Fprintf(b, "{%d}", e.least)
		default:
			fmt.Fprintf(b, "{%d,%d}", e.least, e.most)
		}
	case opSeq, opAlt:
		between := " "
		if e.op == opAlt {
			between = " | "
		}
		switch {
		case e.op == opAlt && len(e.subs) == 0:
			b.WriteString("[]") // nothing matches
			return
		case len(e.subs) == 0:
			b.WriteString(`""`)
			return
		case len(e.subs) == 1:
			g.print(b, e.subs[0], inner)
			return
		}
		if inner {
			b.WriteByte('(')
		}
		for i, s := range e.subs {
			if i > 0 {
				b.WriteString(between)
			}
			g.print(b, s, true)
		}
		if inner {
			b.WriteByte(')')
		}
	}
}

// printRune writes a character of a text or a class in which some are special.
func printRune(b *strings.Builder, r rune, special string) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\\' || r == '"' || r == '[' || r == ']':
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	case r < ' ' || r == 0x7f || r < 0x80 && strings.ContainsRune(special, r):
		fmt.Fprintf(b, `\x%02X`, r)
	case r > 0x7e && r <= 0xffff:
		fmt.Fprintf(b, `\u%04X`, r)
	case r > 0xffff:
		fmt.Fprintf(b, `\U%08X`, r)
	default:
		b.WriteRune(r)
	}
}
