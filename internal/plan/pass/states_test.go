package pass

import (
	"errors"
	"math"
	"strings"
	"testing"

	"atenia/internal/plan"
	"atenia/tensor"
)

func TestCheckStates(t *testing.T) {
	good := func() plan.StateDescriptor {
		return plan.StateDescriptor{
			Kind: plan.StateRecurrent, ZeroInit: true, AlignBytes: 64, Layers: 3, LayerStride: 100, SizeBytes: 300,
			Sections: []plan.Section{{Name: "ssm", Offset: 40, Bytes: 60, DType: tensor.F32}, {Name: "conv", Bytes: 40, DType: tensor.F32}},
		}
	}
	for _, tc := range []struct {
		why  string // "" = accepted
		edit func(*plan.StateDescriptor)
	}{
		{"", func(d *plan.StateDescriptor) {}},
		{"", func(d *plan.StateDescriptor) { d.LayerStride, d.SizeBytes = 1<<40, 3<<40 }}, // above 4 GiB
		{"unknown kind", func(d *plan.StateDescriptor) { d.Kind = plan.NumStateKinds }},
		{"want slot_persistent", func(d *plan.StateDescriptor) { d.Lifecycle = plan.RequestScoped }},
		{"not zeroed", func(d *plan.StateDescriptor) { d.ZeroInit = false }},
		{"alignment 0", func(d *plan.StateDescriptor) { d.AlignBytes = 0 }},
		{"alignment 96", func(d *plan.StateDescriptor) { d.AlignBytes = 96 }},
		{"0 layers", func(d *plan.StateDescriptor) { d.Layers = 0 }},
		{"want 3 layers", func(d *plan.StateDescriptor) { d.SizeBytes = 301 }},
		{"want 3 layers", func(d *plan.StateDescriptor) { d.LayerStride = math.MaxUint64/3 + 101 }}, // 3 × stride wraps to 300
		{"has pages", func(d *plan.StateDescriptor) { d.PageTokens = 16 }},
		{"leaves the layer", func(d *plan.StateDescriptor) { d.Sections[0].Bytes = 64 }},
		{"leaves the layer", func(d *plan.StateDescriptor) { d.Sections[0].Offset = math.MaxUint64 - 4 }},
		{"overlap", func(d *plan.StateDescriptor) { d.Sections[1].Bytes = 44 }},
		{"whole blocks", func(d *plan.StateDescriptor) { d.Sections[1].Bytes = 39 }},
		{"whole blocks", func(d *plan.StateDescriptor) { d.Sections[1].Bytes = 0 }},
		{"type", func(d *plan.StateDescriptor) { d.Sections[1].DType = tensor.Invalid }},
		{"type", func(d *plan.StateDescriptor) { d.Sections[1].DType = 250 }},
		{"name of its own", func(d *plan.StateDescriptor) { d.Sections[1].Name = "ssm" }},
	} {
		d := good()
		tc.edit(&d)
		err := checkDescriptors([]plan.StateDescriptor{d})
		if tc.why == "" {
			if err != nil {
				t.Errorf("a good state: %v", err)
			}
			continue
		}
		if !errors.Is(err, plan.ErrInvalidPlan) || !strings.Contains(err.Error(), tc.why) {
			t.Errorf("got %v, want %q", err, tc.why)
		}
	}
	twice := []plan.StateDescriptor{good(), good()}
	twice[1].ID = 1
	if err := checkDescriptors(twice); err == nil || !strings.Contains(err.Error(), "declared twice") {
		t.Errorf("one kind and group twice: %v", err)
	}
}
