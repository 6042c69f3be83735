package sample

import "slices"

// AtLeast returns a constraint beside another, which may be nil, for a vocabulary of so many
// tokens: none of some tokens, those that end an answer, comes before n others. Where the other
// constraint leaves no token but those, they may come.
func AtLeast(n int, ends []int32, vocab int, beside Constraint) Constraint {
	return &atLeast{left: n, ends: ends, vocab: vocab, beside: beside}
}

type atLeast struct {
	left   int // tokens before which none of ends may come
	ends   []int32
	vocab  int
	beside Constraint
	mask   []uint64
}

// Allowed implements [Constraint].
func (a *atLeast) Allowed(left int) ([]uint64, error) {
	var others []uint64
	if a.beside != nil {
		var err error
		if others, err = a.beside.Allowed(left); err != nil {
			return nil, err
		}
	}
	if a.left == 0 {
		return others, nil
	}
	if a.mask == nil {
		a.mask = make([]uint64, (a.vocab+63)/64)
	}
	if others != nil {
		copy(a.mask, others)
	} else {
		for i := range a.mask {
			a.mask[i] = ^uint64(0)
		}
		if rest := a.vocab % 64; rest > 0 {
			a.mask[len(a.mask)-1] = 1<<rest - 1
		}
	}
	for _, id := range a.ends {
		if int(id) < a.vocab {
			a.mask[id/64] &^= 1 << (id % 64)
		}
	}
	if !slices.ContainsFunc(a.mask, func(w uint64) bool { return w != 0 }) {
		return others, nil
	}
	return a.mask, nil
}

// Accept implements [Constraint].
func (a *atLeast) Accept(id int32) error {
	a.left = max(a.left-1, 0)
	if a.beside != nil {
		return a.beside.Accept(id)
	}
	return nil
}

// Follows implements [Constraint].
func (a *atLeast) Follows(ids []int32) int {
	n := len(ids)
	if a.beside != nil {
		n = a.beside.Follows(ids)
	}
	if i := slices.IndexFunc(ids[:min(n, a.left)], func(id int32) bool { return slices.Contains(a.ends, id) }); i >= 0 {
		n = i
	}
	return n
}

// Done implements [Constraint].
func (a *atLeast) Done() bool { return a.beside != nil && a.beside.Done() }
