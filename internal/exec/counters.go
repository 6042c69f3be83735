package exec

import (
	"sync/atomic"

	"atenia/internal/plan"
)

// Counters count what steps do. They cost atomic operations, so steps have none
// unless someone reads them: a trace, metrics, or the bench command.
type Counters struct {
	perOp    [256]atomic.Uint64
	total    atomic.Uint64
	launches atomic.Uint64
	experts  atomic.Uint64

	evaluations atomic.Uint64
}

func (c *Counters) dispatch(op plan.Opcode) {
	c.perOp[op].Add(1)
	c.total.Add(1)
}

// Op returns how many instructions of an opcode were run.
func (c *Counters) Op(op plan.Opcode) uint64 { return c.perOp[op].Load() }

// Total returns how many instructions were run.
func (c *Counters) Total() uint64 { return c.total.Load() }

// Launches returns how many times work was submitted to the worker pool. It
// must not grow with the number of rows, as it would if a kernel submitted
// every row separately.
func (c *Counters) Launches() uint64 { return c.launches.Load() }

// Experts returns how many experts of mixtures were computed: those that some row
// chose.
func (c *Counters) Experts() uint64 { return c.experts.Load() }

// Evaluations returns how many graphs of recorded instructions were evaluated.
func (c *Counters) Evaluations() uint64 { return c.evaluations.Load() }

// Reset sets all counts to zero.
func (c *Counters) Reset() {
	for i := range c.perOp {
		c.perOp[i].Store(0)
	}
	c.total.Store(0)
	c.launches.Store(0)
	c.experts.Store(0)
	c.evaluations.Store(0)
}
