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
	packing pack.Decision
	scratch int64
	logged  func() error // closes the log of decisions
	close   sync.Once
}

// Open places the weights of a plan, loads them and starts the scheduler. The
// files must remain open until the engine is closed.
func Open(ctx context.Context, p *Plan, d *file.Description) (*Engine, error) {
	w, err := p.loadWeights(ctx, d)
	if err != nil {
		return nil, err
	}
	e := &Engine{Plan: p, weights: w, logged: func() error { return nil }}
	if err := e.start(); err != nil {
		return nil, errors.Join(err, w.close(), e.logged())
	}
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
	if err := e.learn(); err != nil {
		x.Close()
		return err
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
	c := sched.Config{Slots: e.Plan.Config.Slots, CacheBytes: e.Plan.cacheBytes(), Account: e.Plan.account}
	o := e.Plan.Config.Observer
	if o == nil {
		return c
	}
	o.Begin(observe.Account{Placement: e.weights.placement, Ring: e.weights.Stream.Ring, Streamed: e.weights.Streamed, Resident: cpu.Resident})
	c.Watch = o.Step
	if l := o.Learner(); l != nil {
		c.Tune = l.Before
	}
	return c
}

// Close ends all requests, waits for the step in flight and releases the
// weights. It fails if a strict process exceeded its budget. It is idempotent.
func (e *Engine) Close() (err error) {
	e.close.Do(func() {
		e.Sched.Close()
		err = errors.Join(e.weights.close(), e.checkPeak(), e.logged())
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

// Packing returns the decision about packed weights.
func (e *Engine) Packing() pack.Decision { return e.packing }

// ScratchBytes returns the memory of the executor's buffers.
func (e *Engine) ScratchBytes() int64 { return e.scratch }

// Residence returns what maps, holds and streams the weights.
func (e *Engine) Residence() *residence.Residence { return e.weights.Residence }
