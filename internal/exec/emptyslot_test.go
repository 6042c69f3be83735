package exec_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
)

// TestEmptySlots: a plan whose slot of a weight is empty is rejected with an error that
// names the slot, or runs without it. Optional slots are those that some models leave
// empty, which does not say that the instruction's parameters allow it.
func TestEmptySlots(t *testing.T) {
	for _, name := range invariant {
		seen := map[string]bool{}
		m := openCase(t, name, compile.Options{})
		for at, in := range m.Plans.Prefill.Plan.Instructions {
			for k, w := range in.Weights {
				spec := plan.Specs.Get(in.Op)
				slot, _ := spec.Slot(k)
				key := spec.Name + "." + slot
				if w == plan.NoWeight || seen[key] {
					continue
				}
				seen[key] = true
				t.Run(name+"/"+key, func(t *testing.T) {
					defer func() {
						if p := recover(); p != nil {
							t.Error(fmt.Sprint(p))
						}
					}()
					empty := func(c *plan.CompiledPlan) *plan.CompiledPlan {
						copied := *c
						copied.Plan.Instructions = slices.Clone(c.Plan.Instructions)
						i := &copied.Plan.Instructions[at]
						i.Weights = slices.Clone(i.Weights)
						i.Weights[k] = plan.NoWeight
						return &copied
					}
					compiled := *m.Model
					compiled.Plans.Prefill = empty(m.Plans.Prefill)
					other := &model{&compiled, m.weights, nil}
					x, err := exec.New(&other.Plans, m.weights, small)
					if err != nil {
						if e, ok := errors.AsType[*plan.WeightError](err); !ok || e.Slot != slot {
							t.Errorf("%v", err)
						}
						return
					}
					x.Close()
					other.lane(t, small).all([]int32{1, 2, 3}, 3)
				})
			}
		}
	}
}
