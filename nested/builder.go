package nested

import (
	"errors"
	"fmt"
	"math"

	"atenia/grad"
)

// ErrDiverged says that a step's loss or gradient is not finite. The step had
// no effect.
var ErrDiverged = errors.New("the loss is not finite")

// A Chunk is the input of one lane in one step.
type Chunk struct {
	IDs     []int32
	Targets []int32 // the ids to predict; those outside the vocabulary are ignored
	Reset   bool    // a document starts here: memory is reset first
}

// BuildConfig configures a [Builder]. The zero value has one lane, one thread
// and no gradient clipping.
type BuildConfig struct {
	Lanes   int             // number of streams; each step takes one chunk of each
	Threads *grad.Threads   // computes lanes in parallel; nil: one thread
	Rule    grad.UpdateRule // of the optimizer; nil: plain SGD
	Clip    float64         // limit of the norm of all gradients; 0: none
	Still   bool            // no level is ever active, for a baseline without memory
}

// A LevelReport describes a step of one level of one layer.
type LevelReport struct {
	Active   bool
	Norm     float64 // of this step's gradient
	Buffered int     // frozen steps whose gradients are buffered
	Health   float64 // norm of the buffered gradients relative to Norm; 0 when there are none
}

// A Report describes a step.
type Report struct {
	Step   int64
	Loss   float64 // mean over all targets that count
	Count  int     // number of these targets
	Norm   float64 // of the gradients that reached the optimizer
	Levels []LevelReport
}

// A Builder trains a model on several streams at once. Every step computes one
// chunk of each lane with the same parameters, adds the lanes' gradients in
// lane order, updates the error buffers, and steps the parameters that are due.
// Results do not depend on the number of threads.
//
//	b, err := m.NewBuilder(nested.BuildConfig{Lanes: 4, Rule: grad.AdamW{}})
//	for chunks := range data {
//		report, err := b.Step(chunks, rate)
//		…
//	}
type Builder[F Float] struct {
	model     *Model[F]
	cfg       BuildConfig
	conductor *Conductor
	lanes     []lane[F]
	runners   []*Runner[F]
	buffers   []errorBuffer[F] // [layer·levels + level]
	found     []F              // this step's gradients
	opt       *grad.Optimizer[F]
	meter     *grad.Norm[F]
	report    Report

	// State of the current step.
	pulse  Pulse
	chunks []Chunk
	counts int
	weight float64
}

// A lane is one stream: its memory and its part of a step.
type lane[F Float] struct {
	ctx    *Context[F]
	grads  []F
	loss   float64
	count  int
	active []bool // [layer·levels + level]
	err    error
}

// NewBuilder returns a builder at step 0.
func (m *Model[F]) NewBuilder(c BuildConfig) (*Builder[F], error) {
	c.Lanes = max(c.Lanes, 1)
	if c.Rule == nil {
		c.Rule = grad.SGD{}
	}
	b := &Builder[F]{model: m, cfg: c, found: make([]F, m.plan.size), meter: grad.NewNorm[F](nil)}
	var err error
	if b.conductor, err = NewConductor(m.cfg.Periods...); err != nil {
		return nil, err
	}
	if b.opt, err = grad.NewOptimizer(c.Rule, m.params, nil); err != nil {
		return nil, err
	}
	levels := m.cfg.Layers * len(m.cfg.Periods)
	for range c.Lanes {
		b.lanes = append(b.lanes, lane[F]{ctx: m.NewContext(), grads: make([]F, m.plan.size), active: make([]bool, levels)})
	}
	for range levels {
		b.buffers = append(b.buffers, errorBuffer[F]{sum: make([]F, m.layout.ParamLen)})
	}
	b.report.Levels = make([]LevelReport, levels)
	for range min(c.Threads.Count(), c.Lanes) {
		// With a single lane the threads serve its matrix products.
		p := c.Threads
		if c.Lanes > 1 {
			p = nil
		}
		r, err := m.NewRunner(true, p)
		if err != nil {
			return nil, err
		}
		b.runners = append(b.runners, r)
	}
	return b, nil
}

// Conductor returns the conductor, which counts steps.
func (b *Builder[F]) Conductor() *Conductor { return b.conductor }

// Context returns the memory of a lane.
func (b *Builder[F]) Context(lane int) *Context[F] { return b.lanes[lane].ctx }

// Step trains on one chunk per lane at a learning rate. After an error nothing
// has changed, except that lanes that start a document have been reset, so that
// the same step can be repeated. The report is valid until the next step.
func (b *Builder[F]) Step(chunks []Chunk, rate float64) (*Report, error) {
	if err := b.Gradients(chunks, 1); err != nil {
		return nil, err
	}
	b.report.Norm = b.meter.Of(b.model.params)
	b.opt.Step(rate, grad.ClipFactor(b.report.Norm, b.cfg.Clip))
	b.clear()
	return &b.report, nil
}

// clear zeroes the gradients of parameters that were stepped.
func (b *Builder[F]) clear() {
	for _, p := range b.model.params {
		if !p.Hold {
			clear(p.Grad)
		}
	}
}

// Gradients is Step without the optimizer, for a trainer that has its own: the
// gradients of weight times the mean loss of the chunks are added to
// [Model.Params] where parameters are due, the others are held, memory is updated
// and the conductor has advanced. The weight is these chunks' share of the loss that
// the trainer means; what a frozen level buffers has it already when it is due, which
// may be in a step of another weight.
func (b *Builder[F]) Gradients(chunks []Chunk, weight float64) error {
	b.weight = weight
	if err := b.compute(chunks); err != nil {
		return err
	}
	for i := range b.lanes {
		b.lanes[i].ctx.commit()
	}
	b.applyGradients()
	b.conductor.Advance()
	return nil
}

// compute computes this step's gradients and the next state of memory, without
// committing either.
func (b *Builder[F]) compute(chunks []Chunk) error {
	if len(chunks) != len(b.lanes) {
		return fmt.Errorf("%w: %d chunks for %d lanes", ErrInput, len(chunks), len(b.lanes))
	}
	b.pulse, b.chunks, b.counts = b.conductor.Pulse(Build), chunks, 0
	if b.cfg.Still {
		b.pulse = Pulse{step: b.pulse.step, phase: Build, levels: b.pulse.levels}
	}
	for i, c := range chunks {
		b.lanes[i].count = 0
		for _, id := range c.Targets {
			if id >= 0 && int(id) < b.model.cfg.Vocab {
				b.lanes[i].count++
			}
		}
		b.counts += b.lanes[i].count
	}
	if lanes := (*laneRange[F])(b); len(b.lanes) == 1 {
		lanes.Range(0, 0, 1) // whose products use the threads
	} else {
		b.cfg.Threads.Range(len(b.lanes), 1, lanes)
	}
	clear(b.found)
	loss := 0.0
	for i := range b.lanes {
		l := &b.lanes[i]
		if l.err != nil {
			return fmt.Errorf("step %d, lane %d: %w", b.pulse.Step(), i, l.err)
		}
		loss += l.loss * share(l.count, b.counts)
		for j, v := range l.grads {
			b.found[j] += v
		}
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("step %d: %w", b.pulse.Step(), ErrDiverged)
	}
	b.report.Step, b.report.Loss, b.report.Count = b.pulse.Step(), loss, b.counts
	return nil
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// A laneRange is a Builder as work on a range of lanes.
type laneRange[F Float] Builder[F]

// Range computes lanes; see [grad.Ranger].
func (l *laneRange[F]) Range(worker, lo, hi int) {
	b := (*Builder[F])(l)
	r := b.runners[min(worker, len(b.runners)-1)]
	for i := lo; i < hi; i++ {
		b.lanes[i].err = b.lane(r, &b.lanes[i], &b.chunks[i])
	}
}

func (b *Builder[F]) lane(r *Runner[F], l *lane[F], c *Chunk) error {
	if c.Reset {
		l.ctx.Reset()
	}
	clear(l.grads)
	t, err := r.Forward(b.pulse, l.ctx, c.IDs, c.Targets, l.grads)
	if err != nil {
		return err
	}
	l.loss = r.Loss()
	for i := range t.Layers {
		copy(l.active[i*len(t.Layers[i].Active):], t.Layers[i].Active)
	}
	return r.Backward(b.weight * share(l.count, b.counts))
}

// applyGradients passes this step's gradients to the parameters through the
// error buffers of the levels. A level counts as active if it is in any lane:
// lanes agree unless a schedule is learned.
func (b *Builder[F]) applyGradients() {
	m := b.model
	for i := range b.buffers {
		layer, level := i/len(m.cfg.Periods), i%len(m.cfg.Periods)
		at, n := m.levelRange(layer, level)
		g, buf, rep := b.found[at:at+n], &b.buffers[i], &b.report.Levels[i]
		active := false
		for j := range b.lanes {
			active = active || b.lanes[j].active[i]
		}
		rep.Active, rep.Norm = active, length(g)
		buf.exchange(g, active, m.cfg.Fold)
		rep.Buffered, rep.Health = buf.steps, 0
		if rep.Buffered > 0 && rep.Norm > 0 {
			rep.Health = length(buf.sum) / rep.Norm
		}
	}
	for i, s := range m.plan.slots {
		p := m.params[i]
		p.Hold = s.level >= 0 && !b.report.Levels[s.layer*len(m.cfg.Periods)+s.level].Active
		for j, v := range b.found[s.at : s.at+s.n] {
			p.Grad[j] += v
		}
	}
}

// Report describes the last call of [Builder.Step] or [Builder.Gradients]. It
// is valid until the next one.
func (b *Builder[F]) Report() *Report { return &b.report }
