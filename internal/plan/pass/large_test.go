package pass

import (
	"strings"
	"testing"

	"atenia/internal/plan"
)

// Sizes have 64 bits everywhere: a state of more than 4 GiB passes every step
// and round-trips through text and JSON.
func TestLargeState(t *testing.T) {
	const layers, stride = 3, 5 << 30
	p := build(t, "llama", plan.ModeDecode, layers)
	p.States[0].LayerStride, p.States[0].SizeBytes = stride, layers*stride
	p.States[0].Sections[1].Offset = stride - p.States[0].Sections[1].Bytes
	c, err := Compile(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	back := func(what string, got *plan.CompiledPlan, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s := got.Plan.States[0]
		if s.SizeBytes != layers*stride || s.LayerStride != stride || s.Sections[1].Offset+s.Sections[1].Bytes != stride {
			t.Errorf("%s: %+v", what, s)
		}
	}
	back("compiled", c, nil)
	got, err := LoadText(strings.NewReader(c.String()))
	back("text", got, err)
	b, err := plan.MarshalPlans(&plan.ModelPlans{Decode: c}, plan.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	back("JSON", m.Decode, nil)

	// Sums that overflow 64 bits are rejected.
	p = build(t, "llama", plan.ModeDecode, layers)
	p.States[0].LayerStride, p.States[0].SizeBytes = 1<<63, 1<<63
	if _, err := Compile(p, Options{}); err == nil {
		t.Error("a size that wrapped around was accepted")
	}
}
