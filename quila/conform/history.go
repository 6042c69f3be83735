// Whether a history of calls on one key can be put in one order: the search of
// J. M. Wing and C. Gong, Testing and verifying concurrent objects (1993), with
// the memory of states of G. Lowe, Testing for linearizability (2017).

package conform

// A operation is one operation on a key and what it returned. Values are not 0, which
// stands for absence.
type operation struct {
	kind       byte // g, p or d
	value      uint64
	ok         bool // found, or for p: new
	begin, end int64
}

// apply returns the state after a call, and whether the call could return what
// it did.
func (c *operation) apply(state uint64) (uint64, bool) {
	switch present := state != 0; c.kind {
	case 'g':
		return state, c.ok == present && (!present || c.value == state)
	case 'p':
		return c.value, c.ok != present
	default:
		return 0, c.ok == present
	}
}

// mostCalls is the longest history, since done calls are bits.
const mostCalls = 64

// linearisable reports whether there is an order of the calls in which each
// returns what it did, and in which calls that ended before others began come
// first.
func linearisable(calls []operation) bool {
	type state struct{ done, value uint64 }
	all, seen := uint64(1)<<len(calls)-1, map[state]bool{}
	var try func(s state) bool
	try = func(s state) bool {
		if s.done == all {
			return true
		}
		if seen[s] {
			return false
		}
		seen[s] = true
		first := int64(1) << 62 // no call that began later may come next
		for i, c := range calls {
			if s.done>>i&1 == 0 {
				first = min(first, c.end)
			}
		}
		for i, c := range calls {
			if s.done>>i&1 != 0 || c.begin > first {
				continue
			}
			if v, ok := c.apply(s.value); ok && try(state{s.done | 1<<i, v}) {
				return true
			}
		}
		return false
	}
	return try(state{})
}
