package pass

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"atenia/internal/plan"
)

// load reads a plan text that must be good.
func load(t testing.TB, text string) *plan.CompiledPlan {
	t.Helper()
	c, err := LoadText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A compiled plan comes back equal from text and from JSON.
func TestLoadRoundTrip(t *testing.T) {
	eachToy(t, func(t *testing.T, name string, mode plan.Mode, opt Options) {
		c := compile(t, name, mode, 5, opt)
		if back := load(t, c.String()); !reflect.DeepEqual(back, c) {
			t.Errorf("text: %q", plan.Diff(c, back))
		}
		m := &plan.ModelPlans{Prefill: c}
		if mode == plan.ModeDecode {
			m = &plan.ModelPlans{Decode: c}
		}
		b, err := plan.MarshalPlans(m, plan.JSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		back, err := LoadJSON(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, m) {
			t.Errorf("JSON: %q", plan.Diff(c, back.ByMode(mode)))
		}
	})
}

// A well-formed change to the text is detected by the checks.
func TestLoadTextChecks(t *testing.T) {
	good := compile(t, "llama", plan.ModePrefill, 2, Options{NoFuse: true}).String()
	for _, tc := range []struct{ name, from, to string }{
		{"kill mark removed", "r4:L0.a[tokens,64]", "r4:L0.a[tokens,64]!"},
		{"width", "r4:L0.a[tokens,64]", "r4:L0.a[tokens,65]"},
		{"rows", "r4:L0.a[tokens,64]", "r4:L0.a[merged,64]"},
		{"rank", "r4:L0.a[tokens,64]", "r4:L0.a[tokens,64,rank=5]"},
		{"type", "r4:L0.a[tokens,64]", "r4:L0.a[tokens,64,I32]"},
		{"peak", "peak=4", "peak=5"},
		{"mode", "mode=prefill", "mode=scatter"},
		{"state bytes", "stride=2048", "stride=2049"},
		{"parameter", "dim=64 hidden=128", "dim=63 hidden=128"},
		{"weight", "gate=blk.0.ffn_gate ", ""},
		{"state", " s0 q=", " q="},
	} {
		text := strings.Replace(good, tc.from, tc.to, 1)
		if text == good {
			t.Fatalf("%s: %q is not in the text\n%s", tc.name, tc.from, good)
		}
		if tc.name == "state" { // legal in a prefill plan: an encoder keeps none
			if _, err := LoadText(strings.NewReader(text)); err != nil {
				t.Errorf("a prefill plan without state: %v", err)
			}
			continue
		}
		_, err := LoadText(strings.NewReader(text))
		if !errors.Is(err, plan.ErrInvalidPlan) && !errors.Is(err, plan.ErrUnsupportedTensorRank) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// FuzzPlanLoad: every text is rejected with a sentinel, or is a plan that
// passes every check, prints as itself, and maps soundly.
func FuzzPlanLoad(f *testing.F) {
	for _, name := range toyNames {
		f.Add(compile(f, name, plan.ModePrefill, 2, Options{}).String())
	}
	f.Add(compile(f, "hybrid", plan.ModeDecode, 5, Options{NoFuse: true}).String())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := LoadText(strings.NewReader(text))
		if err != nil {
			for _, want := range []error{plan.ErrInvalidPlan, plan.ErrUnsupportedOpcode, plan.ErrUnsupportedTensorRank, plan.ErrInvalidParamBlockABI, plan.ErrWeightBinding} {
				if errors.Is(err, want) {
					return
				}
			}
			t.Fatalf("untyped error %v", err)
		}
		if back := load(t, c.String()); !reflect.DeepEqual(back, c) {
			t.Fatalf("does not read back:\n%s", c)
		}
		sizing := plan.Sizing{Tokens: 3, Slots: 2, Requested: 1, Patches: 1, Merged: 1}
		m := Map(c, sizing, nil)
		if len(m.Buffers) > int(c.PeakRegisters) {
			t.Fatalf("%d buffers, peak %d", len(m.Buffers), c.PeakRegisters)
		}
		if _, err := Compile(&c.Plan, Options{}); err != nil {
			t.Fatalf("a checked plan does not compile: %v", err)
		}
	})
}
