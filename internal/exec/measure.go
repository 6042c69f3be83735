package exec

import (
	"atenia/internal/memory/pack"
	"atenia/internal/plan"
)

// A Need is the memory that an executor takes beside its weights.
type Need struct {
	Registers int64 // bytes of the buffers that both plans share
	Work      int64 // bytes of the work arena
	Packing   pack.Decision
}

// Measure returns what [New] would take, and takes nothing. Of the weights it
// looks at types and shapes, and at the values of vectors: matrices may have a
// single byte of data each.
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
