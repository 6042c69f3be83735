package tape

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A routing says which expert gets which rows. It follows from the router's
// probabilities alone, so the way back finds the same one.
type routing[F Float] struct {
	expert  []int32 // [rows, best]: the experts of each row, the likeliest first
	place   []int32 // [rows, best]: where each is among the places
	first   []int   // first place of each expert, and the number of all
	rows    []int32 // row of each place
	weights []F     // of each place
	next    []int
}

// choose finds the best experts of every row. Of equals the first is taken.
func (r *routing[F]) choose(e *moe[F], probs []F, rows int) {
	n := rows * e.best
	r.expert, r.place, r.rows, r.weights = size(r.expert, n), size(r.place, n), size(r.rows, n), size(r.weights, n)
	r.first, r.next = size(r.first, e.experts+1), size(r.next, e.experts)
	clear(r.first)
	for row := range rows {
		p, chosen := probs[row*e.experts:(row+1)*e.experts], r.expert[row*e.best:(row+1)*e.best]
		by := e.choice.row(p)
		for j := range chosen {
			chosen[j] = likeliest(by, chosen[:j])
			r.first[chosen[j]+1]++
		}
	}
	for i := range e.experts {
		r.first[i+1] += r.first[i]
		r.next[i] = r.first[i]
	}
	for row := range rows {
		total := e.total(probs, r, row)
		p, chosen := probs[row*e.experts:(row+1)*e.experts], r.expert[row*e.best:(row+1)*e.best]
		for j := row * e.best; j < (row+1)*e.best; j++ {
			x := r.expert[j]
			at := r.next[x]
			r.next[x]++
			r.place[j], r.rows[at] = int32(at), int32(row)
			if e.choice.gate == plan.GateSparse {
				e.choice.near(e.choice.by, p, chosen, j-row*e.best)
				r.weights[at] = e.scale * e.choice.by[x]
				continue
			}
			r.weights[at] = e.scale * p[x] / total
		}
	}
}

// total returns the divisor of the probabilities of a row's experts.
func (e *moe[F]) total(probs []F, r *routing[F], row int) F {
	if !e.renorm {
		return 1
	}
	sum := e.eps
	for _, x := range r.expert[row*e.best : (row+1)*e.best] {
		sum += probs[row*e.experts+int(x)]
	}
	return sum
}

// likeliest returns the first of the largest that is not taken.
func likeliest[F Float](p []F, taken []int32) int32 {
	best := int32(-1)
next:
	for i, v := range p {
		if best >= 0 && !(v > p[best]) {
			continue
		}
		for _, t := range taken {
			if int(t) == i {
				continue next
			}
		}
		best = int32(i)
	}
	return max(best, 0)
}

// collect copies the rows of all places.
func (r *routing[F]) collect(dst, x []F, dim int) []F {
	for p, row := range r.rows {
		copy(dst[p*dim:(p+1)*dim], x[int(row)*dim:])
	}
	return dst
}

// size returns v with n elements of any value.
func size[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}

// weighDown goes back through expert i's last product, whose results are
// weighted: it adds the gradients of the product's weights, writes those of the
// weights of places, and the gradient of h to dh.
func (e *moe[F]) weighDown(b *grad.OpaqueBack[F], i int, dh *sink[F], ds, h, dweights, weights []F) {
	l := &e.down[i]
	n := len(weights)
	weighted := e.m.scratch.take(len(h))
	for p, c := range weights {
		row := weighted[p*e.hidden : (p+1)*e.hidden]
		copy(row, h[p*e.hidden:(p+1)*e.hidden])
		dense.Scale(row, c)
	}
	at := l.bias.at
	l.bias.at = -1 // a bias is weighted, too: below
	l.back(b, dh, ds, weighted, n)
	l.bias.at = at
	dbias, bias := l.bias.grad(b), l.bias.value()
	for p, c := range weights {
		row, d := dh.g[p*e.hidden:(p+1)*e.hidden], ds[p*e.dim:(p+1)*e.dim]
		dweights[p] = dense.Dot(row, h[p*e.hidden:(p+1)*e.hidden])
		if bias != nil {
			dweights[p] += dense.Dot(d, bias)
		}
		if dbias != nil {
			dense.Axpy(dbias, c, d)
		}
		dense.Scale(row, c)
	}
}

// routerBack writes the gradient of the router's logits from those of the
// weights of places and of the auxiliary loss.
func (e *moe[F]) routerBack(b *grad.OpaqueBack[F], dlogits, probs, dweights []F, rows int) {
	if e.choice.gate == plan.GateSparse {
		e.sparseBack(dlogits, probs, dweights, rows)
		return
	}
	r, dprobs := &e.route, e.m.scratch.zeros(len(probs))
	for row := range rows {
		p, dp := probs[row*e.experts:(row+1)*e.experts], dprobs[row*e.experts:(row+1)*e.experts]
		total, shrink := e.total(probs, r, row), F(0)
		for j := row * e.best; j < (row+1)*e.best; j++ {
			x := r.expert[j]
			d := e.scale * dweights[r.place[j]] / total
			dp[x] += d
			shrink += d * p[x] / total
		}
		if e.renorm {
			for _, x := range r.expert[row*e.best : (row+1)*e.best] {
				dp[x] -= shrink
			}
		}
		if e.balanced && b.DOutUsed(1) {
			dense.Add(dp, b.DOut(1)[:e.experts])
		}
	}
	e.choice.back(dense.Of[F](b.Work()), dlogits, probs, dprobs, rows)
}

// sharedBack is the backward pass of the shared expert.
func (e *moe[F]) sharedBack(b *grad.OpaqueBack[F], dx *sink[F], dy, x []F, rows int) {
	w, scratch := dense.Of[F](b.Work()), &e.m.scratch
	gate, up := b.Saved(savedSharedGate), b.Saved(savedSharedUp)
	dout := dy
	if e.sharedGated {
		out, logit := b.Saved(savedSharedOut), b.Saved(savedSharedLogit)
		open, dlogit := scratch.take(rows), scratch.take(rows)
		dense.Activate(dense.Sigmoid, open, logit)
		dout = append(scratch.take(len(dy))[:0], dy...)
		for r, g := range open {
			d := dout[r*e.dim : (r+1)*e.dim]
			dlogit[r] = dense.Dot(d, out[r*e.dim:(r+1)*e.dim]) * g * (1 - g)
			dense.Scale(d, g)
		}
		e.sRouter.back(b, dx, dlogit, x, rows)
	}
	h, dh := scratch.take(len(up)), sink[F]{g: scratch.take(len(up))}
	dgate, dup := scratch.zeros(len(up)), scratch.zeros(len(up))
	e.activate(w, h, gate, up)
	e.sDown.back(b, &dh, dout, h, rows)
	e.activateBack(w, dgate, dup, gate, up, dh.g)
	e.sGate.back(b, dx, dgate, x, rows)
	e.sUp.back(b, dx, dup, x, rows)
}

// balanceOf writes the inputs of the auxiliary loss as the second output of a
// mixture's block: the sum of each expert's probabilities, and the number of
// rows that chose it.
func (s *step[F]) balanceOf(e *moe[F], probs []F, rows int) error {
	e.balanced = s.m.Balance != 0 && e.choice.gate != plan.GateSparse
	if !e.balanced {
		return nil
	}
	r := s.t.Alloc(2, e.experts)
	v := s.t.Data(r)
	if v == nil {
		return s.t.Err()
	}
	clear(v)
	for row := range rows {
		add(v[:e.experts], probs[row*e.experts:(row+1)*e.experts])
	}
	for i := range e.experts {
		v[e.experts+i] = F(e.route.first[i+1] - e.route.first[i])
	}
	s.out, s.balance = append(s.out, r), append(s.balance, r)
	return nil
}

// recordBalance records the auxiliary loss of all mixtures together:
//
//	E · Σ_e (share of rows that chose e) · (mean probability of e)
//
// with shares summed over the places of a choice: Switch Transformers
// (arXiv 2101.03961, equations 4 to 6), over all layers as one. Choices have no
// gradient.
func (s *step[F]) recordBalance() (grad.Ref, error) {
	s.begin()
	s.in = append(s.in, s.balance...)
	loss := s.t.Alloc()
	s.out = append(s.out, loss)
	n := s.m.experts
	shares := s.keep(n + 1) // and the number of rows, of all layers
	d := s.t.Data(loss)
	if d == nil {
		return 0, s.t.Err()
	}
	clear(shares)
	means := s.m.scratch.zeros(n)
	for _, r := range s.balance {
		v := s.t.Value(r)
		add(means, v[:n])
		add(shares[:n], v[n:])
	}
	rows := F(len(s.balance) * len(s.rows))
	shares[n] = rows
	d[0] = 0
	for i, p := range means {
		shares[i] /= rows
		d[0] += F(n) * shares[i] * p / rows
	}
	return loss, s.end(keyBalance, s.m)
}

func balanceBack[F Float](b *grad.OpaqueBack[F]) {
	m := b.Aux.(*Model[F])
	n, shares := m.experts, b.Saved(0)
	for i := range m.step.balance {
		if g := b.DIn(i); g != nil {
			dense.Axpy(g[:n], b.DOut(0)[0]*F(n)/shares[n], shares[:n])
		}
	}
}
