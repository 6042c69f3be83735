package tape

import (
	"slices"

	"atenia/internal/model/compile"
	"atenia/internal/plan"
)

// planOf returns the plan that is trained: prefill or, of a model that reads
// images, prefill after the stage that puts their rows among those of tokens. The
// first two inputs are tokens and the rows that go to the head.
func planOf(m *compile.Model) *plan.ExecutionPlan {
	last := &m.Plans.Prefill.Plan
	if m.Config.Encoder != nil { // its last instruction is followed by a loss, outside of layers
		out := *last
		out.Instructions = slices.Clone(last.Instructions)
		out.Instructions[len(out.Instructions)-1].Layer = -1
		return &out
	}
	if m.Plans.Scatter == nil {
		return last
	}
	first := &m.Plans.Scatter.Plan
	out := &plan.ExecutionPlan{
		Mode: last.Mode, Instructions: slices.Clone(first.Instructions), Registers: slices.Concat(first.Registers, last.Registers),
		Params: slices.Concat(first.Params, last.Params), Weights: slices.Clone(first.Weights), States: last.States,
	}
	register := func(r plan.RegisterRef) plan.RegisterRef {
		if r == last.Inputs[0] {
			return first.Outputs[0]
		}
		return r + plan.RegisterRef(len(first.Registers))
	}
	registers := func(list []plan.RegisterRef) (moved []plan.RegisterRef) {
		for _, r := range list {
			moved = append(moved, register(r))
		}
		return moved
	}
	weights := make([]plan.WeightRef, len(last.Weights))
	for i, w := range last.Weights {
		at := slices.IndexFunc(out.Weights, func(x plan.WeightBinding) bool { return x.Name == w.Name })
		if at < 0 {
			at, out.Weights = len(out.Weights), append(out.Weights, w)
		}
		weights[i] = plan.WeightRef(at)
	}
	for _, ins := range last.Instructions {
		ins.In, ins.Out = registers(ins.In), registers(ins.Out)
		ins.Param += uint16(len(first.Params))
		ins.Weights = slices.Clone(ins.Weights)
		for i, w := range ins.Weights {
			if w != plan.NoWeight {
				ins.Weights[i] = weights[w]
			}
		}
		out.Instructions = append(out.Instructions, ins)
	}
	rows := len(last.Inputs) - 1 // what goes to the head is the last input of prefill
	out.Inputs = slices.Concat(first.Inputs[:1], registers(last.Inputs[rows:]), first.Inputs[1:], registers(last.Inputs[1:rows]))
	out.Outputs = registers(last.Outputs)
	return out
}
