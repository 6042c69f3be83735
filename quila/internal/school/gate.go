package school

import "math"

// gateEMA is the share of the past in the gate's averages.
const gateEMA = .9

// A Gate tells when the library of a network may be written to: not in the first
// tenth of the steps, and not before training has begun to converge, that is
// while the average of the loss is not below the entropy of single characters or
// that of the gradient's norm is not finite. Once open it stays open [R-16.1b].
type Gate struct {
	First   int     `json:"first"`   // step that is the first possible
	Entropy float64 `json:"entropy"` // nats
	Steps   int     `json:"steps"`   // observed
	Loss    float64 `json:"loss"`
	Norm    float64 `json:"norm"`
	Broken  bool    `json:"broken"` // an average is not a number, which stays
	Opened  bool    `json:"opened"`
}

// NewGate makes the gate of a run of so many steps.
func NewGate(steps int, entropy float64) *Gate {
	return &Gate{First: (steps + 9) / 10, Entropy: entropy}
}

// Observe takes in a step's loss and gradient norm.
func (g *Gate) Observe(loss, norm float64) {
	if g.Steps == 0 {
		g.Loss, g.Norm = loss, norm
	} else {
		g.Loss, g.Norm = gateEMA*g.Loss+(1-gateEMA)*loss, gateEMA*g.Norm+(1-gateEMA)*norm
	}
	if finite := g.Loss-g.Loss == 0 && g.Norm-g.Norm == 0; !finite {
		// Kept as a flag, because a checkpoint's text has no such numbers.
		g.Loss, g.Norm, g.Broken = math.MaxFloat64, math.MaxFloat64, true
	}
	g.Steps++
	if !g.Opened && !g.Broken && g.Steps >= g.First && g.Loss < g.Entropy {
		g.Opened = true
	}
}

// Open reports whether the library may be written to.
func (g *Gate) Open() bool { return g.Opened }
