package grad

import (
	"fmt"
	"math"
	"strings"
)

// A Curve is the shape of the learning rate after warm-up.
type Curve uint8

// The curves. Progress runs from 0 at the end of the warm-up to 1 at the end of
// the last step.
const (
	Cosine   Curve = iota // half a cosine: steep in the middle
	Linear                // a straight line
	Constant              // no decay
	WSD                   // warm-up, stable, decay: linear over the last Decay steps
)

var curveNames = [...]string{Cosine: "cosine", Linear: "linear", Constant: "constant", WSD: "wsd"}

// String returns the curve's name in configurations.
func (c Curve) String() string {
	if int(c) < len(curveNames) {
		return curveNames[c]
	}
	return fmt.Sprintf("curve %d", uint8(c))
}

// MarshalText returns the curve's name.
func (c Curve) MarshalText() ([]byte, error) {
	if int(c) >= len(curveNames) {
		return nil, fmt.Errorf("%w: unknown %v", ErrOptimizer, c)
	}
	return []byte(c.String()), nil
}

// UnmarshalText reads a curve's name.
func (c *Curve) UnmarshalText(b []byte) error {
	for i, name := range curveNames {
		if name == string(b) {
			*c = Curve(i)
			return nil
		}
	}
	return fmt.Errorf("%w: schedule %q, want one of %s", ErrOptimizer, b, strings.Join(curveNames[:], ", "))
}

// A Schedule gives each step its share of the learning rate.
type Schedule struct {
	Curve  Curve
	Steps  int     // of the whole run; required by curves that decay
	Warmup int     // steps over which the share grows linearly to 1
	Decay  int     // steps over which WSD decays
	Floor  float64 // the final share
}

// Check returns what is wrong with a schedule; errors match [ErrOptimizer].
func (s Schedule) Check() error {
	var f faults
	f.need(int(s.Curve) < len(curveNames), "unknown %v", s.Curve)
	f.need(s.Steps >= 0 && s.Warmup >= 0 && s.Decay >= 0, "steps %d, warm-up %d and decay %d must not be negative", s.Steps, s.Warmup, s.Decay)
	f.need(s.Curve == Constant || s.Steps > 0, "a %v schedule needs the number of steps", s.Curve)
	f.need(s.Curve == Constant || s.Warmup+s.Decay <= s.Steps, "%d steps are fewer than a warm-up of %d and a decay of %d", s.Steps, s.Warmup, s.Decay)
	f.need(s.Curve != WSD || s.Decay > 0, "a wsd schedule needs the number of steps of its decay")
	f.need(s.Floor >= 0 && s.Floor <= 1, "floor is %v, want a share between 0 and 1", s.Floor)
	return f.err()
}

// Share returns the factor of the learning rate at a step, counted from 0.
func (s Schedule) Share(step int) float64 {
	if step < s.Warmup {
		return float64(step+1) / float64(s.Warmup)
	}
	from := s.Warmup
	if s.Curve == WSD {
		from = s.Steps - s.Decay
	}
	if s.Curve == Constant || step < from {
		return 1
	}
	progress := 1.0
	if step < s.Steps {
		progress = float64(step-from) / float64(s.Steps-from)
	}
	left := 1 - progress
	if s.Curve == Cosine {
		left = (1 + math.Cos(math.Pi*progress)) / 2
	}
	return s.Floor + (1-s.Floor)*left
}
