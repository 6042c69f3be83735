package school

import (
	"errors"
	"fmt"

	"atenia/grad"
)

// A Recipe is how a pupil is trained. [Recommended] is what was measured.
type Recipe struct {
	Batch  int `json:"batch"`  // rows read side by side
	Window int `json:"window"` // codes of a row in a step
	Steps  int `json:"steps"`  // of the run, and of the cosine

	Rate   float64 `json:"rate"`
	Warmup int     `json:"warmup"` // steps
	Floor  float64 `json:"floor"`  // the rate's last share
	Beta1  float64 `json:"beta1"`
	Beta2  float64 `json:"beta2"`
	Decay  float64 `json:"decay"`
	Clip   float64 `json:"clip"` // limit of the gradient's norm
}

// Learning rates of a network. That of [R-2.3c] is best for runs of 600 steps; of
// 1,000 steps a lower one is, by .005 to .02 bits with each of three seeds
// (docs/quila-training.md).
const (
	shortRate = 7e-3
	longRate  = 5e-3
	longSteps = 800
)

// Recommended is the recipe of [R-2.3c] for so many steps.
func Recommended(steps int) Recipe {
	rate := shortRate
	if steps >= longSteps {
		rate = longRate
	}
	return Recipe{Batch: 16, Window: 48, Steps: steps, Rate: rate, Warmup: min(60, steps/2), Floor: .02, Beta1: .9, Beta2: .98, Decay: .01, Clip: 1}
}

// Tokens is how many codes a step reads.
func (r *Recipe) Tokens() int { return r.Batch * r.Window }

// fixed are the values that a run is resumed with, by their names: its length and its
// rates, which are the others, may change.
func (r *Recipe) fixed() map[string]string {
	return map[string]string{
		"batch": fmt.Sprint(r.Batch), "window": fmt.Sprint(r.Window),
		"beta1": fmt.Sprint(r.Beta1), "beta2": fmt.Sprint(r.Beta2), "decay": fmt.Sprint(r.Decay),
	}
}

// errRecipe matches errors about recipes.
var errRecipe = errors.New("bad recipe")

// Check returns what is wrong with a recipe.
func (r *Recipe) Check() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("school: %w: %s", errRecipe, fmt.Sprintf(format, args...)))
		}
	}
	const most = 1 << 20
	need(r.Batch >= 1 && r.Batch <= most, "batch is %d, want 1 or more", r.Batch)
	need(r.Window >= 1 && r.Window <= most, "window is %d, want 1 or more", r.Window)
	need(r.Steps >= 1, "steps are %d, want 1 or more", r.Steps)
	need(r.Rate > 0 && r.Rate <= 1, "rate is %v, want a positive number up to 1", r.Rate)
	need(r.Warmup >= 0, "warm-up is %d, want 0 or more", r.Warmup)
	need(r.Floor >= 0 && r.Floor <= 1, "floor is %v, want a share", r.Floor)
	need(r.Clip >= 0, "clip is %v, want 0 for none or a limit", r.Clip)
	return errors.Join(errs...)
}

// rate is the learning rate of a step, counted from 1. Warm-up and cosine are
// multiplied, as in the runs that the recipe was measured in: the cosine runs from
// the first step.
func (r *Recipe) rate(step int) float64 {
	s := grad.Schedule{Curve: grad.Cosine, Steps: r.Steps, Floor: r.Floor}
	warm := 1.0
	if step < r.Warmup {
		warm = float64(step) / float64(r.Warmup)
	}
	return r.Rate * warm * s.Share(step)
}

// rule is the optimizer.
func (r *Recipe) rule() grad.AdamW {
	return grad.AdamW{Beta1: r.Beta1, Beta2: r.Beta2, Epsilon: 1e-8, Decay: r.Decay}
}
