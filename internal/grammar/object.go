package grammar

import (
	"fmt"
	"slices"
)

// object returns the expression of the objects that f allows.
//
// Members are optional in an order, and a comma stands between two, so there
// are two rules for what may follow from each place on: one when nothing was
// written yet, and one when something was.
func (c *compiler) object(f *flat) (*expr, error) {
	type member struct {
		name string
		is   *expr
		must bool
	}
	var members []member
	need := 0
	names := f.names()
	for _, name := range names {
		all, err := f.property(name)
		if err != nil {
			return nil, err
		}
		must := slices.Contains(f.required, name)
		if impossible(all) && !must {
			continue
		}
		if must {
			need++
		}
		r, err := c.rule(all)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, seq(text(string(quote(nil, name))+":"), c.use("space"), ref(r)), must})
	}
	least, most, bounded := f.least["Properties"], 0, false
	if most, bounded = f.most["Properties"]; !bounded {
		most = unbounded
	}
	others := f.additional()
	open := !impossible(others)
	place := f.all
	at := func(k string) error {
		for _, v := range place {
			if x := v.under[k]; x != nil {
				return fail(x, "%s is supported only where the properties that are listed and required decide it", k)
			}
		}
		return nil
	}
	some := false // at least one member, though none is required
	switch {
	case least <= need:
	case least == 1:
		some = true
	case least == len(members) && !open:
		for i := range members {
			members[i].must = true
		}
	default:
		return nil, at("minProperties")
	}
	if need > most {
		return alt(), nil
	}
	extra := unbounded
	if bounded {
		if len(members) > most {
			return nil, at("maxProperties")
		}
		extra = most - len(members)
	}
	var other *expr
	if open && extra > 0 {
		r, err := c.rule(others)
		if err != nil {
			return nil, err
		}
		key, err := c.except(names)
		if err != nil {
			return nil, err
		}
		other = c.define("member", seq(text(`"`), key, text(`":`), c.use("space"), ref(r)))
	}
	comma := seq(text(","), c.use("space"))
	first, rest := text(""), text("")
	if other != nil {
		after := unbounded
		if extra != unbounded {
			after = extra - 1
		}
		rest = repeat(seq(comma, other), 0, extra)
		first = seq(other, repeat(seq(comma, other), 0, after))
		if !some {
			first = optional(first)
		}
	} else if some {
		first = alt()
	}
	for _, m := range slices.Backward(members) {
		r := c.define("rest", rest)
		one, more := seq(m.is, r), seq(comma, m.is, r)
		if m.must {
			first, rest = one, more
			continue
		}
		first, rest = alt(one, c.define("first", first)), alt(more, r)
	}
	return seq(text("{"), first, text("}")), nil
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
		out.subs = append(out.subs, seq(char(complement(set), false), rest))
		for _, s := range set {
			for r := s.lo; r <= s.hi; r++ {
				out.subs = append(out.subs, seq(text(encode(r)), but(next[r])))
			}
		}
		return out
	}
	return but(list), nil
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

// array returns the expression of the arrays that f allows.
func (c *compiler) array(f *flat) (*expr, error) {
	least, most := f.least["Items"], unbounded
	if m, ok := f.most["Items"]; ok {
		most = m
	}
	own := min(f.prefix(), most)
	items := make([]*expr, 0, own)
	for i := range own {
		all := f.item(i)
		if impossible(all) {
			most = min(most, i)
			break
		}
		r, err := c.rule(all)
		if err != nil {
			return nil, err
		}
		items = append(items, ref(r))
	}
	if least > most {
		return alt(), nil
	}
	if len(items) > most {
		items = items[:most]
	}
	comma := seq(text(","), c.use("space"))
	tail := text("")
	n := len(items)
	if all := f.item(f.prefix()); n == f.prefix() && most > n && !impossible(all) {
		r, err := c.rule(all)
		if err != nil {
			return nil, err
		}
		from, to := max(0, least-n), unbounded
		if most != unbounded {
			to = most - n
		}
		if max(from, to) > maxRepeat && to != unbounded || from > maxRepeat {
			return nil, &LimitError{What: fmt.Sprint("items of an array at ", f.all[0].at), Most: maxRepeat}
		}
		tail = repeat(seq(comma, ref(r)), from, to)
		if n == 0 {
			if to != unbounded {
				to--
			}
			tail = seq(ref(r), repeat(seq(comma, ref(r)), max(0, from-1), to))
			if from == 0 {
				tail = optional(tail)
			}
		}
	} else if least > n {
		return alt(), nil
	}
	for i := n - 1; i >= 0; i-- {
		e := seq(items[i], tail)
		if i > 0 {
			e = seq(comma, e)
		}
		if tail = e; i >= least {
			tail = c.define("items", optional(e))
		}
	}
	return seq(text("["), tail, text("]")), nil
}
