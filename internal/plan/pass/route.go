package pass

import (
	"errors"
	"math"

	"atenia/internal/plan"
)

// An AdapterCapability describes a backend's support of one opcode. It must be true:
// the suite of the backend runs every opcode that claims Batch with a batch and
// compares it with single runs.
type AdapterCapability struct {
	Batch    bool // more than one slot in one call
	MaxBatch int  // most slots in one call; 0 = any number
	Graph    bool // records work that runs later, so stages need a sync between them

	// Accept, if set, rejects an instruction for properties other than its
	// opcode: an element type, a width, a parameter. The error says why.
	Accept func(p *plan.ExecutionPlan, instruction int) error
}

// limit is the largest batch.
func (c AdapterCapability) limit() int {
	switch {
	case !c.Batch:
		return 1
	case c.MaxBatch == 0:
		return math.MaxInt
	}
	return c.MaxBatch
}

// A Backend has a name for messages, and its capability for an opcode, false if
// it has none.
type Backend interface {
	Name() string
	Capability(op plan.Opcode) (AdapterCapability, bool)
}

// A Routing is the backend a plan goes to, and why not to those before it.
type Routing struct {
	Backend  Backend
	Batch    int
	Rejected []error // one error for each backend tried before, in order

	plan *plan.ExecutionPlan
}

// Route picks the first backend that can run every instruction of the plan for
// batch slots at once. This is the only place where a plan is rejected because
// of a backend: a routed plan runs, and nothing is rerouted later.
//
// If there is no such backend, the error joins one [*plan.OpcodeError] or
// [*plan.BatchError] for each.
func Route(c *plan.CompiledPlan, batch int, backends ...Backend) (*Routing, error) {
	if batch < 1 {
		return nil, invalid(plan.Whole, "batch of %d", batch)
	}
	r := &Routing{Batch: batch, plan: &c.Plan}
	for _, b := range backends {
		err := suits(b, &c.Plan, batch)
		if err == nil {
			r.Backend = b
			return r, nil
		}
		r.Rejected = append(r.Rejected, err)
	}
	if len(backends) == 0 {
		return nil, plan.Errorf(plan.ErrUnsupportedOpcode, plan.Whole, "no backend")
	}
	return nil, errors.Join(r.Rejected...)
}

// suits returns why a backend cannot run a plan, or nil.
func suits(b Backend, p *plan.ExecutionPlan, batch int) error {
	for i := range p.Instructions {
		op := p.Instructions[i].Op
		cap, ok := b.Capability(op)
		if !ok {
			return &plan.OpcodeError{Op: op, Backend: b.Name(), Index: i}
		}
		if limit := cap.limit(); batch > limit {
			return &plan.BatchError{Op: op, Backend: b.Name(), Index: i, Batch: batch, Max: limit}
		}
		if cap.Accept == nil {
			continue
		}
		if err := cap.Accept(p, i); err != nil {
			return &plan.OpcodeError{Op: op, Backend: b.Name(), Index: i, Why: err.Error()}
		}
	}
	return nil
}

// Records reports whether the backend records any instruction of the plan instead of
// running it.
func (r *Routing) Records() bool {
	for i := range r.plan.Instructions {
		if cap, ok := r.Backend.Capability(r.plan.Instructions[i].Op); ok && cap.Graph {
			return true
		}
	}
	return false
}
