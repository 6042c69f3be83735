package sample

import (
	"cmp"
	"math"
	"slices"
)

// The reference keeps sorted lists and computes in float64, in the most
// literal way: each stage is its definition. Logits are rounded to float32
// where a stage changes them, as the sampler's are.

type refToken struct {
	ID      int32
	Logit   float64
	LogProb float64
}

func compareFloat(a, b float64) int { return cmp.Compare(a, b) }

func refList(logits []float32) []refToken {
	c := make([]refToken, len(logits))
	for i, l := range logits {
		c[i] = refToken{ID: int32(i), Logit: float64(l)}
	}
	return c
}

func refLogProbs(logits []float32) []refToken {
	c := refList(logits)
	refNormalize(c)
	return c
}

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

// refSort orders by key, smallest first, lower id first among equals.
func refSort(c []refToken, key func(refToken) float64) {
	slices.SortFunc(c, func(a, b refToken) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(b.Logit, a.Logit), cmp.Compare(a.ID, b.ID))
	})
}

func likeliest(x refToken) float64 { return -x.Logit }

// refMass keeps what has the mass p, smallest key first.
func refMass(c []refToken, p float64, key func(refToken) float64) []refToken {
	refSort(c, key)
	sum := 0.0
	for i, x := range c {
		if sum += math.Exp(x.LogProb); sum >= p {
			return c[:i+1]
		}
	}
	return c
}

// refStages applies the stages of p.Order to a copy of the logits.
func refStages(p Params, logits []float32, past []int32) []refToken {
	p = p.withDefaults()
	c := refList(logits)
	for i := range c {
		c[i].Logit = float64(float32(c[i].Logit + float64(p.LogitBias[c[i].ID])))
	}
	for _, st := range p.Order {
		refNormalize(c)
		switch st {
		case Penalties:
			refPenalties(p, c, past)
		case DryStage:
			refDry(p.DRY, c, past)
		case TopK:
			if p.TopK > 0 && p.TopK < len(c) {
				refSort(c, likeliest)
				c = c[:p.TopK]
			}
		case Typical:
			if p.Typical > 0 && p.Typical < 1 {
				entropy := 0.0
				for _, x := range c {
					entropy -= math.Exp(x.LogProb) * x.LogProb
				}
				c = refMass(c, float64(p.Typical), func(x refToken) float64 { return math.Abs(-x.LogProb - entropy) })
			}
		case TopP:
			if p.TopP > 0 && p.TopP < 1 {
				c = refMass(c, float64(p.TopP), likeliest)
			}
		case MinP:
			if p.MinP > 0 {
				refSort(c, likeliest)
				low := c[0].LogProb + math.Log(float64(p.MinP))
				c = slices.DeleteFunc(c, func(x refToken) bool { return x.LogProb < low })
			}
		case Temperature:
			for i := range c {
				c[i].Logit = float64(float32(c[i].Logit / float64(p.Temperature)))
			}
		}
	}
	refNormalize(c)
	return c
}

func refPenalties(p Params, c []refToken, past []int32) {
	if p.RepeatLast > 0 {
		past = past[max(0, len(past)-p.RepeatLast):]
	}
	for i := range c {
		x := &c[i]
		n := 0
		for _, id := range past {
			if id == x.ID {
				n++
			}
		}
		if n == 0 {
			continue
		}
		if x.Logit > 0 {
			x.Logit /= float64(p.RepeatPenalty)
		} else {
			x.Logit *= float64(p.RepeatPenalty)
		}
		x.Logit -= float64(n)*float64(p.FrequencyPenalty) + float64(p.PresencePenalty)
		x.Logit = float64(float32(x.Logit))
	}
}

// refDry asks of every token: what is the longest end of the history that was
// once followed by it?
func refDry(d DRY, c []refToken, past []int32) {
	if d.Multiplier == 0 {
		return
	}
	if d.Range > 0 {
		past = past[max(0, len(past)-d.Range):]
	}
	limit := refAfterBreaker(d.Breakers, past)
	for i := range c {
		x := &c[i]
		if slices.ContainsFunc(d.Breakers, func(b []int32) bool { return len(b) == 1 && b[0] == x.ID }) {
			continue
		}
		longest := 0
		for at, id := range past {
			if id != x.ID {
				continue
			}
			for n := 1; n <= at && n <= limit; n++ {
				if slices.Equal(past[at-n:at], past[len(past)-n:]) {
					longest = max(longest, n)
				}
			}
		}
		if longest >= d.AllowedLength {
			penalty := float64(d.Multiplier) * math.Pow(float64(d.Base), float64(longest-d.AllowedLength))
			x.Logit = float64(float32(x.Logit - penalty))
		}
	}
}

func refAfterBreaker(breakers [][]int32, past []int32) int {
	for at := len(past) - 1; at >= 0; at-- {
		longest := 0
		for _, b := range breakers {
			if len(b) <= len(past)-at && slices.Equal(past[at:at+len(b)], b) {
				longest = max(longest, len(b))
			}
		}
		if longest > 0 {
			return len(past) - at - longest
		}
	}
	return len(past)
}
