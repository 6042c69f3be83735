package decide

import (
	"fmt"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/policy/record"
)

// offloadInputs are the inputs of an offload plan.
type offloadInputs struct {
	Config    memory.OffloadConfig `json:"config"`
	Tick      uint64               `json:"tick"`
	Pressures pressures            `json:"pressures"`
	Tensors   []offloadTensor      `json:"tensors"`       // in the order given
	Now       bool                 `json:"now,omitempty"` // [memory.Offload.Plan]: all of them, whatever moved when
}

// plan is the decision.
func (in *offloadInputs) plan(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload {
	if in.Now {
		return o.Plan(s, ids, m)
	}
	return o.PlanWithTick(s, ids, m, in.Tick)
}

// An offloadTensor is a tensor that may be evicted.
type offloadTensor struct {
	ID    string       `json:"id"`
	Tier  *memory.Tier `json:"tier"` // nil: not registered
	Bytes uint64       `json:"bytes"`
	memory.OffloadMark
}

func offloadInputsOf(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager, tick uint64) offloadInputs {
	in := offloadInputs{Config: o.Config(), Tick: tick, Pressures: pressuresOf(s), Tensors: []offloadTensor{}}
	for _, id := range ids {
		t := offloadTensor{ID: id, OffloadMark: o.Mark(id)}
		if at, ok := m.Tier(id); ok {
			t.Tier = &at
			t.Bytes, _ = m.Len(id)
		}
		in.Tensors = append(in.Tensors, t)
	}
	return in
}

func (in offloadInputs) draft(*history) (record.Draft, error) {
	o, m := memory.NewOffload(in.Config), memory.New(memory.Config{})
	var ids []string
	for _, t := range in.Tensors {
		ids = append(ids, t.ID)
		o.SetMark(t.ID, t.OffloadMark)
		if t.Tier == nil {
			continue
		}
		if err := m.Register(t.ID, t.Bytes, *t.Tier); err != nil {
			return record.Draft{}, fmt.Errorf("inputs: %w", err)
		}
	}
	return offloadDraft(in, in.plan(o, in.Pressures.snapshot(), ids, m)), nil
}

// offloadRules maps the prefix of a reason to a rule.
var offloadRules = [...]struct{ prefix, rule string }{
	{"VRAM and RAM pressure high", "VramRamHigh"},
	{"VRAM pressure high", "VramHigh"},
	{"RAM pressure high", "RamHigh"},
	{"No new offloading", "Hysteresis"},
	{"No offloading", "NotNeeded"},
	{"", "Promote"},
}

func offloadDraft(in offloadInputs, p memory.PlannedOffload) record.Draft {
	d := record.Draft{Reason: p.Reason, Config: in.Config}
	for _, r := range offloadRules {
		if strings.HasPrefix(p.Reason, r.prefix) {
			d.Rule = r.rule
			break
		}
	}
	d.Evaluated = []string{d.Rule}
	d.Target = strings.Join(texts(p.Actions), ", ")
	return d
}
