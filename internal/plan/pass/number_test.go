package pass

import (
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/plan"
)

// The same source gives the same bytes, and so does the same plan with its
// registers, parameter blocks and weights numbered in another way.
func TestPlanDeterministic(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		a, b := compile(t, name, mode, 5, opt), compile(t, name, mode, 5, opt)
		if a.String() != b.String() {
			t.Fatalf("two compilations differ:\n%s", plan.Diff(a, b))
		}
		rng := rand.New(rand.NewPCG(9, 10))
		c, err := Compile(renumbered(build(t, name, mode, 5), rng), opt)
		if err != nil {
			t.Fatal(err)
		}
		if a.String() != c.String() {
			t.Fatalf("numbering shows:\n%s\n%s", a, c)
		}
	})
}

// renumbered shuffles every table of a plan.
func renumbered(p *plan.ExecutionPlan, rng *rand.Rand) *plan.ExecutionPlan {
	regs, params, weights := rng.Perm(len(p.Registers)), rng.Perm(len(p.Params)), rng.Perm(len(p.Weights))
	q := &plan.ExecutionPlan{Mode: p.Mode, States: p.States}
	q.Registers = permuted(p.Registers, regs)
	q.Params = permuted(p.Params, params)
	q.Weights = permuted(p.Weights, weights)
	refs := func(rs []plan.RegisterRef) (out []plan.RegisterRef) {
		for _, r := range rs {
			out = append(out, plan.RegisterRef(regs[r]))
		}
		return out
	}
	q.Inputs, q.Outputs = refs(p.Inputs), refs(p.Outputs)
	for _, in := range p.Instructions {
		in.In, in.Out, in.Param = refs(in.In), refs(in.Out), uint16(params[in.Param])
		in.Weights = slices.Clone(in.Weights)
		for k, w := range in.Weights {
			if w != plan.NoWeight {
				in.Weights[k] = plan.WeightRef(weights[w])
			}
		}
		q.Instructions = append(q.Instructions, in)
	}
	return q
}

func permuted[T any](s []T, to []int) []T {
	out := make([]T, len(s))
	for i, v := range s {
		out[to[i]] = v
	}
	return out
}

// Numbers follow first use, and nothing unused is left.
func TestNumberIsDense(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		p := &compile(t, name, mode, 5, opt).Plan
		next, nextWeight := plan.RegisterRef(0), plan.WeightRef(0)
		define := func(rs []plan.RegisterRef) {
			for _, r := range rs {
				if r != next {
					t.Fatalf("r%d comes where r%d should", r, next)
				}
				next++
			}
		}
		define(p.Inputs)
		for i, in := range p.Instructions {
			define(in.Out)
			if int(in.Param) != i {
				t.Fatalf("instruction %d has parameter block %d", i, in.Param)
			}
			for k, w := range in.Weights {
				if w != plan.NoWeight && w > nextWeight {
					t.Fatalf("weight %d comes where %d should", w, nextWeight)
				}
				if w == nextWeight {
					if slot, _ := plan.Specs.Get(in.Op).Slot(k); p.Weights[w].Slot != slot {
						t.Fatalf("weight %s is said to be first used as %s, it is as %s", p.Weights[w].Name, p.Weights[w].Slot, slot)
					}
					nextWeight++
				}
			}
		}
		if int(next) != len(p.Registers) || int(nextWeight) != len(p.Weights) || len(p.Params) != len(p.Instructions) {
			t.Fatal("something unused is left")
		}
	})
}
