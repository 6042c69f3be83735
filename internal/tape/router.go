package tape

import (
	"math"

	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A router makes scores of a mixture's logits and says by what experts are chosen.
// Choices have no gradient, so neither has the bias that only they see.
type router[F Float] struct {
	experts           int
	gate              uint32
	bias              operand[F] // of the choice; none if it has no leaf
	groups, topGroups int
	pair              bool // a group is as good as its two best experts
	masked            F    // what experts of other groups are chosen by
	jitter            F    // of sparsemixer
	by                []F  // of one row
	out               []bool
}

func (b *Bind[F]) router(p *plan.MoEParams) (router[F], error) {
	r := router[F]{experts: int(p.Experts), gate: p.Gate, groups: int(p.Groups), topGroups: int(p.TopGroups), pair: p.GroupScore != 0,
		jitter: exact[F](p.Jitter), by: make([]F, p.Experts), out: make([]bool, max(p.Groups, 1))}
	if p.Masked != 0 {
		r.masked = F(math.Inf(-1))
	}
	switch {
	case p.Gate > plan.GateSparse:
		return r, b.untrained("a router of kind %d", p.Gate)
	case p.TopK < 1 || p.TopK > p.Experts:
		return r, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the best %d of %d experts", p.TopK, p.Experts)
	case r.groups > 1 && (r.experts%r.groups != 0 || r.topGroups < 1 || r.topGroups > r.groups || p.Masked != 0 && r.topGroups*r.experts/r.groups < int(p.TopK)):
		return r, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the best %d of %d experts in %d of %d groups", p.TopK, p.Experts, p.TopGroups, p.Groups)
	case p.Gate == plan.GateSparse && (p.TopK != 2 || r.groups > 1 || b.Has("select_bias")):
		return r, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "sparsemixer chooses two experts without bias and groups")
	}
	var err error
	r.bias, err = b.vector("select_bias", r.experts)
	return r, err
}

// scores turns logits into scores; sparsemixer's are the logits.
func (r *router[F]) scores(w *dense.Work[F], p []F, rows int) {
	switch r.gate {
	case plan.GateSparse:
	case plan.GateSigmoid:
		dense.Activate(dense.Sigmoid, p, p)
	default:
		w.SoftmaxRows(p, p, rows, r.experts)
	}
}

// row returns by what the experts of a row are chosen.
func (r *router[F]) row(p []F) []F {
	bias := r.bias.value()
	if bias == nil && r.groups < 2 {
		return p
	}
	copy(r.by, p)
	if bias != nil {
		add(r.by, bias)
	}
	if r.groups < 2 {
		return r.by
	}
	size := r.experts / r.groups
	for g := range r.out {
		s, better := r.group(g), 0
		for o := range r.groups {
			if t := r.group(o); t > s || t == s && o < g {
				better++
			}
		}
		r.out[g] = better >= r.topGroups
	}
	for i := range r.by {
		if r.out[i/size] {
			r.by[i] = r.masked
		}
	}
	return r.by
}

// group returns the score of a group.
func (r *router[F]) group(g int) F {
	size := r.experts / r.groups
	best, second := F(math.Inf(-1)), F(math.Inf(-1))
	for _, v := range r.by[g*size : (g+1)*size] {
		if v > best {
			best, second = v, best
		} else {
			second = max(second, v)
		}
	}
	if r.pair {
		return best + second
	}
	return best
}

// near writes the softmax with which sparsemixer weights the expert chosen as j-th:
// over the experts left whose logits are nearly as good.
func (r *router[F]) near(dst, p []F, chosen []int32, j int) {
	top := p[chosen[j]]
	sum := F(0)
next:
	for i, v := range p {
		dst[i] = 0
		for _, t := range chosen[:j] {
			if int(t) == i {
				continue next
			}
		}
		if (top-v)/max(F(math.Abs(float64(v))), top) > 2*r.jitter {
			continue
		}
		dst[i] = F(math.Exp(float64(v - top)))
		sum += dst[i]
	}
	dense.Scale(dst, 1/sum)
}

// back turns the gradients of scores into those of logits. Sparsemixer's are
// written by [moe.sparseBack].
func (r *router[F]) back(w *dense.Work[F], dlogits, p, dp []F, rows int) {
	if r.gate == plan.GateSigmoid {
		for i, v := range p {
			dlogits[i] += dp[i] * v * (1 - v)
		}
		return
	}
	w.SoftmaxRowsBack(dlogits, p, dp, rows, r.experts)
}

// sparseBack writes the gradients of logits from those of the weights of places.
func (e *moe[F]) sparseBack(dlogits, p, dweights []F, rows int) {
	r := &e.route
	for row := range rows {
		logits, d := p[row*e.experts:(row+1)*e.experts], dlogits[row*e.experts:(row+1)*e.experts]
		chosen := r.expert[row*e.best : (row+1)*e.best]
		for j, x := range chosen {
			e.choice.near(e.choice.by, logits, chosen, j)
			weight := e.choice.by[x]
			c := e.scale * dweights[r.place[row*e.best+j]] * weight
			d[x] += c
			dense.Axpy(d, -c, e.choice.by)
		}
	}
}

// activate writes what down multiplies.
func (e *moe[F]) activate(w *dense.Work[F], h, gate, up []F) {
	if e.limit == 0 {
		w.ActivateMul(e.act, h, gate, up)
		return
	}
	for i, g := range gate {
		g = min(g, e.limit)
		h[i] = (min(max(up[i], -e.limit), e.limit) + 1) * g * sigmoid(e.slope*g)
	}
}

// activateBack adds the gradients of activate.
func (e *moe[F]) activateBack(w *dense.Work[F], dgate, dup, gate, up, dh []F) {
	if e.limit == 0 {
		w.ActivateMulBack(e.act, dgate, dup, gate, up, dh)
		return
	}
	for i, d := range dh {
		g, u := min(gate[i], e.limit), min(max(up[i], -e.limit), e.limit)
		s := sigmoid(e.slope * g)
		if gate[i] < e.limit {
			dgate[i] += d * (u + 1) * s * (1 + e.slope*g*(1-s))
		}
		if u == up[i] {
			dup[i] += d * g * s
		}
	}
}

func sigmoid[F Float](x F) F { return F(1 / (1 + math.Exp(-float64(x)))) }

// useRouter makes the router's weights inputs of the block.
func (e *moe[F]) useRouter(s *step[F]) {
	e.router.use(s)
	e.choice.bias.at = -1
}
