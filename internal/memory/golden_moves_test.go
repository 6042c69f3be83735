package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
)

func init() { goldenTopics["moves"] = goldenMoves }

type moveStep struct {
	Op        string
	ID        string
	Tier, To  memory.Tier
	Bytes     uint64
	Data      hexBytes
	Available bool
}

type wantMove struct {
	Warning *bool
	Plan    *struct {
		From, To memory.Tier
		Reason   *string
	}
	Error   *wantError
	Tensors []tensorRow
	Ledger  wantLedger
	Errors  uint64 `json:"persistent_errors"`
}

// A tensorRow is a wantTensor written as a list.
type tensorRow wantTensor

func (r *tensorRow) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&r.ID, &r.Tier, &r.Bytes, &r.Backing, &r.Data})
}

func goldenMoves(t *testing.T, c *goldenCase) {
	var in struct {
		goldenMemory
		Steps []moveStep
	}
	var want struct {
		Steps []wantMove
		Keys  []string `json:"persistent_tensor_keys"`
	}
	c.decode(t, &in, &want)
	m := in.build(t)
	plans, touched := map[string]memory.PlannedMove{}, false
	for i, s := range in.Steps {
		what, w := fmt.Sprintf("step %d %s %q", i, s.Op, s.ID), &want.Steps[i]
		var plan *memory.PlannedMove
		var warning string
		var err error
		switch s.Op {
		case "register":
			err = m.Register(s.ID, s.Bytes, s.Tier)
		case "register_with_data":
			warning, err = m.RegisterData(s.ID, s.Data, s.Tier)
		case "register_rle":
			err = m.RegisterCoded(s.ID, s.Data, blob.RLE)
		case "move", "plan":
			var p memory.PlannedMove
			if p, err = m.PlanMove(s.ID, s.To); err == nil {
				plan = &p
				if s.Op == "move" {
					err = m.ApplyMove(context.Background(), s.ID, p)
				}
				plans[s.ID] = p
			}
		case "apply_saved":
			err = m.ApplyMove(context.Background(), s.ID, plans[s.ID])
		case "set_available":
			m.fake.SetAvailable(s.Available)
		case "set_footprint":
			m.SetFootprint(s.ID, s.Bytes)
			touched = true
		default:
			touched = true
			tamper(t, m, &s)
		}
		w.Error.check(t, what, err, moveKinds)
		if w.Warning != nil && err == nil && (warning != "") != *w.Warning {
			t.Errorf("%s: warning %q, want %v", what, warning, *w.Warning)
		}
		if (plan != nil) != (w.Plan != nil) {
			t.Fatalf("%s: plan %v, want %v", what, plan, w.Plan)
		}
		if plan != nil {
			if plan.From != w.Plan.From || plan.To != w.Plan.To {
				t.Errorf("%s: plan %v to %v, want %v to %v", what, plan.From, plan.To, w.Plan.From, w.Plan.To)
			}
			checkText(t, what, plan.Reason, w.Plan.Reason)
		}
		var tensors []wantTensor
		for _, r := range w.Tensors {
			tensors = append(tensors, wantTensor(r))
		}
		m.checkTensors(t, what, tensors)
		m.checkLedger(t, what, w.Ledger, touched)
		if h := m.Health(); h.PersistentErrors != w.Errors {
			t.Errorf("%s: %d persistent errors, want %d", what, h.PersistentErrors, w.Errors)
		}
	}
	if m.cache != nil && *in.Persistent == "ok" {
		keys, err := m.cache.Keys(blob.Tensor)
		if err != nil || !slices.Equal(keys, want.Keys) {
			t.Errorf("keys %q (%v), want %q", keys, err, want.Keys)
		}
	}
}

// tamper changes or deletes a tensor's file behind the manager's back.
func tamper(t *testing.T, m *goldenManager, s *moveStep) {
	t.Helper()
	path, _, ok := m.File(s.ID)
	if !ok {
		t.Fatalf("%s: %q has no file", s.Op, s.ID)
	}
	var err error
	switch s.Op {
	case "tamper_file":
		m.Unsum(s.ID) // the cases know lengths alone
		err = os.WriteFile(path, s.Data, 0o644)
	case "delete_file":
		err = os.Remove(path)
	default:
		t.Fatalf("unknown step %s", s.Op)
	}
	if err != nil {
		t.Fatal(err)
	}
}
