package exec

import (
	"fmt"

	"atenia/internal/plan"
)

// A Kernel runs one bound instruction over the rows of a step. Adapters return
// kernels ([plan.Adapter]) and make all choices that depend on parameters,
// formats or weights, so that no such branch remains per token.
type Kernel func(*Step) error

// A bound record is one instruction with all operands resolved.
type bound struct {
	run Kernel
	ins *plan.Instruction
	out []*register

	guard *guard // with -tags invariants
}

// execute is the executor's only loop, and the only function that calls
// kernels. Without counters or a tracer it reads nothing but the records and
// whether to stop.
func execute(prog []bound, s *Step) error {
	if s.Counters == nil && s.Trace == nil {
		for i := range prog {
			if s.stopped() {
				return ErrStopped
			}
			if invariants {
				prog[i].guard.enter(s)
			}
			if err := prog[i].run(s); err != nil {
				return &stepError{i, prog[i].ins.Op, err}
			}
			if invariants {
				prog[i].guard.leave(s)
			}
		}
		return nil
	}
	for i := range prog {
		if s.stopped() {
			return ErrStopped
		}
		b := &prog[i]
		if s.Counters != nil {
			s.Counters.dispatch(b.ins.Op)
		}
		if invariants {
			b.guard.enter(s)
		}
		if err := b.run(s); err != nil {
			return &stepError{i, b.ins.Op, err}
		}
		if s.Trace != nil {
			for j, r := range b.out {
				s.Trace(i, b.ins, j, r.f32(s), int(r.cols))
			}
		}
		if invariants {
			b.guard.leave(s)
		}
	}
	return nil
}

// A stepError says which instruction of a plan failed.
type stepError struct {
	Index int
	Op    plan.Opcode
	Err   error
}

func (e *stepError) Error() string {
	return fmt.Sprintf("instruction %d (%s): %v", e.Index, e.Op, e.Err)
}

// Unwrap returns the kernel's error.
func (e *stepError) Unwrap() error { return e.Err }
