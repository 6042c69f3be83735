package pass

import (
	"errors"
	"strings"
	"testing"

	"atenia/internal/plan"
	"atenia/tensor"
)

// stages compiles a small vision model: patches are embedded and merged, the
// merged rows scattered among token embeddings, and the result prefilled.
func stages(t *testing.T) *plan.ModelPlans {
	t.Helper()
	const vision = `plan mode=vision_encode instructions=2 registers=3 peak=2 states=0 weights=2
input r0:pixels[patches,48]
0 L-1 vision_patch_embed r0! -> r1:e[patches,16] weight=v.patch_embd {patch=4 temporal=1 channels=3 dim=16}
1 L-1 vision_spatial_merge r1! -> r2:image[merged,64] fc1=mm.0 {merge=2 eps=1e-06}
output r2
`
	const scatter = `plan mode=scatter instructions=2 registers=5 peak=5 states=0 weights=1
input r0:tokens[tokens,1,I32,rank=1]
input r1:image[merged,64]
input r2:index[tokens,1,I32,rank=1]
0 L-1 embedding r0! -> r3:e[tokens,64] table=token_embd {dim=64 vocab=320 scale=1}
1 L-1 vision_scatter r3!,r1!,r2! -> r4:x[tokens,64] {}
output r4
`
	const prefill = `plan mode=prefill instructions=2 registers=3 peak=2 states=0 weights=2
input r0:x[tokens,64]
0 L-1 norm r0! -> r1:n[tokens,64] weight=output_norm {dim=64 eps=1e-05}
1 L-1 lm_head r1! -> r2:logits[tokens,320] weight=output {vocab=320 dim=64 scale=1}
output r2
`
	return &plan.ModelPlans{
		VisionEncode: load(t, vision), Scatter: load(t, strings.Replace(scatter, "peak=5", "peak=4", 1)), Prefill: load(t, prefill),
		Handoffs: []plan.Handoff{
			{From: plan.ModeVisionEncode, To: plan.ModeScatter, FromReg: 2, ToReg: 1, DType: tensor.F32, Cols: 64, ReleaseAfter: 1},
			{From: plan.ModeScatter, To: plan.ModePrefill, FromReg: 4, ToReg: 0, DType: tensor.F32, Cols: 64, ReleaseAfter: 0},
		},
	}
}

func TestHandoff(t *testing.T) {
	if err := CheckHandoffs(stages(t)); err != nil {
		t.Fatal(err)
	}
	if err := CheckHandoffs(&plan.ModelPlans{Prefill: compile(t, "llama", plan.ModePrefill, 1, Options{})}); err != nil {
		t.Errorf("a text model: %v", err)
	}
}

// reject makes a valid boundary invalid and expects an error about the change.
func reject(t *testing.T, why string, edit func(m *plan.ModelPlans), graph ...plan.Mode) {
	t.Helper()
	m := stages(t)
	edit(m)
	if err := CheckHandoffs(m, graph...); !errors.Is(err, plan.ErrInvalidHandoff) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want %q", err, why)
	}
}

func TestHandoffDType(t *testing.T) {
	reject(t, "element type", func(m *plan.ModelPlans) { m.Handoffs[0].DType = tensor.F16 })
	reject(t, "element type", func(m *plan.ModelPlans) { m.VisionEncode.Plan.Registers[2].DType = tensor.F16 })
	reject(t, "element type", func(m *plan.ModelPlans) { m.Scatter.Plan.Registers[1].DType = tensor.BF16 })
}

func TestHandoffLayout(t *testing.T) {
	reject(t, "layout", func(m *plan.ModelPlans) { m.Handoffs[0].Layout = plan.NumLayouts })
	reject(t, "layout", func(m *plan.ModelPlans) { m.VisionEncode.Plan.Registers[2].Layout = plan.NumLayouts })
}

func TestHandoffCols(t *testing.T) {
	reject(t, "columns", func(m *plan.ModelPlans) { m.Handoffs[1].Cols = 63 })
	reject(t, "columns", func(m *plan.ModelPlans) { m.Scatter.Plan.Registers[1].Cols = 65 })
}

func TestHandoffMissingProducer(t *testing.T) {
	reject(t, "no vision_encode stage", func(m *plan.ModelPlans) { m.VisionEncode = nil })
	reject(t, "no decode stage", func(m *plan.ModelPlans) { m.Handoffs[1].To = plan.ModeDecode })
	reject(t, "not an output", func(m *plan.ModelPlans) { m.Handoffs[0].FromReg = 1 })
	reject(t, "not an output", func(m *plan.ModelPlans) { m.Handoffs[0].FromReg = 999 })
	reject(t, "not an input", func(m *plan.ModelPlans) { m.Handoffs[0].ToReg = 3 })
	reject(t, "does not run before", func(m *plan.ModelPlans) { m.Handoffs[0].From, m.Handoffs[0].To = plan.ModePrefill, plan.ModeScatter })
	reject(t, "fed twice", func(m *plan.ModelPlans) { m.Handoffs = append(m.Handoffs, m.Handoffs[0]) })
}

func TestHandoffReleasedTooEarly(t *testing.T) {
	reject(t, "last read", func(m *plan.ModelPlans) { m.Handoffs[0].ReleaseAfter = 0 })
	reject(t, "released after instruction 2 of 2", func(m *plan.ModelPlans) { m.Handoffs[0].ReleaseAfter = 2 })
	reject(t, "never reads", func(m *plan.ModelPlans) { m.Scatter.Live.LastRead[1] = plan.NeverRead })
	reject(t, "outlive", func(m *plan.ModelPlans) { m.Prefill.Plan.Outputs = append(m.Prefill.Plan.Outputs, 0) })
}

func TestHandoffSyncRequired(t *testing.T) {
	reject(t, "synchronised", func(*plan.ModelPlans) {}, plan.ModeVisionEncode)
	m := stages(t)
	m.Handoffs[0].Sync = true
	if err := CheckHandoffs(m, plan.ModeVisionEncode); err != nil {
		t.Error(err)
	}
}

// The stages of a vision model and their boundaries survive JSON.
func TestHandoffJSON(t *testing.T) {
	m := stages(t)
	b, err := plan.MarshalPlans(m, plan.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadJSON(b); err != nil {
		t.Fatal(err)
	}
	m.Handoffs[0].Cols = 63
	if b, err = plan.MarshalPlans(m, plan.JSONOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadJSON(b); !errors.Is(err, plan.ErrInvalidHandoff) {
		t.Errorf("got %v", err)
	}
}
