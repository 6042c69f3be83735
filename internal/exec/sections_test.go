package exec_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/tensor"
)

// ofState are models which together have every section of every state that adapters
// read.
var ofState = map[string][]string{
	"llama3":           {"k", "v"},
	"deepseek_v2_lite": {"ckv", "kpe"},
	"mamba":            {"conv", "ssm"},
	"mamba2_groups":    {"b", "conv", "ssm", "sums", "x"},
	"qwen3_next":       {"conv", "heads", "k", "keys", "v"},
	"rwkv7":            {"channel", "shift", "wkv"},
	"lfm2":             {"conv", "k", "v"},
	"whisper":          {"k", "v"},
}

// TestSectionTypes: a state is read through views that know its type. A plan whose
// section has another type than the adapter reads, of the same size, is refused when
// it is bound, in every build; so is one whose section has another size, or is
// missing, or whose state is in pages where the adapter reads one block.
func TestSectionTypes(t *testing.T) {
	cfg := small
	cfg.Context = 64 // whisper's positions
	other := map[tensor.DType]tensor.DType{tensor.F32: tensor.I32, tensor.F64: tensor.I64}
	for name, want := range ofState {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, "parity/"+name, compile.Options{KVType: kvF32})
			x, err := exec.New(&m.Plans, m.weights, cfg)
			if err != nil {
				t.Fatal(err)
			}
			x.Close()
			var seen []string
			for i := range m.Plans.Decode.Plan.States {
				d := &m.Plans.Decode.Plan.States[i]
				refuse := func(what, why string, edit func(*plan.StateDescriptor)) {
					t.Helper()
					x, err := exec.New(changed(&m.Plans, i, edit), m.weights, cfg)
					if err == nil {
						x.Close()
					}
					if !errors.Is(err, plan.ErrInvalidPlan) || !strings.Contains(err.Error(), why) {
						t.Errorf("state %s.%d, %s: %v, want an error with %q", d.Kind, d.Group, what, err, why)
					}
				}
				refuse("paging", "pages", func(d *plan.StateDescriptor) {
					d.PageTokens = map[bool]uint32{true: 16}[d.PageTokens == 0]
				})
				for j, s := range d.Sections {
					seen = append(seen, s.Name)
					refuse(s.Name+" of another type", fmt.Sprintf("section %s", s.Name), func(d *plan.StateDescriptor) { d.Sections[j].DType = other[s.DType] })
					refuse(s.Name+" shorter", fmt.Sprintf("section %s", s.Name), func(d *plan.StateDescriptor) { d.Sections[j].Bytes -= 4 })
					refuse(s.Name+" missing", fmt.Sprintf("no section %s", s.Name), func(d *plan.StateDescriptor) { d.Sections[j].Name = "other" })
				}
			}
			slices.Sort(seen)
			for _, s := range want {
				if !slices.Contains(seen, s) {
					t.Errorf("no section %s: have %q", s, seen)
				}
			}
		})
	}
}

// changed returns plans with one state edited in all of them.
func changed(m *plan.ModelPlans, state int, edit func(*plan.StateDescriptor)) *plan.ModelPlans {
	all := *m
	for _, c := range []**plan.CompiledPlan{&all.Prefill, &all.Decode} {
		p := **c
		p.Plan.States = slices.Clone(p.Plan.States)
		d := &p.Plan.States[state]
		d.Sections = slices.Clone(d.Sections)
		edit(d)
		*c = &p
	}
	return &all
}
