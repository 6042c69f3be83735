package grammar

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// string returns the expression of the strings that f allows.
func (c *compiler) string(f *flat) (*expr, error) {
	least, most := f.least["Length"], unbounded
	if m, ok := f.most["Length"]; ok {
		most = m
	}
	bounded := least > 0 || most != unbounded
	switch {
	case least > most:
		return alt(), nil
	case f.format != nil && (f.pattern != nil || bounded):
		return nil, fail(f.format, "a format together with a pattern or bounds of length is not supported")
	case f.format != nil:
		return c.use(f.format.text), nil
	case f.pattern != nil:
		return c.pattern(f.pattern, least, most)
	case !bounded:
		return c.use("string"), nil
	}
	if least > maxRepeat || most != unbounded && most > maxRepeat {
		return nil, &LimitError{What: "characters of a string of bounded length", Most: maxRepeat}
	}
	char := alt(class(' ', '!', '#', '[', ']', utf8.MaxRune), seq(text(`\`), c.use("escape")))
	return seq(text(`"`), repeat(char, least, most), text(`"`)), nil
}

// pattern returns the expression of the strings in which a regular expression
// matches, each character in its usual form. The syntax is what Go's and
// ECMAScript's have in common; anchors may stand only where the expression, or
// one of its alternatives, begins and ends.
func (c *compiler) pattern(x *value, least, most int) (*expr, error) {
	re, err := syntax.Parse(x.text, syntax.Perl)
	if err != nil {
		return nil, fail(x, "%v", err)
	}
	alternatives := []*syntax.Regexp{re}
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
		alternatives[0] = re
	}
	if re.Op == syntax.OpAlternate {
		alternatives = re.Sub
	}
	any := repeat(char([]span{{0, utf8.MaxRune}}, true), 0, unbounded)
	out := alt()
	low, high := unbounded, 0
	for _, r := range alternatives {
		parts := []*syntax.Regexp{r}
		for r.Op == syntax.OpCapture {
			r = r.Sub[0]
			parts[0] = r
		}
		if r.Op == syntax.OpConcat {
			parts = r.Sub
		}
		open, closed := false, false
		for len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
			open, parts = true, parts[1:]
		}
		for len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText {
			closed, parts = true, parts[:len(parts)-1]
		}
		e, lo, hi := seq(), 0, 0
		if !open {
			e.subs, hi = append(e.subs, any), unbounded
		}
		for _, p := range parts {
			s, a, b, err := regular(x, p)
			if err != nil {
				return nil, err
			}
			e.subs = append(e.subs, s)
			lo, hi = lo+a, add(hi, b)
		}
		if !closed {
			e.subs, hi = append(e.subs, any), unbounded
		}
		low, high = min(low, lo), max(high, hi)
		out.subs = append(out.subs, e)
	}
	if least > low || most < high {
		return nil, fail(x, "a pattern of %d characters or more together with bounds of length that it does not keep by itself is not supported", low)
	}
	return seq(text(`"`), out, text(`"`)), nil
}

// add is a + b, which may be unbounded.
func add(a, b int) int {
	if a == unbounded || b == unbounded {
		return unbounded
	}
	return min(a+b, 1<<40)
}

// regular converts a part of a regular expression; lo and hi are the numbers of
// characters that it matches.
func regular(x *value, r *syntax.Regexp) (e *expr, lo, hi int, err error) {
	subs := func() (list []*expr, low, high []int) {
		for _, s := range r.Sub {
			var e *expr
			var a, b int
			if err == nil {
				e, a, b, err = regular(x, s)
			}
			list, low, high = append(list, e), append(low, a), append(high, b)
		}
		return list, low, high
	}
	times := func(least, most int) {
		list, low, high := subs()
		if err != nil {
			return
		}
		e, lo = repeat(list[0], least, most), low[0]*least
		switch {
		case high[0] == 0 || most == 0:
			hi = 0
		case most == unbounded || high[0] == unbounded:
			hi = unbounded
		default:
			hi = high[0] * most
		}
	}
	switch r.Op {
	case syntax.OpEmptyMatch:
		return text(""), 0, 0, nil
	case syntax.OpNoMatch:
		return alt(), 0, 0, nil
	case syntax.OpLiteral:
		if r.Flags&syntax.FoldCase != 0 {
			return nil, 0, 0, fail(x, "flags in a pattern are not supported")
		}
		var b strings.Builder
		for _, c := range r.Rune {
			b.WriteString(encode(c))
		}
		return text(b.String()), len(r.Rune), len(r.Rune), nil
	case syntax.OpCharClass:
		var set []span
		for i := 0; i < len(r.Rune); i += 2 {
			set = append(set, span{r.Rune[i], r.Rune[i+1]})
		}
		return char(tidy(set), true), 1, 1, nil
	case syntax.OpAnyCharNotNL: // ECMAScript leaves out three more
		return char(complement(tidy([]span{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}})), true), 1, 1, nil
	case syntax.OpAnyChar:
		return char([]span{{0, utf8.MaxRune}}, true), 1, 1, nil
	case syntax.OpCapture:
		return regular(x, r.Sub[0])
	case syntax.OpStar:
		times(0, unbounded)
		return e, lo, hi, err
	case syntax.OpPlus:
		times(1, unbounded)
		return e, lo, hi, err
	case syntax.OpQuest:
		times(0, 1)
		return e, lo, hi, err
	case syntax.OpRepeat:
		most := r.Max
		if most < 0 {
			most = unbounded
		}
		times(r.Min, most)
		return e, lo, hi, err
	case syntax.OpConcat:
		list, low, high := subs()
		for i := range low {
			lo, hi = lo+low[i], add(hi, high[i])
		}
		return seq(list...), lo, hi, err
	case syntax.OpAlternate:
		list, low, high := subs()
		lo = unbounded
		for i := range low {
			lo, hi = min(lo, low[i]), max(hi, high[i])
		}
		return alt(list...), lo, hi, err
	}
	return nil, 0, 0, fail(x, "%s is not supported inside a pattern", r)
}
