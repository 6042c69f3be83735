package sample

import (
	"math"
	"slices"
)

// A dryState has the buffers of the DRY stage.
type dryState struct {
	longest []int32 // [vocab]: length of the repetition that the token would extend, else 0
	z       []int32 // see repeats
	exempt  []int32 // single-token breakers
}

func newDryState(d DRY, vocab int) dryState {
	st := dryState{longest: make([]int32, vocab)}
	if d.Range > 0 {
		st.z = make([]int32, 0, min(d.Range, ringLimit))
	}
	for _, b := range d.Breakers {
		if len(b) == 1 {
			st.exempt = append(st.exempt, b[0])
		}
	}
	return st
}

// dry is the stage [DryStage]. It follows the sampler by p-e-w
// (text-generation-webui, pull request 5677): if the last n tokens also occur
// earlier, the token that followed them there would extend the repetition to
// n+1, and its logit is lowered exponentially in n. Like llama.cpp, it exempts
// single-token breakers.
func (s *Sampler) dry() {
	d := &s.p.DRY
	n := s.past.n
	if d.Range > 0 {
		n = min(n, d.Range)
	}
	limit := s.breakerDistance(n)
	if n <= d.AllowedLength || limit < d.AllowedLength {
		return
	}
	z := s.repeats(n)
	for k := 1; k < n; k++ {
		m := min(int(z[k]), limit)
		if id := s.past.back(k - 1); m >= d.AllowedLength && !slices.Contains(s.rep.exempt, id) {
			s.rep.longest[id] = max(s.rep.longest[id], int32(m))
		}
	}
	if s.dense {
		for k := 1; k < n; k++ {
			id := s.past.back(k - 1)
			s.dryOne(&s.c[id])
			s.rep.longest[id] = 0
		}
		return
	}
	for i := range s.c {
		s.dryOne(&s.c[i])
	}
	for k := 1; k < n; k++ {
		s.rep.longest[s.past.back(k-1)] = 0
	}
}

func (s *Sampler) dryOne(c *candidate) {
	m := s.rep.longest[c.id]
	if m == 0 {
		return
	}
	d := &s.p.DRY
	penalty := float64(d.Multiplier) * math.Pow(float64(d.Base), float64(int(m)-d.AllowedLength))
	c.logit = clamp(float64(c.logit)-penalty, c.logit)
}

// repeats returns z [n]: z[k] is how many of the last tokens, read backwards,
// equal those ending k tokens earlier. This is the Z function of the reversed
// history (Gusfield, Algorithms on Strings, 1.4), in O(n).
func (s *Sampler) repeats(n int) []int32 {
	z := s.rep.z[:0]
	h := &s.past
	left, right := 0, 0 // the match [left, right) that reaches furthest
	for k := range n {
		m := 0
		if k > 0 && k < right {
			m = min(right-k, int(z[k-left]))
		}
		if k > 0 {
			for k+m < n && h.back(m) == h.back(k+m) {
				m++
			}
			if k+m > right {
				left, right = k, k+m
			}
		}
		z = append(z, int32(m))
	}
	s.rep.z = z
	return z
}

// breakerDistance returns how many of the last n tokens follow the last breaker,
// n if there is none. Among breakers that start at the same token the longest
// counts.
func (s *Sampler) breakerDistance(n int) int {
	if len(s.p.DRY.Breakers) == 0 {
		return n
	}
	for i := range n {
		longest := 0
		for _, b := range s.p.DRY.Breakers {
			if len(b) <= i+1 && len(b) > longest && s.standsAt(b, i) {
				longest = len(b)
			}
		}
		if longest > 0 {
			return i + 1 - longest
		}
	}
	return n
}

// standsAt reports whether seq starts i tokens before the last one.
func (s *Sampler) standsAt(seq []int32, i int) bool {
	for j, id := range seq {
		if s.past.back(i-j) != id {
			return false
		}
	}
	return true
}
