package offload

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/policy/decide"
)

type fileMode = fs.FileMode

// id is the name of a group's gradient among the manager's tensors.
func (p *Pager) id(g int) string { return p.cfg.Groups[g].Name }

// OpenLog opens the files of a log; "" is none. done closes them.
func OpenLog(decisions, lines string) (l *Log, done func() error, err error) {
	l = &Log{}
	r, closed, err := decide.OpenRecorder(decisions, nil)
	if err != nil {
		return nil, nil, err
	}
	l.Recorder = r
	if lines == "" {
		return l, closed, nil
	}
	f, err := os.OpenFile(lines, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, nil, errors.Join(err, closed())
	}
	l.Timeline = f
	return l, func() error { return errors.Join(f.Close(), closed()) }, nil
}

// A placer asks where backward passes run.
type placer struct {
	log     *Log // nil: nothing is recorded
	manager *memory.Manager
	lines   *lane.Timeline
	text    *lane.LineWriter // nil: no timeline is written
	// failures are the moves that failed since they were last taken. The pass reads such a
	// gradient where it is.
	failures []string
}

func newPlacer(l *Log, m *memory.Manager) placer {
	p := placer{log: l, manager: m}
	var sink lane.LineSink
	if l != nil && l.Timeline != nil {
		p.text = lane.NewLineWriter(l.Timeline)
		sink = p.text
	}
	p.lines = lane.NewTimeline(lane.TakeTurns, sink)
	return p
}

// ask decides where the backward pass of a node runs and brings its gradients there.
func (p *placer) ask(n decide.BackwardNode) (err error) {
	gpu := p.manager.Available()
	if p.log == nil {
		err = decide.ExecuteBackward(background, p.lines, p.manager, []decide.BackwardNode{n}, gpu)
	} else {
		var traces []decide.BackwardTrace
		traces, err = p.log.Recorder.ExecuteBackward(background, p.lines, p.manager, []decide.BackwardNode{n}, gpu)
		p.log.Recorder.Tick++
		for i := range traces {
			p.failures = append(p.failures, traces[i].Failures()...)
		}
	}
	p.lines.Run()
	return err
}

// close writes what of the timeline is buffered.
func (p *placer) close() error {
	if p.text == nil {
		return nil
	}
	return p.text.Flush()
}

// A Resident asks where the backward passes of a run run whose gradients are all in
// memory, and records it. There they stay: nothing moves unless a device is there.
type Resident struct {
	placer
	nodes []decide.BackwardNode // in the order of the forward pass
}

// NewResident returns a Resident for the gradients of layers.
func NewResident(l *Log, layers []Layer) (*Resident, error) {
	r := &Resident{placer: newPlacer(l, memory.New(memory.Config{}))}
	for i, g := range layers {
		if err := r.manager.Register(g.Name, 4*uint64(g.Elements), memory.RAM); err != nil {
			return nil, err
		}
		r.nodes = append(r.nodes, decide.BackwardNode{
			ID: uint64(i), Forward: decide.OnCPU, Reason: asForward, Outputs: []decide.Gradient{{ID: g.Name, Tier: memory.RAM}},
		})
	}
	return r, nil
}

// Backward asks for one backward pass, the last layer first.
func (r *Resident) Backward() error {
	for _, n := range slices.Backward(r.nodes) {
		if err := r.ask(n); err != nil {
			return err
		}
	}
	return nil
}

// Close writes what is buffered.
func (r *Resident) Close() error { return r.close() }

// asForward is why a backward pass is asked for where it is.
const asForward = "as the forward pass"

// place decides where the backward pass of a block runs and brings the gradients
// of earlier batches there: without a device to the processor's memory.
func (p *Pager) place(block int) error {
	n := decide.BackwardNode{ID: uint64(block), Forward: decide.OnCPU, Reason: asForward}
	for _, g := range p.cfg.Blocks[block] {
		at, ok, err := p.tier(g)
		if err != nil {
			return err
		}
		if !ok {
			at = memory.RAM // made there
		}
		if at == memory.SSD {
			if err := p.makeRoom(g); err != nil {
				return err
			}
		}
		n.Outputs = append(n.Outputs, decide.Gradient{ID: p.id(g), Tier: at})
	}
	return p.placer.ask(n)
}

// tier returns where the gradient of earlier passes is. It waits if that is on its
// way to the disk.
func (p *Pager) tier(g int) (at memory.Tier, ok bool, err error) {
	if p.writing != nil && p.written == g {
		err = p.wait()
	}
	at, ok = p.manager.Tier(p.id(g))
	return at, ok, err
}

// makeRoom takes the memory of a gradient that is about to come from the disk.
func (p *Pager) makeRoom(g int) (err error) {
	p.grads[g].block, err = p.alloc(ledger.Gradients, p.size(g))
	p.coming = p.grads[g].block.Bytes
	return err
}

// memory returns what makeRoom took, for a gradient of that size.
func (p *Pager) memory(n int) []byte {
	if b := p.coming; len(b) == n {
		p.coming = nil
		return b
	}
	return make([]byte, n)
}

// take gives the parameters of a group their gradient: that of earlier batches
// and blocks, or zeros.
func (p *Pager) take(g int) error {
	d := &p.grads[g]
	if d.data != nil { // two blocks at a time
		return nil
	}
	if _, ok := p.manager.Tier(p.id(g)); !ok {
		b, err := p.alloc(ledger.Gradients, p.size(g))
		if err != nil {
			return err
		}
		d.block, d.data = b, b.Bytes
	} else {
		l, err := p.manager.Lease(background, p.id(g))
		if err != nil {
			return err
		}
		d.data = l.Bytes
		l.Release()
		if err := p.manager.Remove(p.id(g)); err != nil {
			return err
		}
		if d.kept.Bytes != nil {
			d.block, d.kept = d.kept, ledger.Block{}
		} else {
			p.Moved += int64(len(d.data))
		}
	}
	x := floats(d.data)
	for _, w := range p.cfg.Groups[g].Params {
		n := length(w)
		w.Grad, x = x[:n:n], x[n:]
	}
	return nil
}

// put gives the gradient of a group to the manager, which keeps it in memory or
// on the disk.
func (p *Pager) put(g int, complete bool) error {
	d := &p.grads[g]
	for _, w := range p.cfg.Groups[g].Params {
		if complete {
			p.squares[w] = p.cfg.Norm.Squares(w.Grad)
		}
		w.Grad = nil
	}
	data, block := d.data, d.block
	d.data, d.block = nil, ledger.Block{}
	if _, err := p.manager.RegisterData(p.id(g), data, memory.RAM); err != nil {
		return err
	}
	if p.cfg.Groups[g].Keep {
		d.kept = block
		return nil
	}
	if err := p.wait(); err != nil {
		return err
	}
	p.Moved += int64(len(data))
	p.written = g
	p.writing = start(func() error {
		defer block.Release()
		_, err := p.manager.Move(background, p.id(g), memory.SSD)
		return err
	})
	return nil
}

// wait waits for the gradient that is being written.
func (p *Pager) wait() error {
	if p.writing == nil {
		return nil
	}
	err := <-p.writing
	p.writing = nil
	return err
}

// forget drops the gradient of a group.
func (p *Pager) forget(g int) {
	_ = p.manager.Remove(p.id(g)) // it may not be there
	d := &p.grads[g]
	d.kept.Release()
	d.block.Release()
	*d = gradient{}
}

// Clear drops all gradients: the step is done, or skipped.
func (p *Pager) Clear() error {
	err := p.wait()
	for g := range p.grads {
		p.forget(g)
	}
	return err
}

// Gradients yields the complete gradients, group by group, and drops each. A
// group that no pass has reached has zeros.
func (p *Pager) Gradients() iter.Seq2[Gradient, error] {
	return func(yield func(Gradient, error) bool) {
		p.drop()
		var ready <-chan error
		next := -1 // the group that is being fetched
		defer func() {
			if next >= 0 {
				<-ready
			}
		}()
		for g := range p.cfg.Groups {
			err := error(nil)
			if next == g {
				err, next = <-ready, -1
			} else {
				err = p.fetch(background, g)
			}
			if err == nil {
				err = p.take(g)
			}
			if err == nil && g+1 < len(p.cfg.Groups) && p.roomAhead(g+1) {
				next = g + 1
				ready = start(func() error { return p.prepare(background, g+1) })
			}
			if !yield(Gradient{Layer: g, Values: floats(p.grads[g].data)}, err) || err != nil {
				return
			}
			for _, w := range p.cfg.Groups[g].Params {
				w.Grad = nil
			}
			p.forget(g)
		}
	}
}

// roomAhead takes memory for a gradient that is on the disk, if there is room.
func (p *Pager) roomAhead(g int) bool {
	if at, _ := p.manager.Tier(p.id(g)); at != memory.SSD || p.writing != nil && p.written == g {
		return false
	}
	b, err := ledger.NewBlock(p.cfg.Account, ledger.Gradients, p.size(g))
	p.grads[g].block, p.coming = b, b.Bytes
	return err == nil
}

// prepare moves a gradient from the disk to the memory that was taken for it.
func (p *Pager) prepare(ctx context.Context, g int) error {
	return decide.PrepareGradients(ctx, p.manager, []decide.Gradient{{ID: p.id(g), Tier: memory.SSD}}, decide.OnCPU)
}

// fetch brings a gradient to memory, if it is on the disk.
func (p *Pager) fetch(ctx context.Context, g int) error {
	at, ok, err := p.tier(g)
	if !ok || at != memory.SSD || err != nil {
		return err
	}
	if err := p.makeRoom(g); err != nil {
		return err
	}
	return p.prepare(ctx, g)
}
