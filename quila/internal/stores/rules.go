package stores

import (
	"math"

	"atenia/grad"
)

// An KFEEntry is one memory of a neuron.
type KFEEntry[F grad.Float] struct {
	ID         uint64 // neuron in the upper half, a serial number in the lower
	Embedding  []F    // [D], of unit norm
	Snapshot   []F    // [D]
	Utility    F
	Confidence F
	Count      uint32 // how often it was recalled
	Last       int64  // turn of the last time
	Soft       bool   // a shadow
}

// Gates are the thresholds of creation, and the phase from which on it is allowed.
type Gates struct{ Activation, Utility, Confidence float32 }

// FirstPhase is the first phase that creates entries. Training counts as it after
// a tenth of its steps, Req 16.1.1.
const FirstPhase = 3

// Open reports whether a state is worth an entry (Step 10).
func (g Gates) Open(activation, utility, confidence float32, phase int) bool {
	return activation > g.Activation && utility > g.Utility && confidence > g.Confidence && phase >= FirstPhase
}

// Merge makes one entry of two that are nearly the same. The one with more utility
// gives its id, snapshot and confidence; on a tie the old one.
func Merge[F grad.Float](fresh, old KFEEntry[F]) KFEEntry[F] {
	m := old
	if fresh.Utility > old.Utility {
		m = fresh
	}
	e := make([]F, len(old.Embedding))
	for i := range e {
		e[i] = fresh.Embedding[i] + old.Embedding[i]
	}
	n := norm(e)
	for i := range e {
		e[i] /= n
	}
	m.Embedding, m.Soft = e, false
	m.Utility, m.Last = max(fresh.Utility, old.Utility), max(fresh.Last, old.Last)
	if m.Count = fresh.Count + old.Count; m.Count < old.Count {
		m.Count = math.MaxUint32
	}
	return m
}

// A Fate is what becomes of an entry at the end of a turn.
type Fate uint8

// The fates.
const (
	Keep    Fate = iota // it is no shadow
	Waiting             // a shadow that may still be needed
	Cleared             // idle and innocent: back to the eviction queue
	Deleted             // idle and guilty
)

var fateNames = [...]string{"keep", "waiting", "cleared", "deleted"}

// String returns keep, waiting, cleared or deleted.
func (f Fate) String() string { return fateNames[f] }

// An Evidence against an entry makes it a shadow, and lets it be deleted.
type Evidence uint8

// The kinds of evidence.
const (
	Penalty       Evidence = 1 << iota // A: part of an episode with the hallucination penalty
	Contradiction                      // B: recalled by half of a Thinker's mask before a contradiction
)

// Decide returns the fate of an entry that was idle for so many turns, of which at
// least limit are needed.
func Decide(soft bool, idle int64, e Evidence, limit int64) Fate {
	switch {
	case !soft:
		return Keep
	case idle < limit:
		return Waiting
	case e != 0:
		return Deleted
	}
	return Cleared
}

// Terms are the four terms of the eviction score.
const Terms = 4

// Features writes the terms of n entries, [n, 4], each normalized by its smallest
// and largest value; all equal is a half. idle is in turns.
func Features(dst []float64, utility, wkv []float64, idle []int64, trace []float64, lambda float64) {
	for i := range utility {
		f := dst[Terms*i:]
		f[0], f[1], f[2], f[3] = utility[i], wkv[i], math.Exp(-lambda*float64(idle[i])), trace[i]
	}
	for t := range Terms {
		normalize(dst[:Terms*len(utility)], t)
	}
}

func normalize(x []float64, at int) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := at; i < len(x); i += Terms {
		lo, hi = min(lo, x[i]), max(hi, x[i])
	}
	for i := at; i < len(x); i += Terms {
		if hi > lo {
			x[i] = (x[i] - lo) / (hi - lo)
		} else {
			x[i] = .5
		}
	}
}

// KFEWeights are those of the four terms.
type KFEWeights [Terms]float64

// Score is the weighted sum of an entry's features.
func (w *KFEWeights) Score(features []float64) (s float64) {
	for t, x := range w {
		s += x * features[t]
	}
	return s
}

// Learn moves the weights towards the features of an entry that was evicted and
// missed, away from the mean of those that were kept. They stay at least 0 and sum
// to 1.
func (w *KFEWeights) Learn(missed, kept [Terms]float64, rate float64) {
	var sum float64
	var v KFEWeights
	for t, x := range w {
		v[t] = max(0, x+rate*(missed[t]-kept[t]))
		sum += v[t]
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return // all were driven to 0: what was known is better
	}
	for t := range w {
		w[t] = v[t] / sum
	}
}
