package compile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
)

// eachStructure compiles the configurations of [TestStructure].
func eachStructure(t *testing.T, f func(t *testing.T, name string, m *Model)) {
	t.Helper()
	files, err := filepath.Glob("testdata/structure/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			config, _, _ := strings.Cut(strings.TrimPrefix(string(text), "-- config.json --\n"), "-- config --\n")
			m, err := Compile(&file.Description{Format: file.HuggingFace, Config: []byte(config)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			f(t, name, m)
		})
	}
}

// TestMacroOps: plans consist of macro-operations, at most 12 per layer, and use
// no opcode reserved for primitives.
func TestMacroOps(t *testing.T) {
	eachStructure(t, func(t *testing.T, _ string, m *Model) {
		for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
			if m.Plans.ByMode(mode) == nil { // an encoder does not decode
				continue
			}
			layer := map[int16]int{}
			for _, in := range m.Plans.ByMode(mode).Plan.Instructions {
				if in.Op >= 64 && in.Op < 128 {
					t.Errorf("%s: opcode %d is kept for primitives", mode, in.Op)
				}
				layer[in.Layer]++
			}
			for l, n := range layer {
				if l >= 0 && n > 12 {
					t.Errorf("%s: layer %d has %d instructions", mode, l, n)
				}
			}
		}
	})
}

// TestStagesOfTextModels: a text model has a prefill and a decode plan with the
// same states, and no stages or handoffs of images or sound; a model that has a
// tower has the stage that runs it.
func TestStagesOfTextModels(t *testing.T) {
	eachStructure(t, func(t *testing.T, _ string, m *Model) {
		p := &m.Plans
		if sees, hears := m.Config.Vision != nil, m.Config.Audio != nil; (p.VisionEncode != nil) != (sees || hears) || (p.Scatter != nil) != sees || (len(p.Handoffs) != 0) != sees && !hears {
			t.Errorf("stages of a model that sees (%t) or hears (%t) are missing, or the model has others", sees, hears)
		}
		if m.Config.Encoder != nil {
			if p.Prefill == nil || p.Decode != nil || len(p.Prefill.Plan.States) > 0 {
				t.Error("an encoder has a prefill plan without states, and no other")
			}
			return
		}
		if p.Prefill == nil || p.Decode == nil || p.Prefill.Plan.Mode != plan.ModePrefill || p.Decode.Plan.Mode != plan.ModeDecode {
			t.Fatal("a stage is missing or in the wrong place")
		}
		if a, b := fmt.Sprint(p.Prefill.Plan.States), fmt.Sprint(p.Decode.Plan.States); a != b {
			t.Errorf("prefill keeps %s, decode %s", a, b)
		}
		for _, s := range p.Decode.Plan.States {
			if !plan.ModeStates[plan.ModeDecode].Has(s.Kind) {
				t.Errorf("a state of kind %s", s.Kind)
			}
		}
	})
}

// TestPlanSameForQuantised: how weights are stored is no part of a plan. Every
// GGUF of one model has the plans of the others.
func TestPlanSameForQuantised(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Family(t, "gguf/models"), "llama-*.gguf"))
	if err != nil || len(files) < 2 {
		t.Skip("fewer than two files of one model", err)
	}
	type origin struct{ file, text string }
	byConfig := map[string]origin{}
	compared := 0
	for _, f := range files {
		m, err := Compile(open(t, f), Options{})
		if refused(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		config := fmt.Sprintf("%+v", m.Config)
		text := m.Plans.Prefill.String() + m.Plans.Decode.String()
		if first, ok := byConfig[config]; !ok {
			byConfig[config] = origin{filepath.Base(f), text}
		} else if compared++; first.text != text {
			line, a, b := firstDifference(first.text, text)
			t.Errorf("%s and %s differ in line %d:\n%s\n%s", first.file, filepath.Base(f), line, a, b)
		}
	}
	if compared == 0 {
		t.Error("no two files of one configuration")
	}
}

// TestScratchBytes compares the memory of registers with recorded values, to
// detect changes of passes that cost memory.
func TestScratchBytes(t *testing.T) {
	if *update {
		collectStructure(t)
	}
	var b strings.Builder
	b.WriteString("# bytes of register buffers: a prompt of 512 tokens, then 8 sequences decoding\n")
	eachStructure(t, func(t *testing.T, name string, m *Model) {
		inputs := func(c *plan.CompiledPlan) map[plan.RegisterRef]bool {
			caller := map[plan.RegisterRef]bool{}
			for _, r := range c.Plan.Inputs {
				caller[r] = true
			}
			return caller
		}
		pre := pass.Map(m.Plans.Prefill, plan.Sizing{Tokens: 512, Requested: 1}, inputs(m.Plans.Prefill))
		if m.Plans.Decode == nil {
			fmt.Fprintf(&b, "%s prefill %d in %d\n", name, pre.Bytes, len(pre.Buffers))
			return
		}
		dec := pass.Map(m.Plans.Decode, plan.Sizing{Slots: 8}, inputs(m.Plans.Decode))
		fmt.Fprintf(&b, "%s prefill %d in %d decode %d in %d\n", name, pre.Bytes, len(pre.Buffers), dec.Bytes, len(dec.Buffers))
	})
	const file = "testdata/scratch.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if line, old, now := firstDifference(string(want), b.String()); line > 0 {
		t.Errorf("%s:%d:\nwas %s\nis  %s\n(-update rewrites; review the difference)", file, line, old, now)
	}
}
