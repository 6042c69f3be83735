package grammar

import (
	"errors"
	"slices"
	"unicode/utf8"
)

// A dfa is a finite automaton over characters: a set of strings, not as JSON writes them
// but as they are. State 0 begins; what has no edge is not in the set. It does not change.
type dfa struct {
	states []dfaState
}

type dfaState struct {
	accepts bool
	edges   []dfaEdge // ascending, apart
}

type dfaEdge struct {
	span
	to int32
}

// maxDFA bounds the states of one automaton while it is made.
const maxDFA = 1 << 14

var errDFA = errors.New("it takes more than 16384 states of an automaton of strings: bound it more closely")

// everything is the set of all strings.
func everything() *dfa {
	return &dfa{[]dfaState{{true, []dfaEdge{{span{0, utf8.MaxRune}, 0}}}}}
}

// only is the set of a list of strings.
func only(list ...string) *dfa {
	d := &dfa{make([]dfaState, 1)}
	for _, s := range list {
		at := int32(0)
		for _, r := range s {
			i, ok := slices.BinarySearchFunc(d.states[at].edges, r, func(e dfaEdge, r rune) int { return int(e.lo - r) })
			if !ok {
				d.states = append(d.states, dfaState{})
				d.states[at].edges = slices.Insert(d.states[at].edges, i, dfaEdge{span{r, r}, int32(len(d.states) - 1)})
			}
			at = d.states[at].edges[i].to
		}
		d.states[at].accepts = true
	}
	return d
}

// lengths is the set of strings of least to most characters.
func lengths(least, most int) (*dfa, error) {
	n := most
	if most == unbounded {
		n = least
	}
	if n >= maxDFA {
		return nil, errDFA
	}
	d := &dfa{make([]dfaState, n+1)}
	for i := range d.states {
		s := &d.states[i]
		s.accepts = i >= least
		if i < n || most == unbounded {
			s.edges = []dfaEdge{{span{0, utf8.MaxRune}, int32(min(i+1, n))}}
		}
	}
	return d, nil
}

// step returns the state after a character, -1 if there is none.
func (d *dfa) step(at int32, r rune) int32 {
	for _, e := range d.states[at].edges {
		if r >= e.lo && r <= e.hi {
			return e.to
		}
	}
	return -1
}

// has reports whether a string is in the set.
func (d *dfa) has(s string) bool {
	at := int32(0)
	for _, r := range s {
		if at = d.step(at, r); at < 0 {
			return false
		}
	}
	return d.states[at].accepts
}

// empty reports whether no string is in the set, of a dfa that is trimmed.
func (d *dfa) empty() bool {
	return len(d.states) == 1 && !d.states[0].accepts && len(d.states[0].edges) == 0
}

// not is the complement.
func (d *dfa) not() *dfa {
	sink := int32(len(d.states))
	out := &dfa{make([]dfaState, sink+1)}
	for i, s := range d.states {
		t := dfaState{accepts: !s.accepts}
		next := rune(0)
		for _, e := range s.edges {
			if e.lo > next {
				t.edges = append(t.edges, dfaEdge{span{next, e.lo - 1}, sink})
			}
			t.edges = append(t.edges, e)
			next = e.hi + 1
		}
		if next <= utf8.MaxRune {
			t.edges = append(t.edges, dfaEdge{span{next, utf8.MaxRune}, sink})
		}
		out.states[i] = t
	}
	out.states[sink] = dfaState{true, []dfaEdge{{span{0, utf8.MaxRune}, sink}}}
	return out.trimmed()
}

// and is the intersection.
func (d *dfa) and(b *Budget, e *dfa) (*dfa, error) {
	type pair struct{ x, y int32 }
	ids, list := map[pair]int32{{0, 0}: 0}, []pair{{0, 0}}
	out := &dfa{}
	for i := 0; i < len(list); i++ {
		if err := b.step(); err != nil {
			return nil, err
		}
		x, y := &d.states[list[i].x], &e.states[list[i].y]
		s := dfaState{accepts: x.accepts && y.accepts}
		for j, k := 0, 0; j < len(x.edges) && k < len(y.edges); {
			p, q := x.edges[j], y.edges[k]
			if lo, hi := max(p.lo, q.lo), min(p.hi, q.hi); lo <= hi {
				to := pair{p.to, q.to}
				id, ok := ids[to]
				if !ok {
					if id = int32(len(list)); id >= maxDFA {
						return nil, errDFA
					}
					ids[to], list = id, append(list, to)
				}
				s.edges = append(s.edges, dfaEdge{span{lo, hi}, id})
			}
			if p.hi < q.hi {
				j++
			} else {
				k++
			}
		}
		out.states = append(out.states, s)
	}
	return out.minimal(), nil
}

// minimal returns the least automaton of the same set, by refining a partition of the
// states as long as their edges tell them apart (E. F. Moore, "Gedanken-experiments on
// Sequential Machines", 1956), unless there are so many that this, whose rounds are as many
// as the longest string that tells two apart, takes longer than it saves. States that lead
// nowhere are left out.
func (d *dfa) minimal() *dfa {
	const most = 96
	if d = d.trimmed(); len(d.states) > most {
		return d
	}
	class := make([]int32, len(d.states))
	for i, s := range d.states {
		if s.accepts {
			class[i] = 1
		}
	}
	for before := -1; ; {
		ids := map[string]int32{}
		next := make([]int32, len(class))
		var key []byte
		for i, s := range d.states {
			key = appendInt(key[:0], class[i])
			for j := 0; j < len(s.edges); j++ {
				e := s.edges[j]
				for j+1 < len(s.edges) && s.edges[j+1].lo == e.hi+1 && class[s.edges[j+1].to] == class[e.to] {
					j++
					e.hi = s.edges[j].hi
				}
				key = appendInt(appendInt(appendInt(key, e.lo), e.hi), class[e.to])
			}
			id, ok := ids[string(key)]
			if !ok {
				id = int32(len(ids))
				ids[string(key)] = id
			}
			next[i] = id
		}
		class = next
		if len(ids) == before {
			break
		}
		before = len(ids)
	}
	n := slices.Max(class) + 1
	out := &dfa{make([]dfaState, n)}
	for i := len(d.states) - 1; i >= 0; i-- { // state 0 has class 0
		s := dfaState{accepts: d.states[i].accepts}
		for _, e := range d.states[i].edges {
			e.to = class[e.to]
			if k := len(s.edges); k > 0 && s.edges[k-1].to == e.to && s.edges[k-1].hi+1 == e.lo {
				s.edges[k-1].hi = e.hi
			} else {
				s.edges = append(s.edges, e)
			}
		}
		out.states[class[i]] = s
	}
	return out
}

func appendInt(b []byte, n int32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

// trimmed leaves out states from which no string ends; state 0 stays.
func (d *dfa) trimmed() *dfa {
	back := make([][]int32, len(d.states))
	var todo []int32
	live := make([]bool, len(d.states))
	for i, s := range d.states {
		for _, e := range s.edges {
			back[e.to] = append(back[e.to], int32(i))
		}
		if s.accepts {
			live[i] = true
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range back[at] {
			if !live[i] {
				live[i] = true
				todo = append(todo, i)
			}
		}
	}
	ids := make([]int32, len(d.states))
	out := &dfa{}
	for i := range d.states {
		ids[i] = int32(len(out.states))
		if live[i] || i == 0 {
			out.states = append(out.states, dfaState{accepts: d.states[i].accepts})
		}
	}
	for i, s := range d.states {
		if !live[i] {
			continue
		}
		for _, e := range s.edges {
			if live[e.to] {
				e.to = ids[e.to]
				to := &out.states[ids[i]]
				to.edges = append(to.edges, e)
			}
		}
	}
	return out
}

// An nfa is where a dfa comes from: each node reads a character of set and goes to to, or
// goes to all of both without one.
type nfa struct {
	budget *Budget
	nodes  []nfaNode
}

type nfaNode struct {
	set     []span
	to      int32
	both    []int32
	accepts bool
}

func (n *nfa) add(x nfaNode) (int32, error) {
	if len(n.nodes) >= maxNodes {
		return 0, errDFA
	}
	n.nodes = append(n.nodes, x)
	return int32(len(n.nodes) - 1), nil
}

// set returns the dfa of the strings from a node on.
func (n *nfa) set(start int32) (*dfa, error) {
	ids, list := map[string]int32{}, [][]int32{}
	seen := make([]int32, len(n.nodes))
	round := int32(0)
	visit := func(from []int32) (int32, error) {
		round++
		var all []int32
		todo := slices.Clone(from)
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[at] == round {
				continue
			}
			seen[at] = round
			if x := &n.nodes[at]; len(x.both) > 0 {
				todo = append(todo, x.both...)
			} else if x.accepts || len(x.set) > 0 {
				all = append(all, at)
			}
		}
		slices.Sort(all)
		var key []byte
		for _, at := range all {
			key = appendInt(key, at)
		}
		id, ok := ids[string(key)]
		if !ok {
			if id = int32(len(list)); id >= maxDFA {
				return 0, errDFA
			}
			ids[string(key)], list = id, append(list, all)
		}
		return id, nil
	}
	if _, err := visit([]int32{start}); err != nil {
		return nil, err
	}
	out := &dfa{}
	for i := 0; i < len(list); i++ {
		if err := n.budget.step(); err != nil {
			return nil, err
		}
		s := dfaState{}
		var bounds []rune // where a span begins, or one has ended
		for _, at := range list[i] {
			s.accepts = s.accepts || n.nodes[at].accepts
			for _, x := range n.nodes[at].set {
				bounds = append(bounds, x.lo, x.hi+1)
			}
		}
		slices.Sort(bounds)
		bounds = slices.Compact(bounds)
		for j := 0; j+1 < len(bounds); j++ {
			var to []int32
			for _, at := range list[i] {
				x := &n.nodes[at]
				k, ok := slices.BinarySearchFunc(x.set, bounds[j], func(x span, r rune) int {
					if r > x.hi {
						return -1
					}
					return int(x.lo - min(r, x.lo))
				})
				if ok && x.set[k].lo <= bounds[j] {
					to = append(to, x.to)
				}
			}
			if len(to) == 0 {
				continue
			}
			id, err := visit(to)
			if err != nil {
				return nil, err
			}
			if k := len(s.edges); k > 0 && s.edges[k-1].to == id && s.edges[k-1].hi+1 == bounds[j] {
				s.edges[k-1].hi = bounds[j+1] - 1
			} else {
				s.edges = append(s.edges, dfaEdge{span{bounds[j], bounds[j+1] - 1}, id})
			}
		}
		out.states = append(out.states, s)
	}
	return out.minimal(), nil
}

// embed adds a dfa's states and returns the node at which it begins.
func (n *nfa) embed(d *dfa) (int32, error) {
	base := int32(len(n.nodes))
	for range d.states {
		if _, err := n.add(nfaNode{}); err != nil {
			return 0, err
		}
	}
	for i, s := range d.states {
		var both []int32
		for _, e := range s.edges {
			at, err := n.add(nfaNode{set: []span{e.span}, to: base + e.to})
			if err != nil {
				return 0, err
			}
			both = append(both, at)
		}
		if s.accepts {
			at, err := n.add(nfaNode{accepts: true})
			if err != nil {
				return 0, err
			}
			both = append(both, at)
		}
		n.nodes[base+int32(i)].both = both
	}
	return base, nil
}
