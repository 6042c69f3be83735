package pass

import (
	"atenia/plan"
)

// A Step is one pass over a plan.
type Step struct {
	Name string
	Run  func(*state) error
}

// Steps is the compiler after a family's programs were lowered, in order.
// Configuration, selection and building come before it (internal/compile);
// routing, mapping and binding come after it, once per backend.
var Steps = []Step{
	{"fuse", fuse},             // before validate: what it makes is checked like everything else
	{"validate", validate},     // before liveness, which trusts register numbers
	{"liveness", liveness},     // after fuse, which removes reads
	{"recheck", recheck},       // after liveness: verifies it by other means
	{"checkstates", checkState}, // sizes, alignment, sections
}

// Options choose what the passes do.
type Options struct {
	NoFuse bool // leave every instruction as the programs wrote it
}

type state struct {
	opt Options
	c   plan.CompiledPlan
}

// Compile runs every step over p, which it takes over.
func Compile(p *plan.ExecutionPlan, opt Options) (*plan.CompiledPlan, error) {
	s := &state{opt: opt, c: plan.CompiledPlan{Plan: *p}}
	for _, st := range Steps {
		if err := st.Run(s); err != nil {
			return nil, err
		}
	}
	return &s.c, nil
}
