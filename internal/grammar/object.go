package grammar

import (
	"slices"
	"strconv"
)

// A member is one of an object's that have names of their own.
type member struct {
	is   *expr // the name, the colon and the value
	must bool
}

// object returns the expression of the objects that f allows.
//
// Members are optional in an order, and a comma stands between two, so there is a rule for
// what may follow from each place on for each number of members that were written, as far
// as it matters: whether there is one, and up to minProperties and maxProperties.
func (c *compiler) object(f *flat) (*expr, error) {
	if len(f.some) > 0 {
		return c.violatingObject(f)
	}
	return c.objectWith(f, nil)
}

// violatingObject returns the expression of the objects that f allows if one member has to
// violate a schema: one of those that are listed, or another one.
func (c *compiler) violatingObject(f *flat) (*expr, error) {
	some := f.some[0]
	if len(f.some) > 1 {
		return nil, fail(f.some[1], "two members that must not satisfy schemas are not supported")
	}
	rest := slices.DeleteFunc(slices.Clone(f.all), func(v *value) bool { return v == some })
	out := alt()
	names := f.names()
	for _, name := range names {
		if !some.some.has(name) {
			continue
		}
		must := c.once("some of "+strconv.Itoa(some.id)+" "+name, func() *value {
			return c.object1(some, []string{"properties"}, []*value{c.object1(some, []string{name}, []*value{c.but(some.but)})})
		})
		one, err := c.merge(append(slices.Clip(rest), c.has(some, name), must))
		if err != nil {
			return nil, err
		}
		e, err := c.objectWith(one, nil)
		if err != nil {
			return nil, err
		}
		out.subs = append(out.subs, e)
	}
	one, err := c.merge(rest)
	if err != nil {
		return nil, err
	}
	classes, err := c.nameClasses(one, names)
	if err != nil {
		return nil, err
	}
	after := slices.Clone(classes)
	for i, set := range classes {
		if classes[i], err = set.and(c.budget, some.some); err == nil {
			after[i], err = set.and(c.budget, some.some.not())
		}
		if err != nil {
			return nil, failAt(some, err)
		}
	}
	hit := &hit{}
	if hit.is, err = c.classMembers(one, classes, c.but(some.but)); err != nil || hit.is == nil {
		return out, err
	}
	if hit.after, err = c.classMembers(one, after, nil); err != nil {
		return nil, err
	}
	e, err := c.objectWith(one, hit)
	out.subs = append(out.subs, e)
	return out, err
}

// A hit is a member without a name of its own that must be there. What comes after it has
// other names, since of two members of one name readers take the last.
type hit struct{ is, after *expr }

// objectWith is object for one in which a member that is not listed must be there, unless
// that is nil.
func (c *compiler) objectWith(f *flat, hit *hit) (*expr, error) {
	members, names, err := c.listedMembers(f)
	if err != nil {
		return nil, err
	}
	need, can := 0, 0
	for _, m := range members {
		if can++; m.must {
			need++
		}
	}
	least, most := f.least["Properties"], unbounded
	if m, ok := f.most["Properties"]; ok {
		most = m
	}
	if need > most || least > most {
		return alt(), nil
	}
	var other *expr
	if most > need {
		if other, err = c.otherMember(f, names); err != nil {
			return nil, err
		}
	}
	if other != nil {
		can++ // two of the others may have one name, so only the first one counts
	}
	if least > can {
		if other == nil {
			return alt(), nil
		}
		for _, v := range f.all {
			if x := v.under["minProperties"]; x != nil {
				return nil, fail(x, "minProperties is supported up to the number of properties that are listed and required, and one more")
			}
		}
		return alt(), nil
	}
	if hit != nil && (least > 1 || most != unbounded) {
		return nil, fail(f.all[0], "minProperties and maxProperties beside a member that must not satisfy a schema are not supported")
	}
	if most >= len(members) && other == nil {
		most = unbounded
	}
	if least <= need {
		least = 0
	}
	o := &objectRules{c: c, members: members, other: other, hit: hit, least: least, most: most, comma: seq(text(","), c.use("space")), rules: map[[2]int]*expr{}}
	e, err := o.from(0, 0)
	if err != nil {
		return nil, failAt(f.all[0], err)
	}
	return seq(text("{"), e, text("}")), nil
}

// objectRules are the rules of one object.
type objectRules struct {
	c           *compiler
	members     []member
	other       *expr // a member without a name of its own, nil = there is none
	hit         *hit  // one of them that must be there, nil = none must
	least, most int
	comma       *expr
	rules       map[[2]int]*expr
}

// from returns what may follow when so many members were written, from one on.
func (o *objectRules) from(i, written int) (*expr, error) {
	key := [2]int{i, written}
	if e, ok := o.rules[key]; ok {
		return e, nil
	}
	if len(o.rules) > maxCells {
		return nil, &LimitError{What: "numbers of members", Most: maxCells}
	}
	e, err := o.next(i, written)
	if err != nil {
		return nil, err
	}
	if e.op != opText && e.op != opAlt || len(e.subs) > 0 {
		e = o.c.define("rest", e)
	}
	o.rules[key] = e
	return e, nil
}

func (o *objectRules) next(i, written int) (*expr, error) {
	if i == len(o.members) {
		return o.tail(written), nil
	}
	m := o.members[i]
	out := alt()
	if written < o.most {
		after, err := o.from(i+1, o.count(written+1))
		if err != nil {
			return nil, err
		}
		e := seq(m.is, after)
		if written > 0 {
			e = seq(o.comma, e)
		}
		out.subs = append(out.subs, e)
	}
	if m.must {
		return out, nil
	}
	after, err := o.from(i+1, written)
	out.subs = append(out.subs, after)
	return out, err
}

// count is a number of members, or the least one that is as good.
func (o *objectRules) count(n int) int {
	if o.most != unbounded {
		return n
	}
	return min(n, max(o.least, 1))
}

// tail returns what may follow the members that have names of their own.
func (o *objectRules) tail(written int) *expr {
	lack := o.least - written
	if o.hit != nil {
		after := text("")
		if o.hit.after != nil {
			after = repeat(seq(o.comma, o.hit.after), 0, unbounded)
		}
		e := seq(repeat(seq(o.other, o.comma), 0, unbounded), o.hit.is, after)
		if written > 0 {
			e = seq(o.comma, e)
		}
		return e
	}
	if o.other == nil || written >= o.most {
		if lack > 0 {
			return alt()
		}
		return text("")
	}
	if lack > 1 {
		return alt()
	}
	more := unbounded
	if o.most != unbounded {
		more = o.most - written
	}
	if written > 0 {
		return repeat(seq(o.comma, o.other), max(lack, 0), more)
	}
	if more != unbounded {
		more--
	}
	e := seq(o.other, repeat(seq(o.comma, o.other), 0, more))
	if lack > 0 {
		return e
	}
	return optional(e)
}

// listedMembers returns the members that are listed or required, and all names that are.
func (c *compiler) listedMembers(f *flat) ([]member, []string, error) {
	var members []member
	names := f.names()
	for _, name := range names {
		all, err := c.members(f, name)
		if err != nil {
			return nil, nil, err
		}
		must := slices.Contains(f.required, name)
		if impossible(all) && !must {
			continue
		}
		r, err := c.rule(all)
		if err != nil {
			return nil, nil, err
		}
		members = append(members, member{seq(text(string(quote(nil, name))+":"), c.use("space"), ref(r)), must})
	}
	return members, names, nil
}

// members returns the schemas that a member of a name satisfies.
func (c *compiler) members(f *flat, name string) (all []*value, err error) {
	for _, v := range f.all {
		one, err := c.property(v, name)
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
		s := v.under["propertyNames"]
		if s == nil {
			continue
		}
		if ok, err := c.validName(name, s, 1); err != nil {
			return nil, err
		} else if !ok {
			all = append(all, c.once("no name", func() *value { return c.value(s, value{kind: 'f'}) }))
		}
	}
	return all, nil
}

// property returns the schemas that a schema has for the member of a name.
func (c *compiler) property(v *value, name string) (all []*value, err error) {
	if p := v.under["properties"]; p != nil && p.under[name] != nil {
		all = append(all, p.under[name])
	}
	if p := v.under["patternProperties"]; p != nil {
		for i, source := range p.keys {
			d, err := c.namePattern(p.list[i], source)
			if err != nil {
				return nil, err
			}
			if d.has(name) {
				all = append(all, p.list[i])
			}
		}
	}
	if a := v.under["additionalProperties"]; a != nil && len(all) == 0 {
		all = append(all, a)
	}
	return all, nil
}

// namePattern returns the set of the names that patternProperties is about.
func (c *compiler) namePattern(at *value, source string) (*dfa, error) {
	d, err := c.condition(condition{"pattern", &value{at: at.at, kind: '"', text: source}, false})
	if err != nil {
		return nil, failAt(at, err)
	}
	return d, nil
}

// otherMember returns the expression of a member that is not listed; nil if there is none.
func (c *compiler) otherMember(f *flat, names []string) (*expr, error) {
	var others []*value
	for _, v := range f.all {
		if !idle(v.under["patternProperties"]) || !idle(v.under["propertyNames"]) {
			classes, err := c.nameClasses(f, names)
			if err != nil {
				return nil, err
			}
			return c.classMembers(f, classes, nil)
		}
		if a := v.under["additionalProperties"]; a != nil {
			others = append(others, a)
		}
	}
	if impossible(others) {
		return nil, nil
	}
	r, err := c.rule(others)
	if err != nil {
		return nil, err
	}
	key, err := c.except(names)
	if err != nil {
		return nil, err
	}
	return c.define("member", seq(text(`"`), key, text(`":`), c.use("space"), ref(r))), nil
}

// nameClasses returns sets of the names that are not listed, which the same patterns of f
// match.
func (c *compiler) nameClasses(f *flat, names []string) ([]*dfa, error) {
	const most = 64
	rest := only(names...).not()
	for _, v := range f.all {
		s := v.under["propertyNames"]
		if s == nil {
			continue
		}
		d, err := c.texts([]*value{s})
		if err == nil {
			rest, err = rest.and(c.budget, d)
		}
		if err != nil {
			return nil, failAt(s, err)
		}
	}
	classes := []*dfa{rest}
	for _, v := range f.all {
		p := v.under["patternProperties"]
		if p == nil {
			continue
		}
		for i, source := range p.keys {
			d, err := c.namePattern(p.list[i], source)
			if err != nil {
				return nil, err
			}
			var split []*dfa
			for _, set := range classes {
				for _, with := range []*dfa{d, d.not()} {
					both, err := set.and(c.budget, with)
					if err != nil {
						return nil, failAt(p.list[i], err)
					}
					if !both.empty() {
						split = append(split, both)
					}
				}
			}
			if classes = split; len(classes) > most {
				return nil, fail(p, "more than %d sets of names that these patterns tell apart are not supported", most)
			}
		}
	}
	return classes, nil
}

// classMembers returns the expression of a member with a name of one of the classes, whose
// value also satisfies a schema, unless that is nil; nil if there is none.
func (c *compiler) classMembers(f *flat, classes []*dfa, also *value) (*expr, error) {
	out := alt()
	for _, set := range classes {
		if set.empty() {
			continue
		}
		all, err := c.members(f, set.one())
		if err != nil {
			return nil, err
		}
		if impossible(all) {
			continue
		}
		if also != nil {
			all = append(all, also)
		}
		r, err := c.rule(all)
		if err != nil {
			return nil, err
		}
		out.subs = append(out.subs, seq(text(`"`), c.emit(set, true, text(`"`)), text(":"), c.use("space"), ref(r)))
	}
	if len(out.subs) == 0 {
		return nil, nil
	}
	return c.define("member", out), nil
}

// texts returns the set of the strings that satisfy schemas.
func (c *compiler) texts(all []*value) (*dfa, error) {
	ways, err := c.ways(all)
	if err != nil {
		return nil, err
	}
	n := &nfa{budget: c.budget}
	start, err := n.add(nfaNode{})
	if err != nil {
		return nil, err
	}
	for _, w := range ways {
		f, err := c.merge(w)
		if err != nil {
			return nil, err
		}
		d := only()
		least, most := f.length()
		switch {
		case f.fixed:
			var list []string
			for _, x := range f.enum {
				if x.kind == '"' && !slices.ContainsFunc(f.except, x.equal) {
					list = append(list, x.text)
				}
			}
			d = only(list...)
		case f.types&tString == 0 || least > most:
		default:
			if d, err = c.strings(f); err != nil {
				return nil, err
			}
		}
		at, err := n.embed(d)
		if err != nil {
			return nil, err
		}
		n.nodes[start].both = append(n.nodes[start].both, at)
	}
	return n.set(start)
}

// one returns a shortest string of a set that has one.
func (d *dfa) one() string {
	type path struct {
		at   int32
		text []rune
	}
	seen := make([]bool, len(d.states))
	for todo := []path{{0, nil}}; len(todo) > 0; todo = todo[1:] {
		p := todo[0]
		if d.states[p.at].accepts {
			return string(p.text)
		}
		for _, e := range d.states[p.at].edges {
			if !seen[e.to] {
				seen[e.to] = true
				r := e.lo
				if r >= 0xd800 && r <= 0xdfff && e.hi > 0xdfff {
					r = 0xe000
				}
				todo = append(todo, path{e.to, append(slices.Clip(p.text), r)})
			}
		}
	}
	return ""
}

// except returns the expression of the names, inside their quotes, that are not
// in a list: the complement of a trie. Each character is written in its usual form,
// so that a name cannot be written in a second way.
func (c *compiler) except(names []string) (*expr, error) {
	total := 0
	for _, n := range names {
		if total += len(n); total > maxNodes/16 || len(n) > 8*maxNesting {
			return nil, &LimitError{What: "bytes of names of properties", Most: maxNodes / 16}
		}
	}
	rest := c.use("name")
	if len(names) == 0 {
		return rest, nil
	}
	list := make([][]rune, len(names))
	for i, n := range names {
		list[i] = []rune(n)
	}
	var but func([][]rune) *expr
	but = func(list [][]rune) *expr {
		next := map[rune][][]rune{}
		var set []span
		ended := false
		for _, n := range list {
			if len(n) == 0 {
				ended = true
				continue
			}
			next[n[0]] = append(next[n[0]], n[1:])
			set = append(set, span{n[0], n[0]})
		}
		out := alt()
		if !ended {
			out.subs = append(out.subs, text(""))
		}
		set = tidy(set)
		if left := intersect(complement(set), wordChars()); subset(set, wordChars()) {
			// What no name has is a rule that all names share.
			out.subs = append(out.subs, seq(char(left, false), rest), c.unusual())
		} else {
			out.subs = append(out.subs, seq(char(complement(set), false), rest))
		}
		for _, s := range set {
			for r := s.lo; r <= s.hi; r++ {
				out.subs = append(out.subs, seq(text(encode(r)), but(next[r])))
			}
		}
		return out
	}
	return but(list), nil
}

// wordChars are the characters that names of members usually have.
func wordChars() []span { return []span{{'-', '-'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} }

// subset reports whether a tidy set has no character that another one lacks.
func subset(a, b []span) bool { return slices.Equal(intersect(a, b), a) }

// unusual returns the rule of the rest of a name that begins with any other character.
func (c *compiler) unusual() *expr {
	r, ok := c.fixed["unusual"]
	if !ok {
		r = c.define("unusual", seq(char(complement(wordChars()), false), c.use("name"))).rule
		c.fixed["unusual"] = r
	}
	return ref(r)
}

// char returns the expression of one character of a set as it usually stands in
// a JSON string. Control characters without a short form are there only if asked
// for.
func char(set []span, control bool) *expr {
	plain := class(' ', '!', '#', '[', ']', 0x10ffff).class
	out := alt(&expr{op: opClass, class: intersect(tidy(slices.Clone(set)), plain)})
	for _, s := range set {
		for r := s.lo; r <= min(s.hi, '\\'); r++ {
			if e := encode(r); len(e) == 2 && e[0] == '\\' || len(e) == 6 && control {
				out.subs = append(out.subs, text(e))
			}
		}
	}
	if len(out.subs) == 1 {
		return out.subs[0]
	}
	return out
}
