package atenia

import (
	"context"
	"errors"
	"fmt"

	"atenia/internal/cpu"
	"atenia/internal/observe"
	"atenia/internal/residence"
	"atenia/internal/sched"
	"atenia/tier/budget"
)

// An Observation says what is written down while a model runs: a trace of what
// ran when, metrics for Prometheus, the order of reads and computing, and what
// is learned from latencies for [Explain].
type Observation = observe.Config

// ErrStrict says that something went on in a lesser way, and that
// [Config.Strict] does not allow that.
var ErrStrict = errors.New("strict")

func strictly(what, why string) error { return fmt.Errorf("%w: %s: %s", ErrStrict, what, why) }

// openObserver makes what is asked for before anything of a model is read.
func openObserver(ctx context.Context, c Observation) (*observe.Observer, error) {
	if c.Device == nil {
		c.Device = devicePressure
	}
	o, err := observe.Open(ctx, c)
	if f, ok := errors.AsType[*observe.Fault](err); ok {
		return nil, &ConfigError{"Observe." + f.Field, f.Value, fmt.Sprintf("%s: %v", f.Want, f.Err)}
	}
	return o, err
}

// devicePressure reports whether there is a device, and how full its memory is.
func devicePressure(ctx context.Context) (there bool, pressure float32) {
	s, _, err := Hardware(ctx, nil)
	if err != nil || len(s.GPUs) == 0 {
		return false, 0
	}
	if p := s.Pressure.VRAM; p != nil {
		pressure = *p
	}
	return true, pressure
}

// residence is how weights are brought in.
func (m *Model) residence() *residence.Config {
	c := &residence.Config{Verify: m.cfg.Verify}
	if m.watch != nil {
		c.Watch = m.watch.Watch
	}
	return c
}

// schedule is how requests are served, once it is known where the weights are.
func (m *Model) schedule() sched.Config {
	c := sched.Config{Slots: m.cfg.Slots, CacheBytes: m.cfg.CacheBytes}
	if m.watch == nil {
		return c
	}
	a := observe.Account{Plan: m.memory.plan, Ring: m.memory.stream.Ring}
	if h := m.memory.home; h != nil {
		a.Streamed = h.Streamed
	}
	m.watch.Begin(a)
	c.Watch = m.watch.Pass
	return c
}

// withinBudget fails if a strict process had more memory than it may.
func (m *Model) withinBudget() error {
	if !m.cfg.Strict || m.memory.plan == nil {
		return nil
	}
	limit, peak := m.memory.plan.Input().RAM, cpu.PeakResident()
	if limit == 0 || peak <= limit {
		return nil
	}
	return strictly("memory", fmt.Sprintf("the process had %s, the budget is %s", budget.Size(peak), budget.Size(limit)))
}
