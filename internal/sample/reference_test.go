package sample

import (
	"cmp"
	"math"
	"slices"
)

// The reference computes in float64 over a sorted list, in the most literal
// way. Each stage here is its definition.

type refToken struct {
	ID      int32
	Logit   float64
	LogProb float64
}

func compareFloat(a, b float64) int { return cmp.Compare(a, b) }

// refNormalize fills in LogProb.
func refNormalize(c []refToken) {
	high := math.Inf(-1)
	for _, x := range c {
		high = max(high, x.Logit)
	}
	sum := 0.0
	for _, x := range c {
		sum += math.Exp(x.Logit - high)
	}
	for i := range c {
		c[i].LogProb = c[i].Logit - high - math.Log(sum)
	}
}

func refLogProbs(logits []float32) []refToken {
	c := make([]refToken, len(logits))
	for i, l := range logits {
		c[i] = refToken{ID: int32(i), Logit: float64(l)}
	}
	refNormalize(c)
	return c
}

// refSort orders by key, smallest first, lower id first among equals.
func refSort(c []refToken, key func(refToken) float64) {
	slices.SortFunc(c, func(a, b refToken) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.ID, b.ID))
	})
}
