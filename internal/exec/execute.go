package exec

import (
	"fmt"

	"atenia/plan"
)

// A Kernel runs one bound instruction over the rows of a step.
type Kernel func(*Step) error

// An Adapter looks at an instruction once, when a plan is bound, and returns
// the kernel that will run it. Everything that depends on parameters, formats
// or weights is chosen here, so that no such branch remains per token.
type Adapter func(*Bind) (Kernel, error)

// An AdapterTable has one adapter per opcode number; nil says "unsupported".
// It is made by the generated NewAdapterTable, which does not compile while an
// opcode is missing.
type AdapterTable [256]Adapter

// A Bound record is one instruction with everything resolved.
type Bound struct {
	run Kernel
	ins *plan.Instruction
	out []*register
}

// execute is the whole executor: the only function that calls kernels.
// Without counters or a tracer it touches nothing but the records.
func execute(prog []Bound, s *Step) error {
	if s.Counters == nil && s.Trace == nil {
		for i := range prog {
			if err := prog[i].run(s); err != nil {
				return &StepError{i, prog[i].ins.Op, err}
			}
		}
		return nil
	}
	for i := range prog {
		b := &prog[i]
		if s.Counters != nil {
			s.Counters.dispatch(b.ins.Op)
		}
		if err := b.run(s); err != nil {
			return &StepError{i, b.ins.Op, err}
		}
		if s.Trace != nil {
			for j, r := range b.out {
				s.Trace(b.ins, j, r.f32(s), int(r.cols))
			}
		}
	}
	return nil
}

// A StepError says which instruction of a plan failed.
type StepError struct {
	Index int
	Op    plan.Opcode
	Err   error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("instruction %d (%s): %v", e.Index, e.Op, e.Err)
}

// Unwrap returns the kernel's error.
func (e *StepError) Unwrap() error { return e.Err }
