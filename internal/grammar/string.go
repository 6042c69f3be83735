package grammar

import (
	"slices"
	"unicode/utf8"
)

// string returns the expression of the strings that f allows. Strings of any length, and
// those that only their length tells, may have each escape of JSON; of others each
// character stands in its usual form.
func (c *compiler) string(f *flat) (*expr, error) {
	least, most := f.length()
	switch {
	case least > most:
		return alt(), nil
	case f.listed():
	case least == 0 && most == unbounded:
		return c.use("string"), nil
	default:
		if least > maxRepeat {
			return nil, &LimitError{What: "characters of a string of bounded length", Most: maxRepeat}
		}
		char := alt(class(' ', '!', '#', '[', ']', utf8.MaxRune), seq(text(`\`), c.use("escape")))
		return seq(text(`"`), repeat(char, least, most), text(`"`)), nil
	}
	d, err := c.strings(f)
	if err != nil {
		return nil, err
	}
	return seq(text(`"`), c.emit(d, true, text(`"`))), nil
}

// length returns the bounds of the length of strings.
func (f *flat) length() (least, most int) {
	least, most = f.least["Length"], unbounded
	if m, ok := f.most["Length"]; ok {
		most = m
	}
	return least, most
}

// listed reports whether more than their length tells which strings are allowed.
func (f *flat) listed() bool {
	return len(f.strings) > 0 || slices.ContainsFunc(f.except, func(x *value) bool { return x.kind == '"' })
}

// strings returns the set of the strings that f allows, whose bounds of length are no
// contradiction.
func (c *compiler) strings(f *flat) (*dfa, error) {
	var out *dfa
	for _, s := range f.strings {
		d, err := c.condition(s)
		if err == nil && out != nil {
			d, err = out.and(c.budget, d)
		}
		if err != nil {
			return nil, failAt(s.x, err)
		}
		out = d
	}
	var except []string
	for _, x := range f.except {
		if x.kind == '"' {
			except = append(except, x.text)
		}
	}
	if len(except) > 0 {
		d, err := only(except...).not(), error(nil)
		if out != nil {
			d, err = out.and(c.budget, d)
		}
		if err != nil {
			return nil, failAt(f.all[0], err)
		}
		out = d
	}
	if out == nil {
		out = everything()
	}
	least, most := f.length()
	if shortest, longest := out.length(); least > shortest || most < longest {
		d, err := lengths(least, shortened(least, most, len(out.states)))
		if err == nil {
			out, err = out.and(c.budget, d)
		}
		if err != nil {
			return nil, failAt(f.all[0], err)
		}
	}
	return out, nil
}

// shortened returns the length up to which strings are written that an automaton of so
// many states tells apart too, since there is a state for each of its states and lengths.
func shortened(least, most, states int) int {
	const (
		cells = 1 << 13
		usual = 256 // characters that are written in any case
	)
	if most == unbounded {
		return most
	}
	return min(most, max(least, usual, cells/states))
}

// failAt adds a place to an error that has none.
func failAt(v *value, err error) error {
	switch err.(type) {
	case *Error, *LimitError:
		return err
	}
	return fail(v, "%v", err)
}

// condition returns the set of the strings that satisfy a pattern or a format.
func (c *compiler) condition(s condition) (*dfa, error) {
	key := s.keyword + " " + s.x.text
	d := c.sets[key]
	if d == nil {
		source := s.x.text
		if s.keyword == "format" {
			source = formats[source].pattern
		}
		var err error
		if d, err = matching(c.budget, source); err != nil {
			return nil, err
		}
		c.sets[key] = d
	}
	if s.not {
		d = d.not()
	}
	return d, nil
}

// length returns the least and the largest number of characters of the strings of a set
// that is trimmed.
func (d *dfa) length() (shortest, longest int) {
	const unknown = -1
	least := make([]int, len(d.states))
	for i := range least {
		least[i] = unbounded
	}
	todo := []int32{0}
	shortest, least[0] = unbounded, 0
	for ; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if d.states[at].accepts {
			shortest = min(shortest, least[at])
		}
		for _, e := range d.states[at].edges {
			if least[e.to] == unbounded {
				least[e.to] = least[at] + 1
				todo = append(todo, e.to)
			}
		}
	}
	most := make([]int, len(d.states))
	open := make([]bool, len(d.states))
	for i := range most {
		most[i] = unknown
	}
	var visit func(at int32) int
	visit = func(at int32) int {
		if open[at] {
			return unbounded
		}
		if most[at] != unknown {
			return most[at]
		}
		open[at] = true
		n := 0
		for _, e := range d.states[at].edges {
			n = max(n, add(visit(e.to), 1))
		}
		open[at], most[at] = false, n
		return n
	}
	return shortest, visit(0)
}

// emit returns the expression of the strings of a set and what follows them, as they stand
// inside a JSON string, or as they are. Each state is a rule, unless one edge alone leads
// there.
func (c *compiler) emit(d *dfa, quoted bool, end *expr) *expr {
	const (
		few  = 128 // states, up to which the rules of sets of characters are not shared
		deep = 24  // expressions in expressions
	)
	into := make([]int, len(d.states))
	for _, s := range d.states {
		for _, e := range s.edges {
			into[e.to]++
		}
	}
	rules := make([]int, len(d.states))
	var rule func(at int32) int
	chars := func(set []span) *expr {
		if !quoted {
			return &expr{op: opClass, class: set}
		}
		if len(d.states) > few && (len(set) > 4 || set[len(set)-1].hi >= utf8.RuneSelf) {
			return c.chars(set)
		}
		return char(set, true)
	}
	var body func(at int32, depth int) *expr
	body = func(at int32, depth int) *expr {
		s := &d.states[at]
		out := alt()
		for i, e := range s.edges {
			if slices.ContainsFunc(s.edges[:i], func(f dfaEdge) bool { return f.to == e.to }) {
				continue
			}
			var set []span
			for _, f := range s.edges[i:] {
				if f.to == e.to {
					set = append(set, f.span)
				}
			}
			next := (*expr)(nil)
			if into[e.to] == len(set) && e.to != 0 && depth < deep {
				next = body(e.to, depth+1)
			} else {
				next = ref(rule(e.to))
			}
			out.subs = append(out.subs, seq(chars(set), next))
		}
		if s.accepts {
			if end == nil {
				out.subs = append(out.subs, text(""))
			} else {
				out.subs = append(out.subs, end)
			}
		}
		if len(out.subs) == 1 {
			return out.subs[0]
		}
		return out
	}
	var todo []int32
	rule = func(at int32) int {
		if rules[at] == 0 {
			rules[at] = c.add("chars")
			todo = append(todo, at)
		}
		return rules[at]
	}
	start := ref(rule(0))
	for i := 0; i < len(todo); i++ {
		c.g.rules[rules[todo[i]]].body = body(todo[i], 0)
	}
	return start
}

// chars returns the rule of one character of a set.
func (c *compiler) chars(set []span) *expr {
	var key []byte
	for _, s := range set {
		key = appendInt(appendInt(key, s.lo), s.hi)
	}
	name := "chars " + string(key)
	if r, ok := c.fixed[name]; ok {
		return ref(r)
	}
	e := c.define("char", char(set, true))
	c.fixed[name] = e.rule
	return e
}

// expr adds what reads an expression, whose references do not lead to themselves, and then
// goes on at a node.
func (n *nfa) expr(e *expr, next int32) (int32, error) {
	switch e.op {
	case opText:
		for _, r := range slices.Backward([]rune(e.text)) {
			var err error
			if next, err = n.add(nfaNode{set: []span{{r, r}}, to: next}); err != nil {
				return 0, err
			}
		}
		return next, nil
	case opClass:
		return n.add(nfaNode{set: e.class, to: next})
	case opSeq:
		for _, s := range slices.Backward(e.subs) {
			var err error
			if next, err = n.expr(s, next); err != nil {
				return 0, err
			}
		}
		return next, nil
	case opAlt:
		var both []int32
		for _, s := range e.subs {
			to, err := n.expr(s, next)
			if err != nil {
				return 0, err
			}
			both = append(both, to)
		}
		return n.add(nfaNode{both: both})
	case opRepeat:
		end := next
		for i := e.most; i > 0; i-- {
			to, err := n.expr(e.subs[0], end)
			if err == nil && i > e.least {
				to, err = n.add(nfaNode{both: []int32{next, to}})
			}
			if err != nil {
				return 0, err
			}
			end = to
		}
		return end, nil
	}
	panic("grammar: numerals have no rules") // see number.go
}
