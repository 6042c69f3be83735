package atenia_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden"
)

// A printedPlan is a plan and its buffers as JSON has them.
type printedPlan struct {
	Plans map[string]struct {
		Peak            int
		Inputs, Outputs []int
		Registers       []struct {
			DType, Rows string
			Cols        int
		}
		Instructions []struct {
			Op             string
			In, Out, Kills []int
		}
	}
	Mapping map[string]struct {
		Buffers   []struct{ Bytes uint64 }
		Registers []*int
	}
	Diagnostics []struct{ Plan, Code, Text string }
}

// inPlaceOps add to their first input, and may write the sum over it if nothing reads it later.
var inPlaceOps = []string{"residual_add", "vision_scatter", "deepstack_inject"}

// TestPlanBuffers: what a plan says of its registers is what following it finds: each dies at
// its last reader, as many are alive at once as it says, no buffer is written while what it
// holds is still to be read, and no more buffers are taken than registers are alive.
func TestPlanBuffers(t *testing.T) {
	for _, name := range golden.Dirs(t, golden.Family(t, "parity")) {
		_, document := printed(t, filepath.Join(golden.Family(t, "parity"), name))
		var d printedPlan
		if err := json.Unmarshal(document, &d); err != nil {
			t.Fatal(err)
		}
		for mode, p := range d.Plans {
			mapped := d.Mapping[mode]
			last := map[int]int{}
			for i, in := range p.Instructions {
				for _, r := range in.In {
					last[r] = i
				}
			}
			holds := map[int]int{} // register by buffer, while it is to be read
			alive := append([]int{}, p.Inputs...)
			most := 0
			for i, in := range p.Instructions {
				var kills []int
				for _, r := range in.In {
					if last[r] == i && !slices.Contains(p.Outputs, r) && !slices.Contains(kills, r) {
						kills = append(kills, r)
					}
				}
				unread := []int{}
				for _, r := range in.Out {
					if _, ok := last[r]; !ok && !slices.Contains(p.Outputs, r) {
						kills, unread = append(kills, r), append(unread, r)
					}
				}
				if got := slices.Sorted(slices.Values(in.Kills)); !slices.Equal(got, slices.Sorted(slices.Values(kills))) {
					t.Errorf("%s %s: at instruction %d %v die, not %v", name, mode, i, kills, got)
				}
				alive = append(alive, in.Out...)
				most = max(most, len(alive))
				for _, r := range in.Out {
					b := mapped.Registers[r]
					if b == nil {
						t.Errorf("%s %s: r%d has no buffer", name, mode, r)
						continue
					}
					if was, ok := holds[*b]; ok && !(slices.Contains(inPlaceOps, in.Op) && r == in.Out[0] && was == in.In[0] && slices.Contains(kills, was)) {
						t.Errorf("%s %s: %s %d writes r%d over r%d, which is still read", name, mode, in.Op, i, r, was)
					}
					holds[*b] = r
				}
				for _, r := range kills {
					alive = slices.DeleteFunc(alive, func(x int) bool { return x == r })
					if b := mapped.Registers[r]; b != nil && holds[*b] == r {
						delete(holds, *b)
					}
				}
				for _, r := range unread {
					if !slices.ContainsFunc(d.Diagnostics, func(x struct{ Plan, Code, Text string }) bool { return x.Plan == mode && x.Code == "never_read" }) {
						t.Errorf("%s %s: nothing says that r%d is never read", name, mode, r)
					}
				}
			}
			if most != p.Peak || len(mapped.Buffers) > p.Peak {
				t.Errorf("%s %s: %d registers are alive at most and %d buffers taken, the plan says %d", name, mode, most, len(mapped.Buffers), p.Peak)
			}
		}
	}
}
