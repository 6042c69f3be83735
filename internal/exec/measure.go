package exec

import (
	"atenia/internal/memory/pack"
	"atenia/internal/plan"
)

// A Need is the memory that an executor takes besides its weights.
type Need struct {
	Registers int64 // bytes of the buffers that both plans share
	Work      int64 // bytes of the work arena
	Packing   pack.Decision
}

// Measure returns the memory that [New] would take, without taking any. It
// reads only types and shapes of weights, and the values of vectors: matrices
// may have a single byte of data each.
func Measure(plans *plan.ModelPlans, w Weights, cfg Config) (Need, error) {
	x, err := prepare(plans, cfg)
	if err != nil {
		return Need{}, err
	}
	x.measuring = true
	if err := x.bindAll(plans, w); err != nil {
		return Need{}, err
	}
	n := Need{Registers: x.registerBytes, Work: int64(x.workBytes)}
	n.Packing = x.weights.DryRun(n.Registers + n.Work)
	return n, nil
}
