package network

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// AuxiliaryShare is the usual weight of an [Auxiliary] loss.
const AuxiliaryShare = .1

// mostNormals is how many numbers a stream gives for one step.
const mostNormals = 1 << 18

// An Auxiliary keeps a distilled network consistent while the rest of a model
// learns on: its loss is that of distillation, at vectors of the model's own
// batches. It belongs to one goroutine.
type Auxiliary[F grad.Float] struct {
	pairs   *pairs[F]
	share   float64
	seed    uint64
	words   []uint32
	normals []float64
	noise   []F
	tape    *grad.Tape[F]
}

// NewAuxiliary prepares the loss of r.Net against r.EMA, with the trajectories of
// r.Teacher, or, if that is nil, without (CT). Both networks may be views of a
// model's tensors. Of the options it reads Points, Batch, Seed and Threads.
func NewAuxiliary[F grad.Float](r *DistillResult[F], options DistillOptions, share float64) (*Auxiliary[F], error) {
	if err := r.Net.check(); err != nil {
		return nil, err
	}
	if err := r.EMA.check(); err != nil {
		return nil, err
	}
	o, err := options.defaults(r.Net.Dim)
	if err != nil {
		return nil, err
	}
	switch {
	case r.EMA.Dim != r.Net.Dim:
		return nil, &consistencyShapeError{"auxiliary: dimensions of the average", r.Net.Dim, r.EMA.Dim}
	case r.Teacher != nil && r.Teacher.Dim != r.Net.Dim:
		return nil, &consistencyShapeError{"auxiliary: dimensions of the teacher", r.Net.Dim, r.Teacher.Dim}
	case !(r.SigmaD > 0 && r.SigmaD < math.Inf(1)) || !(share > 0 && share < math.Inf(1)):
		return nil, fmt.Errorf("%w: σ_d is %v and the share %v, want more than 0", errConsistencyShape, r.SigmaD, share)
	}
	values := o.Batch * r.Net.Dim
	if values > mostNormals {
		return nil, &consistencyShapeError{"auxiliary: values of a batch, at most", mostNormals, values}
	}
	return &Auxiliary[F]{pairs: newPairs(r, o.Points, o.Batch), share: share, seed: o.Seed, words: make([]uint32, o.Batch), normals: make([]float64, values),
		noise: make([]F, values), tape: grad.New[F](nil, grad.WithThreads(o.Threads))}, nil
}

// Add adds the gradient of share times the loss at vectors without noise [batch,
// dim] to sums, which is shaped like the network, and returns the loss before it
// is multiplied. Noise and levels depend on the seed and on step, which should be
// different for every call. Vectors are constants: they get no gradient.
func (a *Auxiliary[F]) Add(sums *ConsistencyNet[F], clean []F, step uint64) (float64, error) {
	p, net := a.pairs, a.pairs.r.Net
	if len(clean) != len(p.x) {
		return 0, &consistencyShapeError{"auxiliary: values", len(p.x), len(clean)}
	}
	if err := sums.check(); err != nil {
		return 0, err
	}
	if sums.Dim != net.Dim || sums.Hidden != net.Hidden {
		return 0, &consistencyShapeError{"auxiliary: hidden values of the sums", net.Hidden, sums.Hidden}
	}
	stream := weights.Stream{Seed: a.seed, Neuron: 1<<16 + 2, Tick: step, Site: weights.InitSite}
	for i := range a.words {
		a.words[i] = stream.Block(uint32(i / 4))[i%4]
	}
	stream.Site = weights.Noise
	stream.Normal(a.normals)
	for i, v := range a.normals {
		a.noise[i] = F(v)
	}
	if err := p.fill(clean, a.noise, a.words); err != nil {
		return 0, err
	}
	t := a.tape
	t.Reset()
	var refs [4]grad.Ref
	shapes := net.shapes()
	to := sums.tensors()
	for i, w := range net.tensors() {
		refs[i] = t.Borrow(w, shapes[i]...)
		t.GradInto(refs[i], to[i])
	}
	loss := p.record(t, refs[:])
	if err := t.Backward(t.Scale(loss, F(a.share))); err != nil {
		return 0, err
	}
	return float64(t.Value(loss)[0]), nil
}

// Follow moves the average a step towards the network, as after every step that
// changed it.
func (a *Auxiliary[F]) Follow(decay float64) {
	a.pairs.r.follow(decay)
}

// follow moves the average towards the network.
func (r *DistillResult[F]) follow(decay float64) {
	w := r.Net.tensors()
	for i, e := range r.EMA.tensors() {
		for j, v := range w[i] {
			e[j] = F(decay)*e[j] + (1-F(decay))*v
		}
	}
}
