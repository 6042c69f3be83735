package exec

import (
	"atenia/internal/memory/pack"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A Need is the memory that an executor takes besides its weights.
type Need struct {
	Registers int64 // bytes of the buffers that both plans share
	Work      int64 // bytes of the work arena
	Packing   pack.Decision
}

// Measure returns what [New] would take, and takes nothing. Of the weights it
// looks at types and shapes alone: they may have no bytes.
func Measure(plans *plan.ModelPlans, w Weights, cfg Config) (Need, error) {
	x, err := prepare(plans, cfg)
	if err != nil {
		return Need{}, err
	}
	x.measuring = true
	if err := x.bindAll(plans, hollow(w)); err != nil {
		return Need{}, err
	}
	n := Need{Registers: x.registerBytes, Work: int64(x.workBytes)}
	n.Packing = x.weights.DryRun(n.Registers + n.Work)
	return n, nil
}

// MeasureTower returns what [NewTower] would take, in the same way.
func MeasureTower(plans *plan.ModelPlans, w Weights, cfg Config) (Need, error) {
	x, t, err := prepareTower(plans, cfg)
	if err != nil {
		return Need{}, err
	}
	x.measuring = true
	if err := t.bind(plans, hollow(w)); err != nil {
		return Need{}, err
	}
	return Need{Registers: x.registerBytes, Work: int64(x.workBytes)}, nil
}

// hollow returns weights that binding accepts, which looks at the values of
// vectors: zeros for these, and a single byte for a matrix.
func hollow(w Weights) Weights {
	out := make(Weights, len(w))
	for name, v := range w {
		v.Data = make([]byte, 1)
		if n, ok := v.Shape.Size(); ok && len(v.Shape) < 2 {
			v = tensor.FromF32(v.Shape, make([]float32, n))
		}
		out[name] = v
	}
	return out
}
