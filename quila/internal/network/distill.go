package network

import (
	"context"
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// A Mode says how a network was made; a checkpoint keeps it.
type Mode string

// Modes.
const (
	CD Mode = "CD" // distilled from a teacher
	CT Mode = "CT" // trained without one, which is worse
)

// lowest is the lowest noise level, in units of σ_d.
const lowest = .002

// DistillOptions say how [Distill] trains. The zero value is what section 2.6 gives.
type DistillOptions struct {
	Hidden       int     // of the network; 0 = 2·dim
	Points       int     // noise levels; 0 = 18
	EMALow       float64 // decay of the target at the first step; 0 = .95
	EMAHigh      float64 // and at the last; 0 = .999
	TeacherSteps int     // 0 = 3000
	TeacherWidth int     // 0 = 4·dim
	Steps        int     // 0 = 3000
	Warm         int     // of these, first steps that imitate the teacher's denoiser; 0 = a third
	Batch        int     // 0 = 256
	Rate         float64 // learning rate of both; 0 = 3e-3
	NoTeacher    bool    // train without a teacher; the result says CT
	Seed         uint64
	Threads      *grad.Threads // nil: the caller's
	// Log, if not nil, is called with lines of progress and with a warning when
	// there is no teacher.
	Log func(format string, args ...any)
}

func (o DistillOptions) defaults(dim int) (DistillOptions, error) {
	for _, p := range []struct {
		at    *int
		usual int
	}{{&o.Hidden, 2 * dim}, {&o.Points, 18}, {&o.TeacherSteps, 3000}, {&o.TeacherWidth, 4 * dim}, {&o.Steps, 3000}, {&o.Batch, 256}} {
		if *p.at == 0 {
			*p.at = p.usual
		}
		if *p.at < 1 || *p.at > 1<<20 {
			return o, &consistencyShapeError{"an option, at least", 1, *p.at}
		}
	}
	for _, p := range []struct {
		at    *float64
		usual float64
	}{{&o.EMALow, .95}, {&o.EMAHigh, .999}, {&o.Rate, 3e-3}} {
		if *p.at == 0 {
			*p.at = p.usual
		}
		if !(*p.at > 0 && *p.at < 1) {
			return o, fmt.Errorf("%w: an option is %v, want between 0 and 1", errConsistencyShape, *p.at)
		}
	}
	if o.Warm == 0 {
		o.Warm = o.Steps / 3
	}
	if o.Warm < 0 || o.Warm >= o.Steps {
		return o, &consistencyShapeError{"first steps, less than", o.Steps, o.Warm}
	}
	if o.Points < 2 {
		return o, &consistencyShapeError{"points, at least", 2, o.Points}
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return o, nil
}

// A DistillResult is what [Distill] made.
type DistillResult[F grad.Float] struct {
	Net, EMA      *ConsistencyNet[F] // trained network, and its moving average
	Teacher       *Teacher[F]        // nil in mode CT
	SigmaD        float64
	Mode          Mode
	TeacherLosses []float64 // means of ten parts of the run each
	Losses        []float64
}

// Distill makes a network that removes noise from vectors like the given ones:
// first a teacher, then the network from the teacher's trajectories. The same
// vectors, options and seed give the same network, for any number of threads.
func Distill[F grad.Float](ctx context.Context, vectors [][]F, options DistillOptions) (*DistillResult[F], error) {
	if len(vectors) == 0 || len(vectors[0]) == 0 {
		return nil, &consistencyShapeError{"vectors, at least", 1, 0}
	}
	dim := len(vectors[0])
	o, err := options.defaults(dim)
	if err != nil {
		return nil, err
	}
	var squares float64
	for i, v := range vectors {
		if len(v) != dim {
			return nil, &consistencyShapeError{fmt.Sprintf("vector %d: values", i), dim, len(v)}
		}
		for _, x := range v {
			squares += float64(x) * float64(x)
		}
	}
	r := &DistillResult[F]{SigmaD: math.Sqrt(squares / float64(len(vectors)*dim)), Mode: CD}
	if !(r.SigmaD > 0) || math.IsInf(r.SigmaD, 0) {
		return nil, fmt.Errorf("%w: the root mean square of the vectors is %v", errConsistencyShape, r.SigmaD)
	}
	stream := weights.Stream{Seed: o.Seed, Neuron: 1 << 16, Site: weights.InitSite}
	data := newSource(vectors, o.Batch, o.Seed)
	if o.NoTeacher {
		r.Mode = CT
		o.Log("warning: no teacher: consistency training (CT), not distillation")
	} else {
		r.Teacher = newTeacher[F](dim, o.TeacherWidth, r.SigmaD, stream)
		if r.TeacherLosses, err = r.Teacher.train(ctx, &o, data, o.Threads); err != nil {
			return nil, err
		}
		o.Log("teacher: %d steps, loss %.4f to %.4f", o.TeacherSteps, r.TeacherLosses[0], r.TeacherLosses[len(r.TeacherLosses)-1])
	}
	stream.Tick++
	r.Net = NewConsistencyNet[F](dim, o.Hidden, stream)
	r.EMA = r.Net.clone()
	if err := r.distill(ctx, &o, data); err != nil {
		return nil, err
	}
	o.Log("%s: %d steps, %d points, loss %.4f to %.4f", r.Mode, o.Steps, o.Points, r.Losses[0], r.Losses[len(r.Losses)-1])
	return r, nil
}

// distill trains the network against its own moving average.
func (r *DistillResult[F]) distill(ctx context.Context, o *DistillOptions, data *source[F]) error {
	w, shapes := r.Net.tensors(), r.Net.shapes()
	fit, err := newFit(w[:], shapes[:], o.Rate, o.Threads)
	if err != nil {
		return err
	}
	p := newPairs(r, o.Points, o.Batch)
	for step := range o.Steps {
		clean, noise, words := data.batch(o.TeacherSteps + step)
		p.warm = step < o.Warm
		if err := p.fill(clean, noise, words); err != nil {
			return err
		}
		loss, err := fit.step(step, o.Steps, p.record)
		if err != nil {
			return err
		}
		if step >= o.Warm {
			r.Losses = fit.note(r.Losses, step-o.Warm, o.Steps-o.Warm, loss)
		}
		r.follow(o.EMALow + (o.EMAHigh-o.EMALow)*float64(step)/float64(o.Steps))
		if step%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// pairs are neighbouring points of trajectories, and what f should be at the
// noisier one.
type pairs[F grad.Float] struct {
	r                     *DistillResult[F]
	warm                  bool
	levels                []float64 // high to low
	from, to              []float64
	time, x, next, target []F
	in                    []F // what the network reads
	scratch               []F
	eval                  Scratch[F]
}

func newPairs[F grad.Float](r *DistillResult[F], points, batch int) *pairs[F] {
	dim := r.Net.Dim
	p := &pairs[F]{r: r, levels: Karras(points, lowest, MaxSigma), from: make([]float64, batch), to: make([]float64, batch), time: make([]F, batch)}
	for _, v := range []*[]F{&p.x, &p.next, &p.target} {
		*v = make([]F, batch*dim)
	}
	p.in, p.scratch = make([]F, batch*(dim+1)), make([]F, 2*batch*dim)
	return p
}

// record records the loss of the pairs, given the network's tensors.
func (p *pairs[F]) record(t *grad.Tape[F], w []grad.Ref) grad.Ref {
	dim := p.r.Net.Dim
	h := t.SiLU(t.AddRow(t.MatMulT(t.Const(p.in, len(p.from), dim+1), w[0]), w[1]))
	d := t.Sub(t.AddRow(t.MatMulT(h, w[2]), w[3]), t.Const(p.target, len(p.from), dim))
	return t.Scale(t.Dot(d, d), 1/F(len(p.target)))
}

// fill makes the pairs of a batch.
func (p *pairs[F]) fill(clean, noise []F, words []uint32) error {
	dim, sigmaD := p.r.Net.Dim, p.r.SigmaD
	for i := range p.from {
		n := weights.Choice(words[i], len(p.levels)-1)
		p.from[i], p.to[i] = p.levels[n], p.levels[n+1]
		p.time[i] = F(p.from[i] / MaxSigma)
		_, _, in := coefficients(p.from[i]/MaxSigma, sigmaD)
		scale, lower := F(p.from[i]*sigmaD), F(p.to[i]*sigmaD)
		for j := range dim {
			k := i*dim + j
			p.x[k] = clean[k] + scale*noise[k]
			p.next[k] = clean[k] + lower*noise[k] // without a teacher
			p.in[i*(dim+1)+j] = F(in) * p.x[k]
		}
		p.in[i*(dim+1)+dim] = p.time[i]
	}
	if err := p.aim(clean); err != nil {
		return err
	}
	// The distance is measured at F, that of f divided by c_out: at f, pairs of
	// little noise, from which the others learn, would hardly count.
	for i, s := range p.from {
		skip, out, _ := coefficients(s/MaxSigma, sigmaD)
		for k := i * dim; k < (i+1)*dim; k++ {
			p.target[k] = (p.target[k] - F(skip)*p.x[k]) * F(1/out)
		}
	}
	return nil
}

// aim writes what f should be at the noisier points to p.target.
func (p *pairs[F]) aim(clean []F) error {
	teacher := p.r.Teacher
	switch {
	case p.warm && teacher != nil:
		return teacher.Denoise(p.target, p.x, p.from)
	case p.warm:
		copy(p.target, clean)
		return nil
	case teacher != nil:
		if err := teacher.Heun(p.next, p.x, p.from, p.to, p.scratch); err != nil {
			return err
		}
	}
	for i, s := range p.to {
		p.time[i] = F(s / MaxSigma)
	}
	return Apply(p.r.EMA, p.target, p.next, p.time, p.r.SigmaD, Song, &p.eval)
}
