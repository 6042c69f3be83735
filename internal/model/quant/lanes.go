package quant

// Searches for the scales of eight runs at once, one in each lane. Sums have the
// order of the values of a run, as in the searches for one.

const laneCount = 8

// A lane8 has a number for each of eight runs.
type lane8 [laneCount]float32

// A runs is a block of 256 values and their weights, by run of n values: value i
// of run 8g+l is at [(g·n+i)·8+l].
type runs struct {
	n    int
	x, w [256]float32
}

// fill transposes a block.
func (t *runs) fill(x, w []float32, n int) {
	t.n = n
	for r := range 256 / n {
		at := r/laneCount*n*laneCount + r%laneCount
		from, weight := x[r*n:r*n+n], w[r*n:r*n+n]
		for i, v := range from {
			t.x[at+i*laneCount], t.w[at+i*laneCount] = v, weight[i]
		}
	}
}

// groups returns the number of groups of eight runs.
func (t *runs) groups() int { return 256 / t.n / laneCount }

// group returns the values and weights of a group.
func (t *runs) group(g int) (x, w []float32) {
	n := t.n * laneCount
	return t.x[g*n : (g+1)*n], t.w[g*n : (g+1)*n]
}

// nearest rounds a value of magnitude below 2²² to the nearest integer, ties to
// even, and clamps it.
func nearest(v, lo, hi float32) float32 {
	const magic = 12582912 // 1.5·2²³
	v = float32(v+magic) - magic
	if v < lo {
		v = lo
	}
	if v > hi {
		v = hi
	}
	return v
}

// An affineState is a search of [fitAffine8]: the trial, the best one so far, and
// the sums of w and of w·x.
type affineState struct {
	scale, offset, gain     lane8
	best, bestOffset, most  lane8
	sumOfWeights, sumOfRuns lane8
}

// affineTrialGeneric quantizes runs with the trial's scale and offset, replaces
// these by the best ones for the resulting digits, 0 to top, and keeps them if
// they lower the error more than those before. With below set offsets are not
// positive.
func affineTrialGeneric(x, w []float32, top float32, s *affineState, below bool) {
	for l := range laneCount {
		inv, offset := inverse(s.scale[l]), s.offset[l]
		var sq, sqq, sxq float32
		for i := l; i < len(x); i += laneCount {
			v := x[i]
			q := nearest(mul(v-offset, inv), 0, top)
			wq := mul(w[i], q)
			sq += wq
			sqq += mul(wq, q)
			sxq += mul(wq, v)
		}
		sw, sx := s.sumOfWeights[l], s.sumOfRuns[l]
		s.gain[l] = 0
		det := mul(sw, sqq) - mul(sq, sq)
		scale, offset := (mul(sw, sxq)-mul(sq, sx))/det, (mul(sqq, sx)-mul(sq, sxq))/det
		if below && offset > 0 {
			scale, offset = sxq/sqq, 0
		}
		if det > 0 && scale > 0 {
			s.scale[l], s.offset[l], s.gain[l] = scale, offset, mul(scale, sxq)+mul(offset, sx)
		}
		if s.gain[l] > s.most[l] {
			s.best[l], s.bestOffset[l], s.most[l] = s.scale[l], s.offset[l], s.gain[l]
		}
	}
}

// A centredState is a search of [fitCentred8]: the best scale and by how much it
// lowers the error.
type centredState struct{ best, most lane8 }

// centredTrialGeneric quantizes runs such that peak becomes part, and keeps the
// best scale for the resulting digits, lo to hi, if it is better than those
// before.
func centredTrialGeneric(x, w []float32, lo, hi float32, peak *lane8, part float32, s *centredState) {
	for l := range laneCount {
		inv := inverse(peak[l] / part)
		var xy, yy float32
		for i := l; i < len(x); i += laneCount {
			y := nearest(mul(x[i], inv), lo, hi)
			wy := mul(w[i], y)
			xy += mul(wy, x[i])
			yy += mul(wy, y)
		}
		if !(yy > 0) {
			continue
		}
		if scale := xy / yy; mul(scale, xy) > s.most[l] {
			s.best[l], s.most[l] = scale, mul(scale, xy)
		}
	}
}

// fitLossGeneric writes the errors of runs for digits lo to hi.
func fitLossGeneric(x, w []float32, lo, hi float32, scale, offset, sum *lane8) {
	for l := range laneCount {
		inv, s := inverse(scale[l]), float32(0)
		for i := l; i < len(x); i += laneCount {
			v := x[i] - offset[l]
			e := v - mul(scale[l], nearest(mul(v, inv), lo, hi))
			s += mul(mul(e, e), w[i])
		}
		sum[l] = s
	}
}

// fitAffine8 is [fitAffine] for eight runs.
func fitAffine8(x, w []float32, top int32, below bool) (scale, offset lane8) {
	const trials = 5
	var s affineState
	var lo, hi, span lane8
	copy(lo[:], x)
	copy(hi[:], x)
	for i := 0; i < len(x); i += laneCount {
		v, weight := (*lane8)(x[i:]), (*lane8)(w[i:])
		for l, v := range v {
			if v < lo[l] {
				lo[l] = v
			}
			if v > hi[l] {
				hi[l] = v
			}
			s.sumOfWeights[l] += weight[l]
			s.sumOfRuns[l] += mul(weight[l], v)
		}
	}
	for l := range lo {
		if below {
			lo[l] = min(lo[l], 0)
		}
		span[l] = hi[l] - lo[l]
		scale[l], offset[l] = span[l]/float32(top), lo[l]
	}
	s.best, s.bestOffset = scale, offset
	for k := -trials; k <= trials; k++ {
		for l := range span {
			s.scale[l] = span[l] / (float32(top) + mul(0.2, float32(k)))
		}
		s.offset = lo
		for range 2 { // refit, then once more with the digits of the refit
			affineTrial(x, w, float32(top), &s, below)
		}
	}
	// A gain is a difference of large sums and thus imprecise; the plain fit may
	// still be better.
	var fitted, plain lane8
	fitLoss(x, w, 0, float32(top), &s.best, &s.bestOffset, &fitted)
	fitLoss(x, w, 0, float32(top), &scale, &offset, &plain)
	for l := range scale {
		switch {
		case inverse(span[l]) == 0:
			scale[l] = 0
		case fitted[l] < plain[l]:
			scale[l], offset[l] = s.best[l], s.bestOffset[l]
		}
	}
	return scale, offset
}

// fit8 is [ladder.fit] for eight runs and a ladder of integers.
func (l *ladder) fit8(x, w []float32) lane8 {
	const trials = 9
	var peak lane8
	for i := 0; i < len(x); i += laneCount {
		for k, v := range (*lane8)(x[i:]) {
			if abs(v) > abs(peak[k]) {
				peak[k] = v
			}
		}
	}
	var s centredState
	lo, hi := float32(l.lo), float32(l.hi)
	for k := -trials; k <= trials; k++ {
		centredTrial(x, w, lo, hi, &peak, lo+mul(0.1*float32(k), l.span), &s)
	}
	again := s.best
	centredTrial(x, w, lo, hi, &again, 1, &s)
	return s.best
}

// transpose returns a block for searches of eight runs, nil if the ladder is not
// of integers.
func (l *ladder) transpose(x, w []float32, n int) *runs {
	if len(l.level) != int(l.hi-l.lo)+1 || l.level[0] != float32(l.lo) || l.level[1] != float32(l.lo+1) {
		return nil
	}
	t := &runs{}
	t.fill(x, w, n)
	return t
}
