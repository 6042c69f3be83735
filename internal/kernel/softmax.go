package kernel

import "math"

// Sums are the partial attention of n queries over some of their positions: the
// largest score, the sum of e^(score−Top), and the sum of values with these
// weights. Spans are computed separately and merged in ascending order, which
// gives the same bits for every division of the work (Milakov and Gimelshein,
// "Online normalizer calculation for softmax").
type Sums struct {
	Top, Sum []float32 // [n]
	Acc      []float32 // [n, Dim]
	Dim      int
}

// row returns the weighted values of query i.
func (s *Sums) row(i int) []float32 { return s.Acc[i*s.Dim : (i+1)*s.Dim] }

// Reset clears the sums of all queries.
func (s *Sums) Reset() {
	for i := range s.Top {
		s.Top[i], s.Sum[i] = float32(math.Inf(-1)), 0
	}
	clear(s.Acc)
}

// SoftmaxSpan replaces the scores of positions [lo, hi) of a span, x, by
// e^(score−top), where top is the largest of them, and returns top and the sum
// of the results, added in 16 lanes by position modulo 16. It zeroes the other
// values up to the adjacent multiples of 16. Scores of −∞ have weight 0, even if
// all are −∞.
func SoftmaxSpan(x []float32, lo, hi int) (top, sum float32) {
	first, end := lo&^15, (hi+15)&^15
	inf := float32(math.Inf(-1))
	for i := first; i < lo; i++ {
		x[i] = inf
	}
	for i := hi; i < end; i++ {
		x[i] = inf
	}
	x = x[first:end]
	top = maxOf(x) + 0 // adding 0 turns −0 into +0
	var a lanes
	expSum(&a, x, finite(top))
	return top, a.Sum()
}

// finite returns the value to subtract from scores whose largest is top.
func finite(top float32) float32 {
	if math.IsInf(float64(top), -1) {
		return 0
	}
	return top
}

// Merge adds the sums of part for queries [lo, hi) to s, whose positions precede
// those of part.
func (s *Sums) Merge(part *Sums, lo, hi int) {
	var a, b [64]float32 // in whole vectors
	for ; lo < hi; lo += len(a) {
		n := min(len(a), hi-lo)
		for i := range n {
			old, add := s.Top[lo+i], part.Top[lo+i]
			ref := finite(max(old, add))
			a[i], b[i] = old-ref, add-ref
		}
		vectors := (n + 15) &^ 15
		Exp(a[:vectors], a[:vectors])
		Exp(b[:vectors], b[:vectors])
		for i := range n {
			s.mergeOne(part, lo+i, a[i], b[i])
		}
	}
}

func (s *Sums) mergeOne(part *Sums, i int, a, b float32) {
	acc, add := s.row(i), part.row(i)
	if s.Sum[i] == 0 {
		s.Top[i], s.Sum[i] = part.Top[i], part.Sum[i]
		copy(acc, add)
		return
	}
	s.Top[i] = max(s.Top[i], part.Top[i])
	s.Sum[i] = float32(s.Sum[i]*a) + float32(part.Sum[i]*b)
	if a != 1 {
		scaleBy(acc, a)
	}
	addScaled(acc, acc, add, b)
}

// Sink adds a score without a value to query i, as an attention sink.
func (s *Sums) Sink(i int, score float32) {
	top := max(s.Top[i], score)
	a, b := exp32(s.Top[i]-finite(top)), exp32(score-finite(top))
	s.Top[i] = top
	s.Sum[i] = float32(s.Sum[i]*a) + b
	scaleBy(s.row(i), a)
}

// Result writes the weighted values of query i divided by their sum, zeros if
// the sum is zero.
func (s *Sums) Result(dst []float32, i int) {
	inv := float32(0)
	if s.Sum[i] != 0 {
		inv = 1 / s.Sum[i]
	}
	copy(dst, s.row(i))
	scaleBy(dst[:s.Dim], inv)
}

// expSumGeneric replaces x by e^(x−top) and adds it to the lanes.
func expSumGeneric(a *lanes, x []float32, top float32) {
	for i, v := range x {
		e := exp32(v - top)
		x[i] = e
		a[i%16] += e
	}
}

// Max returns the largest number in x, −∞ if there is none; either zero if both
// occur.
func Max(x []float32) float32 { return maxOf(x) }

// maxGeneric returns the largest number, −∞ if there is none.
func maxGeneric(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	return top
}
