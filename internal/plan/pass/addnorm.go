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
// row is written at the same point and the peak does not grow; that the norm
// divides by the root mean square of the whole row; and that it has a weight
// and no bias, as AddParams can express.
func addNorm(p *plan.ExecutionPlan) (sites []string) {
	out := p.Instructions[:0:0]
	for i := 0; i < len(p.Instructions); i++ {
		in := p.Instructions[i]
		if i+1 < len(p.Instructions) {
			if block, ok := fusedAdd(p, &in, &p.Instructions[i+1]); ok {
				norm := &p.Instructions[i+1]
				sites = append(sites, where(p, in.Out[0], norm.Out[0]))
				p.Params = append(p.Params, block)
				in.Param = uint16(len(p.Params) - 1)
				in.Out = append(slices.Clip(in.Out), norm.Out[0])
				in.Weights = []plan.WeightRef{norm.Weights[0]}
				i++ // the norm was removed
			}
		}
		out = append(out, in)
	}
	p.Instructions = out
	return sites
}

// fusedAdd returns the payload of add joined with norm, if that is legal.
func fusedAdd(p *plan.ExecutionPlan, add, norm *plan.Instruction) (plan.ParamBlock, bool) {
	var none plan.ParamBlock
	if add.Op != plan.OpResidualAdd || norm.Op != plan.OpNorm || len(add.Out) != 1 || norm.In[0] != add.Out[0] {
		return none, false
	}
	a, n := decode[plan.AddParams](p, add), decode[plan.NormParams](p, norm)
	if a == nil || n == nil || n.Kind != plan.NormRMS || n.Groups > 1 {
		return none, false
	}
	spec := plan.Specs.Get(plan.OpNorm)
	weight, _ := spec.SlotIndex("weight")
	bias, _ := spec.SlotIndex("bias")
	if norm.Weights[weight] == plan.NoWeight || norm.Weights[bias] != plan.NoWeight {
		return none, false
	}
	if sum, row := p.Registers[add.Out[0]], p.Registers[norm.Out[0]]; sum.DType != row.DType {
		return none, false
	}
	if len(p.Params) > maxParams {
		return none, false
	}
	block, err := plan.EncodeParams(plan.OpResidualAdd, &plan.AddParams{Scale: a.Scale, Norm: 1, NormEps: n.Eps, NormOff: n.Offset})
	return block, err == nil
}

// maxParams allows for one more block in the numbering.
const maxParams = 1<<16 - 2
