package grid

import (
	"fmt"
	"math"

	"atenia/quila/config"
)

// A Band is how closely a block of context relates to the task.
type Band int

// Bands of phases 1 and 3; None in the others.
const (
	None Band = iota
	Low
	Medium
	High
)

// PhaseWeight is what a phase multiplies into the increments of the session's
// trace.
func PhaseWeight(phase int, b Band) float64 {
	switch phase {
	case 1:
		return [...]float64{None: 1, Low: .1, Medium: 1, High: 1.2}[b]
	case 2:
		return 2
	case 3:
		return [...]float64{None: 1, Low: 0, Medium: 1, High: 1.5}[b]
	}
	return 1
}

// Increment is what a neuron adds to the session's trace: the phase's weight,
// its confidence, and its mean |h|.
func Increment(weight, conf, meanAbs float64) float64 { return weight * conf * meanAbs }

// Reward is what an episode earned, for all groups, and what the Planner's
// groups earned on top for replans.
func Reward(c *config.Config, base float64, tokens, budget, hallucinations, replans int) (all, planner float64) {
	all = c.RewardBase*base - c.TokenExcess*math.Max(0, float64(tokens-budget)) - c.Halluc*float64(hallucinations)
	return all, -c.ReplanCost * float64(replans)
}

// Difficulty is how much a task of success rate s teaches: 1 where half succeed.
func Difficulty(s float64) float64 { return 1 - 4*(s-.5)*(s-.5) }

// Lags that [Oscillation] tries.
const (
	firstLag = 2
	lastLag  = 8
)

// Oscillation returns the largest autocorrelation of a ring of activations at
// lags 2 to 8, and the smallest lag that has it; of a constant ring 0 and 0.
func Oscillation(ring []float64) (value float64, lag int) {
	var mean, square float64
	for _, x := range ring {
		mean += x
	}
	mean /= float64(len(ring))
	for _, x := range ring {
		square += (x - mean) * (x - mean)
	}
	const constant = 1e-12
	if square < constant {
		return 0, 0
	}
	value = math.Inf(-1)
	for k := firstLag; k <= min(lastLag, len(ring)-1); k++ {
		var xy, xx, yy float64
		for i := k; i < len(ring); i++ {
			x, y := ring[i]-mean, ring[i-k]-mean
			xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
		}
		if r := xy / math.Sqrt(xx*yy+1e-300); r > value {
			value, lag = r, k
		}
	}
	return value, lag
}

// An episode collects the characteristic eligibility of one group of parameters:
// e ← λ·e + ∇ log π(code), once per decision.
type episode struct {
	Lambda      float64 // the grid's mean at the episode's start
	Eligibility []float64
}

// NewEpisode begins with no eligibility.
func NewEpisode(lambda float64, size int) *episode { return &episode{lambda, make([]float64, size)} }

// A creditSizeError says that a gradient does not fit the parameters.
type creditSizeError struct{ Want, Got int }

func (e *creditSizeError) Error() string {
	return fmt.Sprintf("credit: a gradient of %d values for %d parameters", e.Got, e.Want)
}

// Decide adds the gradient of a decision's log probability.
func (e *episode) Decide(gradient []float64) error {
	if len(gradient) != len(e.Eligibility) {
		return &creditSizeError{len(e.Eligibility), len(gradient)}
	}
	for i, g := range gradient {
		e.Eligibility[i] = faded(e.Eligibility[i], e.Lambda, g)
	}
	return nil
}

// Update adds lr·(reward−baseline)·share·e to w; share is [Traces.Share].
func (e *episode) Update(w []float64, lr, reward, baseline, share float64) {
	k := lr * (reward - baseline) * share
	for i, g := range e.Eligibility {
		w[i] += k * g
	}
}
