package pass

import (
	"fmt"

	"atenia/internal/plan"
)

// A step is one pass over a plan.
type step struct {
	Name string
	run  func(*state) error
}

// steps is the compiler, in order. Its input is a plan of one instruction per
// program line, made from a configuration (internal/model/compile and
// [plan.Builder]). Steps that depend on a backend are called by name
// afterwards: [Route], [Map], [CheckHandoffs], then binding (internal/exec).
var steps = []step{
	{"validate", validate},   // first: every later step uses register, weight and state numbers as indices
	{"states", checkStates},  // before any rewriting: it reads only descriptors, and its errors name what the family declared
	{"fuse", fuse},           // before liveness: it removes reads, registers and instructions
	{"number", number},       // after fuse, which leaves gaps: text, JSON and id need one numbering for equal plans
	{"revalidate", validate}, // after the last step that rewrites: fused instructions are checked like all others
	{"liveness", liveness},   // on the final instructions: kill sets are indexed by their position
	{"recheck", recheck},     // after liveness: establishes the same facts by other means
}

// Options configure the steps. The zero value is the default.
type Options struct {
	NoFuse bool // keep every instruction as written in the programs
}

// state is passed from step to step.
type state struct {
	opt Options
	c   plan.CompiledPlan
}

// Compile runs every step over p, which it takes over. Registers, parameter
// blocks and weights are numbered anew in order of first use: find a register
// of the result through Inputs and Outputs, whose order stays, or by name.
//
// The result depends on nothing but p and opt: same input, same bytes. An error
// matches one of the sentinels of package plan.
func Compile(p *plan.ExecutionPlan, opt Options) (*plan.CompiledPlan, error) {
	s := &state{opt: opt, c: plan.CompiledPlan{Plan: *p}}
	for _, st := range steps {
		if err := st.run(s); err != nil {
			return nil, fmt.Errorf("%s: %w", st.Name, err)
		}
	}
	return &s.c, nil
}
