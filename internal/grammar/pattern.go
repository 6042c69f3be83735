package grammar

import (
	"errors"
	"unicode/utf8"
)

// A where says whether a place in a pattern is where the string begins.
type where uint8

const (
	inside where = iota
	atBegin
	perhaps
)

// matching returns the set of the strings in which a regular expression matches.
func matching(b *Budget, source string) (*dfa, error) {
	p, err := readPattern(source)
	if err != nil {
		return nil, err
	}
	n := &nfa{budget: b}
	all, err := n.embed(everything())
	if err != nil {
		return nil, err
	}
	first, err := n.build(p, all, atBegin, false)
	if err != nil {
		return nil, err
	}
	later, err := n.build(p, all, inside, false)
	if err != nil {
		return nil, err
	}
	loop, _ := n.add(nfaNode{})
	any, _ := n.add(nfaNode{set: []span{{0, utf8.MaxRune}}, to: loop})
	n.nodes[loop].both = []int32{later, any}
	start, err := n.add(nfaNode{both: []int32{first, any}})
	if err != nil {
		return nil, err
	}
	return n.set(start)
}

var errLooping = errors.New("an assertion that repeats is not supported in a pattern")

// build adds what reads a pattern and then goes on at a node, which stands for all that
// may follow. So an assertion is a set of what follows. In a loop that is not known.
func (n *nfa) build(p *pattern, next int32, at where, loops bool) (int32, error) {
	if err := n.budget.step(); err != nil {
		return 0, err
	}
	switch p.op {
	case opSet:
		return n.add(nfaNode{set: p.set, to: next})
	case opConcat:
		return n.concat(p.subs, next, at, loops)
	case opUnion:
		var both []int32
		for _, s := range p.subs {
			to, err := n.build(s, next, at, loops)
			if err != nil {
				return 0, err
			}
			both = append(both, to)
		}
		return n.add(nfaNode{both: both})
	case opTimes:
		return n.times(p, next, at, loops)
	case opBegin:
		switch at {
		case atBegin:
			return next, nil
		case inside:
			return n.add(nfaNode{})
		}
		return 0, errors.New("a ^ that may or may not be at the beginning is not supported in a pattern")
	case opEnd:
		if loops {
			return 0, errLooping
		}
		return n.add(nfaNode{accepts: n.endable(next)})
	case opAhead:
		return n.ahead(p, next, at, loops)
	}
	return next, nil
}

// concat builds parts from the last one on.
func (n *nfa) concat(subs []*pattern, next int32, at where, loops bool) (int32, error) {
	places := make([]where, len(subs))
	for i, s := range subs {
		places[i] = at
		if least, most := s.width(); least > 0 {
			at = inside
		} else if most > 0 && at == atBegin {
			at = perhaps
		}
	}
	var err error
	for i := len(subs) - 1; i >= 0 && err == nil; i-- {
		next, err = n.build(subs[i], next, places[i], loops)
	}
	return next, err
}

// times builds a repetition: copies of what is repeated, the last in a loop if there is no
// bound.
func (n *nfa) times(p *pattern, next int32, at where, loops bool) (int32, error) {
	sub := p.subs[0]
	later := at
	if least, _ := sub.width(); least > 0 {
		later = inside
	} else if at == atBegin {
		later = perhaps
	}
	place := func(i int) where {
		if i == 0 {
			return at
		}
		return later
	}
	end := next
	if p.most == unbounded {
		loop, err := n.add(nfaNode{})
		if err != nil {
			return 0, err
		}
		if later == atBegin || p.least == 0 && at == atBegin {
			later = perhaps
		}
		body, err := n.build(sub, loop, later, true)
		if err != nil {
			return 0, err
		}
		n.nodes[loop].both = []int32{next, body}
		end = loop
		if p.least == 0 && at != later && sub.asserts(opBegin) {
			return 0, errLooping
		}
	} else {
		for i := p.most - 1; i >= p.least; i-- {
			to, err := n.build(sub, end, place(i), loops)
			if err != nil {
				return 0, err
			}
			if end, err = n.add(nfaNode{both: []int32{next, to}}); err != nil {
				return 0, err
			}
		}
	}
	var err error
	for i := p.least - 1; i >= 0 && err == nil; i-- {
		end, err = n.build(sub, end, place(i), loops)
	}
	return end, err
}

// ahead builds an assertion about what follows: the set of that, less or in common with
// what the assertion matches.
func (n *nfa) ahead(p *pattern, next int32, at where, loops bool) (int32, error) {
	if loops {
		return 0, errLooping
	}
	all, err := n.embed(everything())
	if err != nil {
		return 0, err
	}
	start, err := n.build(p.subs[0], all, at, false)
	if err != nil {
		return 0, err
	}
	asserted, err := n.set(start)
	if err != nil {
		return 0, err
	}
	if p.not {
		asserted = asserted.not()
	}
	follows, err := n.set(next)
	if err != nil {
		return 0, err
	}
	if follows, err = follows.and(n.budget, asserted); err != nil {
		return 0, err
	}
	return n.embed(follows)
}

// endable reports whether nothing need follow a node.
func (n *nfa) endable(at int32) bool {
	seen := map[int32]bool{}
	todo := []int32{at}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		if n.nodes[at].accepts {
			return true
		}
		todo = append(todo, n.nodes[at].both...)
	}
	return false
}

// width returns how many characters a pattern reads; assertions read none.
func (p *pattern) width() (least, most int) {
	switch p.op {
	case opSet:
		return 1, 1
	case opConcat:
		for _, s := range p.subs {
			a, b := s.width()
			least, most = add(least, a), add(most, b)
		}
	case opUnion:
		least = unbounded
		for _, s := range p.subs {
			a, b := s.width()
			least, most = min(least, a), max(most, b)
		}
	case opTimes:
		a, b := p.subs[0].width()
		return times(a, p.least), times(b, p.most)
	}
	return least, most
}

// asserts reports whether there is an op in a pattern.
func (p *pattern) asserts(op patternOp) bool {
	found := p.op == op
	for _, s := range p.subs {
		found = found || s.asserts(op)
	}
	return found
}

// add is a + b, which may be unbounded.
func add(a, b int) int {
	if a == unbounded || b == unbounded {
		return unbounded
	}
	return min(a+b, 1<<40)
}

// times is a · b, which may be unbounded.
func times(a, b int) int {
	switch {
	case a == 0 || b == 0:
		return 0
	case a == unbounded || b == unbounded:
		return unbounded
	}
	return min(a*b, 1<<40)
}
