package exec

import (
	"math"

	"atenia/internal/plan"
)

// A router chooses the experts of rows: logits become scores, scores plus a
// learned bias decide, and the scores of the chosen become their weights.
type router struct {
	experts, best     int
	gate              uint32
	renorm            bool
	eps, scale        float32
	jitter            float32
	bias              []float32 // of the choice; nil = none
	groups, topGroups int       // more than one group: experts outside the best take no part
	pair              bool      // a group is as good as its two best
	masked            float32   // what experts of other groups are chosen by
}

// newRouter checks the parameters of a router.
func newRouter(p *plan.MoEParams, bias []float32) (*router, error) {
	r := &router{
		experts: int(p.Experts), best: int(p.TopK), gate: p.Gate, renorm: p.Renorm != 0 || p.Gate == plan.GateTop,
		eps: p.RenormEps, scale: p.Scale, jitter: p.Jitter, bias: bias,
		groups: int(p.Groups), topGroups: int(p.TopGroups), pair: p.GroupScore != 0,
	}
	if p.Masked != 0 {
		r.masked = float32(math.Inf(-1))
	}
	if p.Gate > plan.GateSparse {
		return nil, plan.Errorf(plan.ErrUnsupportedOpcode, plan.Whole, "a router of kind %d is not supported on the CPU yet", p.Gate)
	}
	if r.best < 1 || r.best > r.experts {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the best %d of %d experts", r.best, r.experts)
	}
	if p.Gate == plan.GateSparse && (r.best != 2 || bias != nil || r.groups > 1) {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "sparsemixer chooses two experts without bias and groups")
	}
	if r.groups > 1 {
		size := r.experts / r.groups
		switch {
		case r.experts%r.groups != 0, r.groups > 64*maxGroupWords, r.topGroups < 1, r.topGroups > r.groups, r.pair && size < 2, p.Masked != 0 && r.topGroups*size < r.best:
			return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the best %d of %d experts in %d of %d groups", r.best, r.experts, r.topGroups, r.groups)
		}
	}
	return r, nil
}

// apart reports whether what experts are chosen by differs from their scores.
func (r *router) apart() bool { return r.bias != nil || r.groups > 1 }

// route writes the experts of one row, the first chosen first, and their weights.
// It overwrites the logits p; by, [experts], is needed if [router.apart].
func (r *router) route(chosen []int32, weights, p, by []float32) {
	switch r.gate {
	case plan.GateSparse:
		r.sparse(chosen, weights, p)
		return
	case plan.GateSigmoid:
		for i, v := range p {
			p[i] = float32(1 / (1 + math.Exp(-float64(v))))
		}
	default:
		softmax(p)
	}
	if r.apart() {
		copy(by, p)
		for i, b := range r.bias {
			by[i] += b
		}
		r.mask(by)
	} else {
		by = p
	}
	total := r.eps
	for j := range chosen {
		i := first(by)
		chosen[j], weights[j] = int32(i), p[i]
		total += p[i]
		by[i] = float32(math.Inf(-1)) // taken
	}
	if !r.renorm {
		total = 1
	}
	for j := range weights {
		weights[j] = r.scale * weights[j] / total
	}
}

// first returns the first of the largest values.
func first(v []float32) (best int) {
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

func softmax(p []float32) {
	top := p[0]
	for _, v := range p {
		top = max(top, v)
	}
	sum := 0.0
	for i, v := range p {
		e := math.Exp(float64(v - top))
		p[i] = float32(e)
		sum += e
	}
	for i, v := range p {
		p[i] = float32(float64(v) / sum)
	}
}

// mask overwrites experts outside the best groups. Among equal groups the first
// is chosen.
func (r *router) mask(by []float32) {
	if r.groups < 2 {
		return
	}
	size := r.experts / r.groups
	score := func(g int) float32 {
		group := by[g*size : (g+1)*size]
		best := group[first(group)]
		if !r.pair {
			return best
		}
		second, at := float32(math.Inf(-1)), first(group)
		for i, v := range group {
			if i != at {
				second = max(second, v)
			}
		}
		return best + second
	}
	// A group is out if as many others are better as may take part; its rank needs
	// no memory, but its experts must keep their values until all are ranked.
	var out [maxGroupWords]uint64
	for g := range r.groups {
		s, better := score(g), 0
		for o := range r.groups {
			if t := score(o); t > s || t == s && o < g {
				better++
			}
		}
		if better >= r.topGroups {
			out[g/64] |= 1 << (g % 64)
		}
	}
	for g := range r.groups {
		if out[g/64]>>(g%64)&1 != 0 {
			for i := g * size; i < (g+1)*size; i++ {
				by[i] = r.masked
			}
		}
	}
}

// maxGroupWords is the number of words with a bit for each group of experts.
const maxGroupWords = 16

// sparse is sparsemixer as it infers (arXiv 2409.12136, transformers modeling_phimoe):
// the best expert, weighted by a softmax of those whose logits are nearly as good,
// then the same without it.
func (r *router) sparse(chosen []int32, weights, s []float32) {
	taken := -1
	for j := range chosen {
		best := -1
		for i, v := range s {
			if i != taken && (best < 0 || v > s[best]) {
				best = i
			}
		}
		sum := 0.0
		for i, v := range s {
			top := s[best]
			far := (top-v)/max(float32(math.Abs(float64(v))), top) > 2*r.jitter
			if i != taken && !far {
				sum += math.Exp(float64(v - top))
			}
		}
		chosen[j], weights[j] = int32(best), r.scale*float32(1/sum)
		taken = best
	}
}
