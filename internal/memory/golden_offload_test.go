package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"atenia/internal/memory"
)

func init() { goldenTopics["offload"] = goldenOffload }

type goldenAction struct{ Action, ID string }

func actionsOf(p memory.PlannedOffload) []goldenAction {
	var out []goldenAction
	for _, a := range p.Actions {
		out = append(out, goldenAction{a.Name(), a.ID})
	}
	return out
}

// A tierRow is an id and its tier, if there is one.
type tierRow struct {
	id   string
	tier *memory.Tier
}

func (r *tierRow) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]any{&r.id, &r.tier}) }

func goldenOffload(t *testing.T, c *goldenCase) {
	var in struct {
		Config memory.OffloadConfig
		Memory goldenMemory
		Steps  []struct {
			Op       string
			Snapshot pressures
			IDs      []string `json:"tensor_ids"`
			Tick     uint64
		}
	}
	var want struct {
		Steps []struct {
			Actions []goldenAction
			Reason  string
			Error   *wantError
			Tiers   []tierRow
		}
		Tensors []wantTensor
		Ledger  wantLedger
	}
	c.decode(t, &in, &want)
	m, o := in.Memory.build(t), memory.NewOffload(in.Config)
	var p memory.PlannedOffload
	for i, s := range in.Steps {
		what, w := fmt.Sprintf("step %d %s", i, s.Op), &want.Steps[i]
		switch s.Op {
		case "plan":
			p = o.Plan(s.Snapshot.snapshot(), s.IDs, m.Manager)
		case "plan_with_tick":
			p = o.PlanWithTick(s.Snapshot.snapshot(), s.IDs, m.Manager, s.Tick)
		case "apply":
			done, err := o.Apply(context.Background(), p, m.Manager)
			w.Error.check(t, what, err, moveKinds)
			if (done.Failed == nil) != (err == nil) {
				t.Errorf("%s: failed %v, error %v", what, done.Failed, err)
			}
			for _, row := range w.Tiers {
				at, ok := m.Tier(row.id)
				if ok != (row.tier != nil) || ok && at != *row.tier {
					t.Errorf("%s: %q in %v (%v), want %v", what, row.id, at, ok, row.tier)
				}
			}
			continue
		}
		if got := actionsOf(p); !slices.Equal(got, w.Actions) {
			t.Errorf("%s: actions %v, want %v", what, got, w.Actions)
		}
		if p.Reason != w.Reason {
			t.Errorf("%s: reason %q, want %q", what, p.Reason, w.Reason)
		}
	}
	m.checkTensors(t, "at the end", want.Tensors)
	m.checkLedger(t, "at the end", want.Ledger, false)
}
