package pass

import (
	"fmt"
	"slices"

	"atenia/internal/plan"
)

// A fusion is one named rewrite. It may assume a valid plan and must return an
// equivalent one.
type fusion struct {
	ID  string
	Doc string
	run func(*plan.ExecutionPlan) []string // one line per site it rewrote
}

// fusions is the list in the order they run. Their ids appear in the
// diagnostics of a compiled plan.
var fusions = []fusion{
	// First, because it moves the last norm to where add_norm expects it.
	{"last_rows", "prefill: only the rows whose logits are wanted pass the last feed-forward layer and the head", lastRows},
	{"add_norm", "a residual add also writes the norm that reads its sum", addNorm},
}

// inside lists what macro operations join by themselves, so that no pass has to: the
// plan looks the same with and without.
var inside = []struct {
	op      plan.Opcode
	id, doc string
}{
	{plan.OpAttention, "qkv_cat", "queries, keys and values are one product"},
	{plan.OpAttention, "qk_norm_rope", "heads are normalized and rotated in one pass, which also writes keys and values to the cache (rope_kv_write)"},
	{plan.OpMLA, "mla_absorb", "the key and value matrices are folded into queries and output, and the cache keeps the latent vector"},
	{plan.OpFFN, "gate_up_cat", "gate and up are one product"},
	{plan.OpMoE, "moe_topk_softmax", "scores, choice and weights of experts are one pass"},
	{plan.OpMoE, "moe_grouped", "tokens are sorted by expert, and an expert is one product over all of its tokens"},
}

// Inside returns what the operations of a plan join by themselves, a line each.
func Inside(p *plan.ExecutionPlan) (lines []string) {
	for _, f := range inside {
		if slices.ContainsFunc(p.Instructions, func(in plan.Instruction) bool { return in.Op == f.op }) {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", f.op, f.id, f.doc))
		}
	}
	return lines
}

// fuse runs every fusion, unless disabled, and notes the changes.
func fuse(s *state) error {
	if s.opt.NoFuse {
		return nil
	}
	for _, f := range fusions {
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
