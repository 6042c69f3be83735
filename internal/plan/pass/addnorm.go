package pass

import (
	"slices"

	"atenia/internal/plan"
)

// addNorm turns
//
//	h = residual_add(x, a)
//	n = norm(h)                 →    h, n = residual_add(x, a)
//
// so that the sum is normalized while it is still in cache: one launch less for
// every norm of a block, and the sum is read once.
//
// It requires that the norm follows the add immediately, so that the normalized
// row is written at the same point and the peak does not grow; and that it is one
// that AddParams can express: over the whole row, with a weight, and with a bias
// only if it is a layer norm. The sum must have another reader, or the norm must go
// to the head: in a block that normalizes the residual stream itself (BERT) the norm
// takes the place of the sum, and joining them would take a third buffer for nothing
// (400 texts through a 6-layer encoder: no difference).
func addNorm(p *plan.ExecutionPlan) (sites []string) {
	out, reads := p.Instructions[:0:0], readers(p)
	for i := 0; i < len(p.Instructions); i++ {
		in := p.Instructions[i]
		if i+1 < len(p.Instructions) {
			if block, ok := fusedAdd(p, &in, &p.Instructions[i+1]); ok && (reads[in.Out[0]] > 1 || headReads(p, i+1)) {
				norm := &p.Instructions[i+1]
				sites = append(sites, where(p, in.Out[0], norm.Out[0]))
				p.Params = append(p.Params, block)
				in.Param = uint16(len(p.Params) - 1)
				in.Out = append(slices.Clip(in.Out), norm.Out[0])
				in.Weights = slices.Clone(norm.Weights) // weight and bias, in both
				i++                                     // the norm was removed
			}
		}
		out = append(out, in)
	}
	p.Instructions = out
	return sites
}

// headReads reports whether the head reads what instruction i makes, right after it.
func headReads(p *plan.ExecutionPlan, i int) bool {
	return i+1 < len(p.Instructions) && p.Instructions[i+1].Op == plan.OpLMHead && p.Instructions[i+1].In[0] == p.Instructions[i].Out[0]
}

// fusedAdd returns the payload of add joined with norm, if that is legal.
func fusedAdd(p *plan.ExecutionPlan, add, norm *plan.Instruction) (plan.ParamBlock, bool) {
	var none plan.ParamBlock
	if add.Op != plan.OpResidualAdd || norm.Op != plan.OpNorm || len(add.Out) != 1 || norm.In[0] != add.Out[0] {
		return none, false
	}
	a, n := decode[plan.AddParams](p, add), decode[plan.NormParams](p, norm)
	if a == nil || n == nil || n.Groups > 1 {
		return none, false
	}
	spec := plan.Specs.Get(plan.OpNorm)
	weight, _ := spec.SlotIndex("weight")
	bias, _ := spec.SlotIndex("bias")
	kind := plan.AddPlain
	switch {
	case norm.Weights[weight] == plan.NoWeight:
	case n.Kind == plan.NormLayer:
		kind = plan.AddLayerNorm
	case n.Kind == plan.NormRMS && norm.Weights[bias] == plan.NoWeight:
		kind = plan.AddRMSNorm
	}
	if kind == plan.AddPlain {
		return none, false
	}
	if sum, row := p.Registers[add.Out[0]], p.Registers[norm.Out[0]]; sum.DType != row.DType {
		return none, false
	}
	if len(p.Params) > maxParams {
		return none, false
	}
	block, err := plan.EncodeParams(plan.OpResidualAdd, &plan.AddParams{Scale: a.Scale, Norm: kind, NormEps: n.Eps, NormOff: n.Offset})
	return block, err == nil
}

// maxParams allows for one more block in the numbering.
const maxParams = 1<<16 - 2
