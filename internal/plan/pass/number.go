package pass

import (
	"slices"

	"atenia/internal/plan"
)

// number gives registers, parameter blocks and weights the numbers of their
// first use: inputs, then outputs in order of instructions. What nothing uses
// goes. Two ways of building the same plan then give the same text and the same
// id. Declared states keep their numbers: the scheduler allocates them whether
// or not this mode touches them.
func number(s *state) error {
	p := &s.c.Plan
	n := numberer{old: *p, reg: make(map[plan.RegisterRef]plan.RegisterRef), weight: make(map[plan.WeightRef]plan.WeightRef)}
	p.Inputs = n.write(p.Inputs)
	for i := range p.Instructions {
		n.instruction(&p.Instructions[i])
	}
	p.Outputs = n.read(p.Outputs)
	p.Registers, p.Params, p.Weights = n.regs, n.params, n.weights
	p.States = slices.Clip(p.States)
	if len(p.States) == 0 {
		p.States = nil
	}
	return nil
}

type numberer struct {
	old     plan.ExecutionPlan
	reg     map[plan.RegisterRef]plan.RegisterRef // old → new
	weight  map[plan.WeightRef]plan.WeightRef
	regs    []plan.RegSpec
	params  []plan.ParamBlock
	weights []plan.WeightBinding
}

func (n *numberer) instruction(in *plan.Instruction) {
	in.In = n.read(in.In)
	in.Out = n.write(in.Out)
	n.params = append(n.params, n.old.Params[in.Param])
	in.Param = uint16(len(n.params) - 1)
	var refs []plan.WeightRef
	for k, w := range in.Weights {
		if w != plan.NoWeight {
			w = n.bind(in.Op, k, w)
		}
		refs = append(refs, w)
	}
	in.Weights = refs
}

func (n *numberer) bind(op plan.Opcode, slot int, w plan.WeightRef) plan.WeightRef {
	to, ok := n.weight[w]
	if !ok {
		to = plan.WeightRef(len(n.weights))
		n.weight[w] = to
		name, _ := plan.Specs.Get(op).Slot(slot)
		n.weights = append(n.weights, plan.WeightBinding{Slot: name, Name: n.old.Weights[w].Name})
	}
	return to
}

func (n *numberer) write(rs []plan.RegisterRef) (out []plan.RegisterRef) {
	for _, r := range rs {
		n.reg[r] = plan.RegisterRef(len(n.regs))
		out = append(out, n.reg[r])
		n.regs = append(n.regs, n.old.Registers[r])
	}
	return out
}

func (n *numberer) read(rs []plan.RegisterRef) (out []plan.RegisterRef) {
	for _, r := range rs {
		out = append(out, n.reg[r])
	}
	return out
}
