package sample

import (
	"cmp"
	"math"
	"slices"
)

// compare orders the more likely token first, the lower id among equals. The
// order is total, so what a stage keeps does not depend on the order of
// candidates.
func compare(a, b candidate) int {
	if c := cmp.Compare(b.logit, a.logit); c != 0 {
		return c
	}
	return cmp.Compare(a.id, b.id)
}

// less reports whether a is less likely than b.
func less(a, b candidate) bool {
	return a.logit < b.logit || a.logit == b.logit && a.id > b.id
}

// best returns the index of the most likely candidate.
func best(c []candidate) int {
	b := 0
	for i := range c {
		if less(c[b], c[i]) {
			b = i
		}
	}
	return b
}

// topK keeps the K most likely candidates, in order. A heap with the least
// likely of the K best so far at its root sees each candidate once; nearly all
// fail the comparison with the root.
func (s *Sampler) topK() {
	if len(s.c) <= s.p.TopK {
		return
	}
	s.dense = false
	h := s.c[:s.p.TopK]
	heapify(h)
	for _, x := range s.c[len(h):] {
		if less(h[0], x) {
			h[0] = x
			siftDown(h, 0)
		}
	}
	slices.SortFunc(h, compare)
	s.c = h
}

// largest fills c with the most likely of the logits, in order; there must be at
// least len(c) logits. It gives the result of topK with one comparison for
// nearly all logits; NaN is found as well.
func largest(c []candidate, logits []float32) error {
	for i, l := range logits[:len(c)] {
		if !(l <= math.MaxFloat32) {
			return &LogitsError{i, l}
		}
		c[i] = candidate{int32(i), l}
	}
	heapify(c)
	for i := len(c); ; i++ {
		i += below(logits[i:], c[0].logit) // an equal logit has a higher id and loses
		if i == len(logits) {
			break
		}
		l := logits[i]
		if !(l <= math.MaxFloat32) {
			return &LogitsError{i, l}
		}
		c[0] = candidate{int32(i), l}
		siftDown(c, 0)
	}
	slices.SortFunc(c, compare)
	return nil
}

// heapify makes h a heap with its least likely candidate at the root.
func heapify(h []candidate) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
}

func siftDown(h []candidate, i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && less(h[child+1], h[child]) {
			child++
		}
		if !less(h[child], h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// topP keeps the most likely candidates up to the mass p.
func (s *Sampler) topP() {
	high := float64(s.c[best(s.c)].logit)
	s.keepMass(float64(s.p.TopP), high, func(l float32) float64 { return high - float64(l) })
}

// typical keeps the candidates whose surprise is nearest to its expectation, the
// entropy, up to the mass p (Meister et al., arXiv:2202.00666).
func (s *Sampler) typical() {
	norm := logSumExp(s.c, float64(s.c[best(s.c)].logit))
	entropy := 0.0
	for i := range s.c {
		if w := math.Exp(float64(s.c[i].logit) - norm); w > 0 {
			entropy += w * (norm - float64(s.c[i].logit))
		}
	}
	s.keepMass(float64(s.p.Typical), norm, func(l float32) float64 {
		return math.Abs(norm - float64(l) - entropy)
	})
}

// minP keeps the candidates with at least p times the probability of the first.
func (s *Sampler) minP() {
	low := float64(s.c[best(s.c)].logit) + math.Log(float64(s.p.MinP))
	s.keep(func(l float32) bool { return float64(l) >= low })
}

// keep drops the candidates for whose logit ok is false.
func (s *Sampler) keep(ok func(logit float32) bool) {
	kept := s.c[:0]
	for _, x := range s.c {
		if ok(x.logit) {
			kept = append(kept, x)
		}
	}
	s.c, s.dense = kept, false
}

// The histogram of keepMass: buckets of 1/8 nat, 32 nats in all.
const (
	massBuckets   = 256
	massPerNat    = 8
	lastMassStart = massBuckets - 1
)

func massBucket(key float64) int {
	return int(min(key*massPerNat, lastMassStart)) // also of +Inf
}

// keepMass keeps candidates, smallest key first, up to the given share of all
// probability; keys must be at least 0. It avoids sorting them all: a histogram
// of the mass over the keys finds the bucket with the cut, and only that is
// sorted. A candidate weighs exp(logit − base), where base is near the largest
// logit.
func (s *Sampler) keepMass(share, base float64, key func(logit float32) float64) {
	var hist [massBuckets]float64
	for i := range s.c {
		l := s.c[i].logit
		hist[massBucket(key(l))] += math.Exp(float64(l) - base)
	}
	mass := 0.0
	for _, m := range hist {
		mass += m
	}
	mass *= share
	end, before := 0, 0.0
	for end < lastMassStart && before+hist[end] < mass {
		before += hist[end]
		end++
	}
	s.keep(func(l float32) bool { return massBucket(key(l)) <= end && l != negInf })

	c, sure := s.c, 0
	for i := range c {
		if massBucket(key(c[i].logit)) < end {
			c[i], c[sure] = c[sure], c[i]
			sure++
		}
	}
	slices.SortFunc(c[sure:], func(a, b candidate) int {
		if d := cmp.Compare(key(a.logit), key(b.logit)); d != 0 {
			return d
		}
		return compare(a, b)
	})
	for n := sure; n < len(c); n++ {
		before += math.Exp(float64(c[n].logit) - base)
		if before >= mass {
			s.c = c[:n+1]
			return
		}
	}
}

// temperature divides the logits.
func (s *Sampler) temperature() {
	t := float64(s.p.Temperature)
	for i := range s.c {
		s.c[i].logit = clamp(float64(s.c[i].logit)/t, s.c[i].logit)
	}
}
