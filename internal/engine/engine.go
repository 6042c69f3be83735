package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/model/file"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/observe"
	"atenia/internal/sched"
	"atenia/internal/spelling"
)

// ErrStrict is matched by errors about fallbacks that a strict configuration
// forbids.
var ErrStrict = errors.New("strict")

func strictError(what, why string) error { return fmt.Errorf("%w: %s: %s", ErrStrict, what, why) }

// An Engine is a model that runs. Its methods may be called from any goroutine.
type Engine struct {
	Plan  *Plan
	Sched *sched.Scheduler // takes the requests

	mu       sync.Mutex // guards what is in memory, which changes while the engine runs
	weights  *modelWeights
	packing  pack.Decision
	scratch  int64
	resume   *resume       // nil without a checkpoint
	disk     *sched.Folder // nil = keys and values stay in memory
	diskKey  func() sched.Key
	endLog   func() error // of decisions
	devices  func() decide.Devices
	record   decide.Recorder
	pace     *pace
	running  context.Context // ends when the engine is closed
	stop     context.CancelFunc
	pressure *pressure
	draft    *draftModel // nil = none
	encoder  encoder
	adapters adapters
	stopping sync.Once
	closing  sync.Once
}

// Open places the weights of a plan, loads them and starts the scheduler. The
// files must remain open until the engine is closed.
func Open(ctx context.Context, p *Plan, d *file.Description) (*Engine, error) {
	r, endLog, err := p.record()
	if err != nil {
		return nil, err
	}
	devices := p.ask(ctx)
	k, err := p.openCheckpoint(ctx, d, r, devices)
	if err != nil {
		return nil, errors.Join(err, endLog())
	}
	w, err := p.loadWeights(ctx, d, guides{r, k})
	if err != nil {
		return nil, errors.Join(err, k.close(), endLog())
	}
	e := &Engine{Plan: p, weights: w, resume: k, record: r, endLog: endLog, devices: devices}
	e.running, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := e.start(d); err != nil {
		e.stop()
		return nil, errors.Join(err, k.close(), w.close(), endLog())
	}
	k.prefetch(w, e.Packing().Mode, ledger.Process.Free()/2)
	e.capture(ctx)
	return e, nil
}

// start binds an executor to the weights where they are now, and a scheduler
// to the executor.
func (e *Engine) start(d *file.Description) error {
	p := e.Plan
	x, err := e.bind()
	if _, short := errors.AsType[*ledger.Error](err); short && p.Config.NoMap {
		return &FieldError{"NoMmap", nil, fmt.Sprintf("%v; what is mapped can be streamed instead", err)}
	}
	if err != nil {
		return err
	}
	if d := &e.packing; d.Asked == pack.InMemory && d.Mode == pack.Off && d.Matrices > 0 {
		if p.Config.Strict {
			x.Close()
			return strictError("packing", d.Because)
		}
		p.note("weights are not packed: %s", d.Because)
	}
	e.begin()
	e.learn()
	if e.pressure, err = e.watch(d); err != nil {
		x.Close()
		return err
	}
	if err := e.openDisk(d); err != nil {
		x.Close()
		return err
	}
	draft, err := e.openDraft(e.running)
	if err != nil {
		x.Close()
		return errors.Join(err, e.closeDisk())
	}
	c := e.schedule(d)
	c.Early = p.Model.Plans.Early != nil
	if draft != nil {
		c.Draft = draft
		if e.weights.placement != nil || p.Effective().CacheBytes > 0 {
			c.DraftBytes = p.draft.cache
		}
	}
	if e.Sched, err = sched.New(x, c); err != nil {
		x.Close()
		if draft != nil {
			draft.Close()
		}
		return errors.Join(err, e.closeDisk(), e.draft.close())
	}
	if err := e.openAdapters(); err != nil {
		e.Sched.Close()
		e.closeAdapters()
		return errors.Join(err, e.closeDisk(), e.draft.close())
	}
	if e.pressure.real {
		e.pressure.guarded = make(chan struct{})
		go e.pressure.guard()
	}
	_, packing, scratch := e.now()
	p.Config.Logger.Info("model open", "path", p.path, "family", p.Model.Family,
		"threads", p.Config.Threads, "context", e.Sched.Context(), "scratch_bytes", scratch,
		"pack", packing)
	return nil
}

// bind makes an executor for the weights where they are now.
func (e *Engine) bind() (*exec.Executor, error) {
	p := e.Plan
	c := p.Effective().exec(&p.Model.Config)
	c.Pack, c.Stream, c.Account = e.weights.packing, e.weights.Stream, p.account
	x, err := exec.New(&p.Model.Plans, e.weights.Weights, c)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.packing, e.scratch = x.Packing(), x.ScratchBytes()
	e.mu.Unlock()
	if fault := e.packing.Fault; fault != nil {
		p.Config.Observer.Damaged()
		if p.Config.Strict {
			x.Close()
			return nil, strictError("packing", fault.Error())
		}
		p.Config.Logger.Warn("packed weights on disk", "err", fault)
	}
	return x, nil
}

// begin tells an observer where the weights are, before a pass.
func (e *Engine) begin() {
	o := e.Plan.Config.Observer
	if o == nil {
		return
	}
	a := observe.Account{Placement: e.weights.placement, Ring: e.weights.Stream.Ring, Streamed: e.weights.Streamed, Resident: cpu.Resident, Work: e.Lanes}
	if c := e.weights.Stream.Experts; c != nil {
		a.Experts = func() observe.Chosen {
			s := c.Stats()
			return observe.Chosen{Bytes: s.Bytes, Hits: s.Hits, Misses: s.Misses, Read: s.Read, Wait: s.Wait, Busy: s.Busy}
		}
	}
	o.Begin(a)
}

// schedule is the configuration of the scheduler.
func (e *Engine) schedule(d *file.Description) sched.Config {
	c := sched.Config{Slots: e.Plan.Config.Slots, CacheBytes: e.Plan.cacheBytes(), KeepBytes: e.Plan.Config.KeepBytes, Account: e.Plan.account, Between: e.pressure.between, Remembered: e.resume.remembered(), Intact: d.Intact, Speculate: e.Plan.Config.Speculate,
		Disk: e.disk, Key: e.diskKey, Warn: func(what string, err error) { e.Plan.Config.Logger.Warn(what, "err", err) }}
	e.pace = &pace{rows: max(1, e.Plan.Config.Rules.Batch), delayed: waitedOfAll}
	if f := e.Plan.Config.Delay; f != nil {
		e.pace.delayed = func() waited { d, _ := f(); return waited{d, d} }
	}
	e.pace.restart()
	if o := e.Plan.Config.Observer; o != nil {
		e.pace.watch = o.Step
	}
	c.Watch = e.pace.step
	if l := e.Plan.Config.Observer.Learner(); l != nil {
		c.Tune = l.Before
	}
	return c
}

// Stop ends all requests, waits for the step in flight and saves the checkpoint, if
// there is one, which needs the sequences of the scheduler. What was counted does
// not change afterwards. It is idempotent.
func (e *Engine) Stop() (err error) {
	e.stopping.Do(func() {
		e.stop()
		if e.resume != nil {
			err = e.resume.save(context.Background(), e)
		}
		e.Sched.Close()
		e.pressure.close()
	})
	return err
}

// Close stops the engine and releases the weights. It fails if a strict process
// exceeded its budget. It is idempotent.
func (e *Engine) Close() (err error) {
	e.closing.Do(func() {
		err = e.Stop()
		e.remember()
		e.closeAdapters()
		err = errors.Join(err, e.resume.close(), e.closeDisk(), e.weights.close(), e.draft.close(), e.checkPeak(), e.endLog())
	})
	return err
}

// checkPeak fails if a strict process exceeded its budget.
func (e *Engine) checkPeak() error {
	if !e.Plan.Config.Strict {
		return nil
	}
	limit, peak := e.Plan.Config.Budget.RAM, cpu.PeakResident()
	if limit == 0 || peak <= limit {
		return nil
	}
	return strictError("memory", fmt.Sprintf("the process had %s, the budget is %s", spelling.Size(peak), spelling.Size(limit)))
}

// now returns what is in memory.
func (e *Engine) now() (w *modelWeights, packing pack.Decision, scratch int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.weights, e.packing, e.scratch
}

// Views returns the weights by name. Those that are streamed have bytes only
// while a step uses them, and others only until they are.
func (e *Engine) Views() exec.Weights {
	w, _, _ := e.now()
	return w.Weights
}

// Placement returns where the weights are, nil without a budget.
func (e *Engine) Placement() *place.Placement {
	w, _, _ := e.now()
	return w.placement
}

// Notes are those of [Plan.Noted], and what was decided since the model was opened.
func (e *Engine) Notes() []string { return e.Plan.Noted() }

// Automatic reports whether the model is placed within a budget that nobody asked
// for, because it does not fit.
func (e *Engine) Automatic() bool { return e.Plan.automatic() && e.Placement() != nil }

// Resumed returns what the checkpoint brought so far, nil without one.
func (e *Engine) Resumed() *Resumption {
	if e.resume == nil {
		return nil
	}
	r := e.resume.Resumption
	r.Reused = int(e.resume.reused.Load())
	if lost := e.resume.lost.Load(); lost != nil {
		r.NotDurable = *lost
	}
	return &r
}

// Packing returns the decision about packed weights.
func (e *Engine) Packing() pack.Decision {
	_, packing, _ := e.now()
	return packing
}

// ScratchBytes returns the memory of the executor's buffers.
func (e *Engine) ScratchBytes() int64 {
	_, _, scratch := e.now()
	return scratch
}

// Work is what lanes did.
type Work = lane.Report

// A LaneWork is what one lane did.
type LaneWork struct {
	Lane         string
	Tasks, Bytes int64
}

// ByLane lists the lanes that did anything since the model was open.
func (e *Engine) ByLane() (out []LaneWork) {
	for l, n := range e.Lanes().Lanes {
		if n.Tasks > 0 {
			out = append(out, LaneWork{lane.Lane(l).String(), int64(n.Tasks), int64(n.Bytes)})
		}
	}
	return out
}

// Lanes returns what the lanes did since the model was open: nothing if they
// have nothing to do.
func (e *Engine) Lanes() Work {
	w, _, _ := e.now()
	return w.meter.Report().Since(w.loaded)
}

// Codec says in which form weights are streamed, and why: "" if none are.
func (e *Engine) Codec() string {
	w, _, _ := e.now()
	switch c := w.codec; {
	case w.Stream.Ring == nil || c == nil:
		return ""
	case c.Use && w.Coded == 0:
		return "off: the ring has no room for chunks"
	default:
		return c.String()
	}
}

// Residence returns what maps, holds and streams the weights now: another one
// takes its place when weights move.
func (e *Engine) Residence() *residence.Residence {
	w, _, _ := e.now()
	return w.Residence
}
