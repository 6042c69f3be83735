package engine

import (
	"atenia/internal/spelling"
	"context"
	"errors"
	"fmt"
	"sync"

	"atenia/internal/exec"
	"atenia/internal/machine/cpu"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/memory/residence"
	"atenia/internal/model/file"
	"atenia/internal/policy/observe"
	"atenia/internal/sched"
)

// ErrStrict is matched by errors about fallbacks that a strict configuration
// forbids.
var ErrStrict = errors.New("strict")

func strictError(what, why string) error { return fmt.Errorf("%w: %s: %s", ErrStrict, what, why) }

// An Engine is a model that runs. Its methods may be called from any goroutine.
type Engine struct {
	Plan  *Plan
	Sched *sched.Scheduler // takes the requests

	weights *modelWeights
	resume  *resume // nil without a checkpoint
	packing pack.Decision
	scratch int64
	close   sync.Once
}

// Open places the weights of a plan, loads them and starts the scheduler. The
// files must remain open until the engine is closed.
func Open(ctx context.Context, p *Plan, d *file.Description) (*Engine, error) {
	r, err := p.openCheckpoint(ctx, d)
	if err != nil {
		return nil, err
	}
	w, err := p.loadWeights(ctx, d, r)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	e := &Engine{Plan: p, weights: w, resume: r}
	if err := e.start(); err != nil {
		return nil, errors.Join(err, r.close(), w.close())
	}
	r.prefetch(w, e.packing.Mode, cpu.AvailableMemory()/2)
	e.capture(ctx)
	return e, nil
}

// start binds an executor to the weights where they are now, and a scheduler
// to the executor.
func (e *Engine) start() error {
	p := e.Plan
	c := p.Config.exec(&p.Model.Config)
	c.Pack, c.Stream, c.Account = e.weights.packing, e.weights.Stream, p.account
	x, err := exec.New(&p.Model.Plans, e.weights.Weights, c)
	if err != nil {
		return err
	}
	e.packing, e.scratch = x.Packing(), x.ScratchBytes()
	if fault := e.packing.Fault; fault != nil {
		if p.Config.Strict {
			x.Close()
			return strictError("packing", fault.Error())
		}
		p.Config.Logger.Warn("packed weights on disk", "err", fault)
	}
	if e.Sched, err = sched.New(x, e.schedule()); err != nil {
		x.Close()
		return err
	}
	p.Config.Logger.Info("model open", "path", p.path, "family", p.Model.Family,
		"threads", p.Config.Threads, "context", p.Context(), "scratch_bytes", e.scratch,
		"pack", e.packing)
	return nil
}

// schedule is the configuration of the scheduler. An observer learns the
// placement before the first pass.
func (e *Engine) schedule() sched.Config {
	c := sched.Config{Slots: e.Plan.Config.Slots, CacheBytes: e.Plan.cacheBytes(), Account: e.Plan.account, Remembered: e.resume.remembered()}
	o := e.Plan.Config.Observer
	if o == nil {
		return c
	}
	o.Begin(observe.Account{Placement: e.weights.placement, Ring: e.weights.Stream.Ring, Streamed: e.weights.Streamed, Resident: cpu.Resident})
	c.Watch = o.Step
	return c
}

// Close saves the checkpoint, ends all requests, waits for the step in flight
// and releases the weights. It fails if a strict process exceeded its budget. It
// is idempotent.
func (e *Engine) Close() (err error) {
	e.close.Do(func() {
		if e.resume != nil {
			err = e.resume.save(context.Background(), e)
		}
		e.Sched.Close()
		err = errors.Join(err, e.resume.close(), e.weights.close(), e.checkPeak())
	})
	return err
}

// checkPeak fails if a strict process exceeded its budget.
func (e *Engine) checkPeak() error {
	if !e.Plan.Config.Strict || e.weights.placement == nil {
		return nil
	}
	limit, peak := e.weights.placement.Input().RAM, cpu.PeakResident()
	if limit == 0 || peak <= limit {
		return nil
	}
	return strictError("memory", fmt.Sprintf("the process had %s, the budget is %s", spelling.Size(peak), spelling.Size(limit)))
}

// Views returns the weights by name. Those that are streamed have bytes only
// while a step uses them.
func (e *Engine) Views() exec.Weights { return e.weights.Weights }

// Placement returns where the weights are, nil without a budget.
func (e *Engine) Placement() *place.Placement { return e.weights.placement }

// Resumed returns what the checkpoint brought so far, nil without one.
func (e *Engine) Resumed() *Resumption {
	if e.resume == nil {
		return nil
	}
	r := e.resume.Resumption
	r.Reused = int(e.resume.reused.Load())
	return &r
}

// Packing returns the decision about packed weights.
func (e *Engine) Packing() pack.Decision { return e.packing }

// ScratchBytes returns the memory of the executor's buffers.
func (e *Engine) ScratchBytes() int64 { return e.scratch }

// Residence returns what maps, holds and streams the weights.
func (e *Engine) Residence() *residence.Residence { return e.weights.Residence }
