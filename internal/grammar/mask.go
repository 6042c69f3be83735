package grammar

import "slices"

// A mask says which tokens may follow a state.
type mask struct {
	bits []uint64 // by id
	far  int32    // the largest need after one of them
}

// A part is the mask of nodes whose surroundings are not known: bits of tokens
// that are read before the surroundings matter, and the nodes of the trie behind
// which they do. All states in which the same nodes are active share it, whatever
// the calls around them, so the mask of "inside a string" is computed once.
type part struct {
	mask
	edges []int32
}

// prepare computes the masks of the parts that the rules begin with and lead
// to, so that few are left for when the answer waits.
func (a *Automaton) prepare(budget *Budget, g *Grammar) error {
	const most, steps = 256, 1 << 22 // states, and what takes about 50 ms
	seen := map[*state]bool{}
	var queue []*state
	visit := func(s *state) {
		if s != a.dead && !seen[s] && len(seen) < most {
			seen[s] = true
			queue = append(queue, s)
		}
	}
	visit(a.begin)
	for i := 0; i < len(queue) && a.work < steps; i++ {
		s := queue[i]
		err := budget.look()
		if err == nil {
			_, err = a.maskOf(s)
		}
		for _, c := range a.some {
			if err != nil {
				break
			}
			var t *state
			if t, err = a.step(s, c); err == nil {
				visit(t)
			}
		}
		if err != nil {
			if budget != nil && len(s.configs) > 0 {
				budget.states += a.made
				err = budget.spent(err, g.whose(s.configs[0].node))
			}
			return err
		}
	}
	return nil
}

// maskOf returns the mask of a state, which is kept.
func (a *Automaton) maskOf(s *state) (*mask, error) {
	if s.mask != nil {
		return s.mask, nil
	}
	if t, err := a.usual(s); err != nil {
		return nil, err
	} else if t != s {
		m, err := a.maskOf(t)
		s.mask = m
		return m, err
	}
	m := &mask{}
	if s.trims {
		m.bits = make([]uint64, a.v.words())
		w := walk{bits: m.bits, most: never - 1}
		if err := a.walk(&w, s, 0, 0, int32(len(a.v.char))); err != nil {
			return nil, err
		}
		m.far = w.far
		s.mask, a.masks = m, a.masks+1
		return m, nil
	}
	shared := false // m.bits belong to a part
	for i := 0; i < len(s.configs); {
		on, j := s.configs[i].on, i
		for j < len(s.configs) && s.configs[j].on.hash == on.hash {
			j++
		}
		p, err := a.partOf(s.configs[i:j])
		if err != nil {
			return nil, err
		}
		i = j
		if on.need >= never {
			continue
		}
		if m.bits == nil {
			m.bits, shared = p.bits, true
		} else {
			m.own(&shared)
			for k, w := range p.bits {
				m.bits[k] |= w
			}
		}
		m.far = max(m.far, p.far+on.need)
		if on.up == nil || len(p.edges) == 0 {
			continue
		}
		after, err := a.follow(a.back(on, a.todo[:0]))
		if err != nil {
			return nil, err
		}
		if after == a.dead {
			continue
		}
		m.own(&shared)
		w := walk{bits: m.bits, most: never - 1}
		for _, n := range p.edges {
			if err := a.walk(&w, after, int(a.v.depth[n]), n+1, a.v.skip[n]); err != nil {
				return nil, err
			}
		}
		m.far = max(m.far, w.far)
	}
	if m.bits == nil {
		m.bits = make([]uint64, a.v.words())
	}
	s.mask, a.masks = m, a.masks+1
	return m, nil
}

// own makes the bits m's own.
func (m *mask) own(shared *bool) {
	if *shared {
		m.bits, *shared = slices.Clone(m.bits), false
	}
}

// partOf returns the part of configurations of one frame.
func (a *Automaton) partOf(configs []config) (*part, error) {
	todo := a.todo[:0]
	for _, c := range configs {
		todo = append(todo, config{c.node, hole})
	}
	s, err := a.follow(todo)
	if err != nil {
		return nil, err
	}
	if s.part != nil {
		return s.part, nil
	}
	p := &part{}
	p.bits = make([]uint64, a.v.words())
	w := walk{bits: p.bits, most: never - 1, edges: &p.edges}
	if err := a.walk(&w, s, 0, 0, int32(len(a.v.char))); err != nil {
		return nil, err
	}
	p.far = w.far
	s.part, a.masks = p, a.masks+1
	return p, nil
}

// A walk collects the tokens that a state allows.
type walk struct {
	bits  []uint64
	most  int32        // need that a token may lead to
	ends  int32        // 1 if an answer takes a token to end, which is then part of the need
	edges *[]int32     // if not nil, receives nodes at which the bottom was reached
	far   int32        // largest need of the tokens found
	near  int32        // least need of the tokens passed over, 0 = none
	all   *[]tokenCost // if not nil, receives every token
	work  int
}

// costs are the needs of the tokens of a state's mask: most of them have the
// usual one.
type costs struct {
	usual int32
	more  []tokenCost // those with a larger one
}

type tokenCost struct{ id, need int32 }

// costsOf returns the costs of a state, which are kept, or nil if there are too
// many unusual ones.
func (a *Automaton) costsOf(s *state, ends int32, bits []uint64) (*costs, error) {
	if t, err := a.usual(s); err != nil {
		return nil, err
	} else if s = t; s.costs == nil {
		all := a.costed[:0]
		a.costed = nil // as long as it is in use
		w := walk{bits: bits, most: never - 1, ends: ends, all: &all}
		if err := a.walk(&w, s, 0, 0, int32(len(a.v.char))); err != nil {
			return nil, err
		}
		a.costed = all
		s.costs = &costs{}
		count, most := map[int32]int{}, 0
		for _, c := range all {
			count[c.need]++
		}
		for need, n := range count {
			if n > most || n == most && need > s.costs.usual {
				s.costs.usual, most = need, n
			}
		}
		for _, c := range all {
			if c.need > s.costs.usual {
				s.costs.more = append(s.costs.more, c)
			}
		}
	}
	return s.costs, nil
}

// walk visits the nodes lo to hi of the trie, which are below a node of the given
// depth, with s the state there.
func (a *Automaton) walk(w *walk, s *state, depth int, lo, hi int32) error {
	v, path := a.v, a.path
	if a.path = nil; path == nil { // another walk has it
		path = make([]*state, v.deep+1)
	}
	defer func() { a.path = path }()
	path[depth] = s
	defer func(before int) { a.work += w.work - before }(w.work)
	looked := w.work >> 12
	for i := lo; i < hi; {
		d := int(v.depth[i])
		from := path[d-1]
		var t *state
		if from.next != nil {
			t = from.next[a.kind[v.char[i]]]
		}
		if t == nil {
			var err error
			if t, err = a.step(from, v.char[i]); err != nil {
				return err
			}
		}
		if t == a.dead {
			i = v.skip[i]
			continue
		}
		if w.work += 1 + len(t.configs); w.work > maxWork {
			return &LimitError{What: "steps for the mask of a state", Most: maxWork}
		}
		if w.work>>12 != looked {
			looked = w.work >> 12
			a.yield()
		}
		path[d] = t
		if ids := v.tokens(i); len(ids) > 0 {
			need := t.need
			if !t.terminal() {
				need += w.ends
			}
			if w.all != nil && need < never {
				for _, id := range ids {
					*w.all = append(*w.all, tokenCost{id, need})
				}
			}
			if need <= w.most {
				for _, id := range ids {
					w.bits[id>>6] |= 1 << (id & 63)
				}
				w.far = max(w.far, need)
			} else if w.near == 0 || need < w.near {
				w.near = need
			}
		}
		if w.edges != nil && t.popped && v.skip[i] > i+1 {
			*w.edges = append(*w.edges, i)
		}
		i++
	}
	return nil
}
