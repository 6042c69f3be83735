package offload

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A Gradient is the gradient of one layer.
type Gradient struct {
	Layer  int
	Values []float32 // one per parameter; used only until the iterator advances
}

// An Update configures a step.
type Update struct {
	LR float32 // learning rate
	// Scale multiplies the summed gradients of all batches; 0 means one over the
	// number of batches.
	Scale float32
	// Note is stored with the step, for example the trainer's position in its data.
	Note string
}

// A Report describes a step.
type Report struct {
	Step                    uint64 // the step completed
	ReadBytes, WrittenBytes uint64
	Wall                    time.Duration
	// Time during which each part worked, or waited for a processor or the disk to
	// do so. The parts run concurrently.
	Gradients, Compute, Read, Write, Sync time.Duration
}

// Overlap is the share of the possible savings from running parts concurrently
// that was achieved: 1 if the step took as long as its slowest part, 0 if it
// took as long as all in sequence. Gradients and Compute count as one part,
// because they share the processors.
func (r Report) Overlap() float64 {
	parts := []time.Duration{r.Gradients + r.Compute, r.Read, r.Write, r.Sync}
	longest, all := slices.Max(parts), time.Duration(0)
	for _, p := range parts {
		all += p
	}
	if all <= longest {
		return 1
	}
	return max(0, min(1, 1-float64(r.Wall-longest)/float64(all-longest)))
}

// StepsUntil returns how many such steps exhaust a disk's endurance of tbw
// written bytes.
func (r Report) StepsUntil(tbw uint64) uint64 {
	if r.WrittenBytes == 0 {
		return 0
	}
	return tbw / r.WrittenBytes
}

// Step updates every layer that has gradients, from grads or accumulated before,
// in the order in which grads yields them; grads may be nil. A layer must not
// come twice. If Step returns nil, the new step is durable; otherwise the old
// one stands, and accumulated gradients are dropped.
func (s *State) Step(ctx context.Context, grads iter.Seq2[Gradient, error], u Update) (Report, error) {
	leave, err := s.enter()
	if err != nil {
		return Report{}, err
	}
	defer leave()
	if u.Scale == 0 {
		u.Scale = 1 / float32(max(1, s.sums.batches+btoi(grads != nil)))
	}
	st := &stepper{s: s, ctx: ctx, u: u, j: s.journal.Load(), started: time.Now()}
	st.report.Step = st.j.step + 1
	err = st.run(grads)
	s.sums.reset(s)
	if err != nil {
		return Report{}, fmt.Errorf("step %d: %w", st.report.Step, err)
	}
	return st.report, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A stepper is one step in progress.
type stepper struct {
	s       *State
	ctx     context.Context // of Step, which outlives the stepper
	u       Update
	j       *journal      // before the step
	lane    *gradientLane // nil in memory
	taken   []int         // layers, in order
	report  Report
	started time.Time
}

func (st *stepper) run(grads iter.Seq2[Gradient, error]) error {
	if st.s.dir != "" {
		st.lane = newLane(st.s, st.j)
		if grads != nil { // read the first layer while its gradients are computed
			st.lane.expect(ref{layer: st.s.order[0]})
		}
	}
	err := st.layers(grads)
	if st.lane != nil {
		err = errors.Join(err, st.lane.finish())
	} else if err != nil && len(st.taken) > 0 {
		st.s.err = fmt.Errorf("%w: %w", errTorn, err)
	}
	if err != nil {
		return err
	}
	return st.commit()
}

// layers steps the layers that grads yields, then those whose gradients were all
// accumulated.
func (st *stepper) layers(grads iter.Seq2[Gradient, error]) error {
	if grads != nil {
		mark := time.Now()
		for g, err := range grads {
			st.report.Gradients += time.Since(mark)
			if err == nil {
				err = st.layer(g.Layer, g.Values)
			}
			if err != nil {
				return err
			}
			mark = time.Now()
		}
		st.report.Gradients += time.Since(mark)
	}
	for i := len(st.j.layers) - 1; i >= 0; i-- {
		if st.s.sums.has(i) && !slices.Contains(st.taken, i) {
			if err := st.layer(i, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// layer steps one layer. g is nil if all its gradients were accumulated.
func (st *stepper) layer(i int, g []float32) error {
	if err := st.ctx.Err(); err != nil {
		return err
	}
	if err := st.s.check(i, g); err != nil {
		return err
	}
	if slices.Contains(st.taken, i) {
		return fmt.Errorf("%w: layer %q came twice in one step", errConfig, st.j.layers[i].Name)
	}
	st.taken = append(st.taken, i)
	l := &st.j.layers[i]
	f := st.j.opt.factors(st.j.step+1, st.u, l.NoDecay)
	if st.lane == nil {
		start := time.Now()
		c := st.s.memory[i]
		c.sum = st.s.sums.memory[i]
		f.update(&c, g, st.s.cfg.Workers)
		st.report.Compute += time.Since(start)
		return nil
	}
	for k := range l.sums {
		if err := errors.Join(st.ctx.Err(), st.lane.failed()); err != nil {
			return err
		}
		c, err := st.lane.take(ref{i, k})
		if err != nil {
			return err
		}
		start := time.Now()
		first, n := span(l.Elements, st.j.chunkElements, k)
		var part []float32
		if g != nil {
			part = g[first : first+n]
		}
		f.update(c, part, st.s.cfg.Workers)
		st.report.Compute += time.Since(start)
		st.lane.put(c)
	}
	return nil
}

// check validates a layer's gradients; g may be nil.
func (s *State) check(layer int, g []float32) error {
	j := s.journal.Load()
	if layer < 0 || layer >= len(j.layers) {
		return fmt.Errorf("%w: gradients of layer %d; there are %d layers", errConfig, layer, len(j.layers))
	}
	if l := &j.layers[layer]; g != nil && len(g) != l.Elements {
		return fmt.Errorf("%w: %d gradients for layer %q, want %d", errConfig, len(g), l.Name, l.Elements)
	}
	return nil
}

// commit syncs and replaces the journal.
func (st *stepper) commit() error {
	next := *st.j
	next.step++
	next.note = st.u.Note
	next.layers = slices.Clone(st.j.layers)
	if l := st.lane; l != nil {
		for _, i := range st.taken {
			next.layers[i].version = 1 - next.layers[i].version
			next.layers[i].sums = l.sums[i]
		}
		next.written += l.written + st.s.sums.written
		st.report.ReadBytes = l.read + st.s.sums.read
		st.report.WrittenBytes = l.written + st.s.sums.written
		st.report.Read, st.report.Write, st.report.Sync = l.busy.read.total, l.busy.write.total, l.busy.sync.total
	}
	if err := st.s.replace(&next); err != nil {
		return err
	}
	if len(st.taken) == len(next.layers) {
		st.s.order = st.taken
	}
	st.report.Wall = time.Since(st.started)
	return nil
}
