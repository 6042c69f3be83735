package pass

import (
	"fmt"

	"atenia/internal/plan"
)

// A Fusion is one named rewrite. It may assume a valid plan and must return an
// equivalent one.
type Fusion struct {
	ID  string
	Doc string
	run func(*plan.ExecutionPlan) []string // one line per site it rewrote
}

// Fusions is the list in the order they run. Their ids appear in the
// diagnostics of a compiled plan.
var Fusions = []Fusion{
	// First, because it moves the last norm to where add_norm expects it.
	{"last_rows", "prefill: only the rows whose logits are wanted pass the last feed-forward layer and the head", lastRows},
	{"add_norm", "a residual add also writes the norm that reads its sum", addNorm},
}

// fuse runs every fusion, unless disabled, and notes the changes.
func fuse(s *state) error {
	if s.opt.NoFuse {
		return nil
	}
	for _, f := range Fusions {
		sites := f.run(&s.c.Plan)
		switch len(sites) {
		case 0:
		case 1:
			s.note(false, "fused", "%s: %s", f.ID, sites[0])
		default:
			s.note(false, "fused", "%s: %s and %d more", f.ID, sites[0], len(sites)-1)
		}
	}
	return nil
}

// readers counts the reads of every register; an output of the plan counts as
// one more.
func readers(p *plan.ExecutionPlan) []int {
	n := make([]int, len(p.Registers))
	for i := range p.Instructions {
		for _, r := range p.Instructions[i].In {
			n[r]++
		}
	}
	for _, r := range p.Outputs {
		n[r]++
	}
	return n
}

// decode returns the payload of an instruction. In a valid plan it always
// decodes; callers ignore an instruction if it is nil.
func decode[T any](p *plan.ExecutionPlan, in *plan.Instruction) *T {
	v, err := p.Params[in.Param].Decode()
	if err != nil {
		return nil
	}
	t, _ := any(v).(*T)
	return t
}

func where(p *plan.ExecutionPlan, a, b plan.RegisterRef) string {
	return fmt.Sprintf("%s with %s", p.Registers[a].Name, p.Registers[b].Name)
}
