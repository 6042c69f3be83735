package plan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/plan"
	"atenia/internal/plan/pass"
)

// goldens reads the plan texts that the tests of package pass keep current.
func goldens(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/plans/*.plan")
	if err != nil || len(files) == 0 {
		t.Fatal("no plan texts under testdata/plans")
	}
	m := make(map[string]string)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m[strings.TrimSuffix(filepath.Base(f), ".plan")] = string(b)
	}
	return m
}

func read(t testing.TB, name string) *plan.CompiledPlan {
	t.Helper()
	c, err := pass.LoadText(strings.NewReader(goldens(t)[name]))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Printed plans read back, and print the same.
func TestTextRoundTrip(t *testing.T) {
	for name, text := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			c, err := plan.ParseText(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if c.String() != text {
				t.Errorf("prints as\n%s", c)
			}
			m := pass.Map(c, plan.Sizing{Tokens: 8, Slots: 8, Requested: 8}, nil)
			var b bytes.Buffer
			if err := plan.Print(&b, c, plan.PrintOptions{Mapping: &m}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "@b0") {
				t.Error("no buffers are shown")
			}
			with, err := plan.ParseText(&b)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(with, c) {
				t.Error("buffers change what is read")
			}
		})
	}
}

// Names that are not plain are quoted and come back.
func TestTextQuotesNames(t *testing.T) {
	c := read(t, "llama.prefill")
	for i, odd := range []string{"", " ", "a b", `q"q`, "ü", "r1!", "x=y", "[", "\n", "s0"} {
		c.Plan.Registers[i].Name = odd
		c.Plan.States[0].Sections[0].Name = odd
		c.Plan.Weights[i].Name = odd + "w"
		c.Diagnostics = append(c.Diagnostics, plan.PlanDiagnostic{Code: odd, Text: odd})
		back, err := plan.ParseText(strings.NewReader(c.String()))
		if err != nil {
			t.Fatalf("%q: %v", odd, err)
		}
		if !reflect.DeepEqual(back, c) {
			t.Errorf("%q does not come back", odd)
		}
	}
}

// A syntax error has a position and a cause.
func TestSyntaxErrors(t *testing.T) {
	const head = "plan mode=decode instructions=1 registers=3 peak=3 states=0 weights=0\n"
	const ins = "input r0:x[slots,8]\ninput r1:y[slots,8]\n"
	const line = "0 L0 residual_add r0!,r1! -> r2:z[slots,8] {scale=1}\n"
	if _, err := plan.ParseText(strings.NewReader(head + ins + line + "output r2\n")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text, why string
		line, col int
	}{
		{"", "no plan", 1, 1},
		{"graph\n", `want "plan"`, 1, 1},
		{"plan mode=sideways", `unknown mode "sideways"`, 1, 11},
		{strings.Replace(head, "peak=3", "peak=70000", 1), "peak of 70000", 1, 0},
		{head + "state s1 kind=kv.0\n", "want state s0", 2, 6},
		{head + "state s0 kind=kv\n", "want a kind and a group", 2, 15},
		{head + "state s0 kind=kv.0 class=forever\n", `unknown lifecycle "forever"`, 2, 26},
		{head + "input r1:x[slots,8]\n", "want the next register, r0", 2, 7},
		{head + "input r0:x[rows,8]\n", `unknown row kind "rows"`, 2, 12},
		{head + "input r0:x[slots,99999999999]\n", "at most 32 bits", 2, 18},
		{head + "input r0:x[slots,8,F99]\n", "want an element type", 2, 20},
		{head + "input r0:\"x[slots,8]\n", "does not end", 2, 10},
		{head + ins + "1 L0 norm r0 -> r2:z[slots,8] {}\n", "instruction 0", 4, 1},
		{head + ins + "0 M0 norm r0 -> r2:z[slots,8] {}\n", "want a layer", 4, 3},
		{head + ins + "0 L0 nrm r0 -> r2:z[slots,8] {}\n", `unsupported opcode: "nrm"`, 4, 6},
		{head + ins + "0 L0 norm x -> r2:z[slots,8] {}\n", "want a register", 4, 11},
		{head + ins + "0 L0 norm r99999 -> r2:z[slots,8] {}\n", "at most 16 bits", 4, 12},
		{head + ins + "0 L0 norm r0 r2:z[slots,8] {}\n", "want ->", 4, 13},
		{head + ins + "0 L0 norm r0 -> r2:z[slots,8]\n", "in braces", 4, 30},
		{head + ins + "0 L0 norm r0 -> r2:z[slots,8] {width=3}\n", `no parameter "width"`, 4, 32},
		{head + ins + "0 L0 norm r0 -> r2:z[slots,8] {dim=-3}\n", `dim: "-3"`, 4, 32},
		{head + ins + "0 L0 norm r0 -> r2:z[slots,8] {eps=NaN}\n", `eps: "NaN"`, 4, 32},
		{head + ins + "0 L0 norm r0 -> r2:z[slots,8] gate=x {}\n", "in braces", 4, 30},
		{head + ins + line + line, "instruction 1", 5, 1},
		{head + ins + line + "input r3:w[slots,8]\n", "inputs come before", 5, 6},
		{head + ins + line, "output line is missing", 5, 1},
		{head + ins + line + "output r2 x\n", "want a register", 5, 11},
		{head + ins + line + "output r2\noutput r2\n", "only notes", 6, 1},
		{head + ins + "output r0\n", "0 instructions, the header promises 1", 5, 1},
		{strings.Repeat("x", 1<<17), "too long", 1, 0},
	} {
		_, err := plan.ParseText(strings.NewReader(tc.text))
		e, ok := errors.AsType[*plan.SyntaxError](err)
		if !ok || !errors.Is(err, plan.ErrInvalidPlan) || !strings.Contains(e.Why, tc.why) || e.Line != tc.line || tc.col != 0 && e.Column != tc.col {
			t.Errorf("%.60q:\ngot  %v\nwant %q at %d:%d", tc.text, err, tc.why, tc.line, tc.col)
		}
	}
}

// Folding shows every topology in a screenful.
func TestFold(t *testing.T) {
	for name, want := range map[string][]string{
		"llama.decode":         {"layers 2–4 as layer 1"},
		"llama.decode.unfused": {"layers 1–5 as layer 0"},
		"gemma.prefill":        {"layers 3–6 as layers 1–2"},
		"bert.prefill":         {"layers 1–2 as layer 0"},
		"parallel.prefill":     nil,
		"hybrid.decode":        {"layers 5–8 as layers 1–4"},
	} {
		var b bytes.Buffer
		if err := plan.Print(&b, read(t, name), plan.PrintOptions{Fold: true}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "layer") {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q\n%s", name, got, want, b.String())
		}
		if _, err := plan.ParseText(&b); len(want) > 0 && err == nil {
			t.Errorf("%s: a folded plan reads back", name)
		}
	}
}

// Printing a plan that is wrong in every way does not panic.
func TestPrintBrokenPlan(t *testing.T) {
	c := &plan.CompiledPlan{Plan: plan.ExecutionPlan{
		Mode: 99, Inputs: []plan.RegisterRef{7}, Outputs: []plan.RegisterRef{8}, States: []plan.StateDescriptor{{Kind: 99, Lifecycle: 99}},
		Instructions: []plan.Instruction{{Op: 200, In: []plan.RegisterRef{9}, Out: []plan.RegisterRef{9}, Weights: []plan.WeightRef{4}, Param: 5, State: 6}},
	}}
	for _, o := range []plan.PrintOptions{{}, {Fold: true}, {Mapping: &plan.PhysicalMapping{}}} {
		if err := plan.Print(new(bytes.Buffer), c, o); err != nil {
			t.Error(err)
		}
	}
	plan.Diff(c, c)
	if _, err := c.ID(); err == nil {
		t.Error("it has an id")
	}
}

func TestDiff(t *testing.T) {
	a, b := read(t, "llama.decode"), read(t, "llama.decode")
	if d := plan.Diff(a, b); d != nil {
		t.Errorf("equal plans differ: %q", d)
	}
	b.Plan.Weights[3].Name = "other"
	b.Plan.States[0].Window = 128
	d := plan.Diff(a, b)
	if len(d) != 4 || !strings.Contains(d[3], "=other ") || !strings.Contains(d[1], "window=128") {
		t.Errorf("two changes give %q", d)
	}
	// One fusion more is two lines out and one in; numbers do not matter.
	fused := plan.Diff(read(t, "llama.decode.unfused"), a)
	minus := 0
	for _, l := range fused {
		if l[0] == '-' {
			minus++
		}
	}
	if minus != 24 || len(fused)-minus != 12 {
		t.Errorf("12 fusions: %d lines out, %d in", minus, len(fused)-minus)
	}
}

// The id depends on the behaviour of a plan and on nothing else.
func TestPlanID(t *testing.T) {
	id := func(edit func(c *plan.CompiledPlan)) string {
		c := read(t, "llama.decode")
		edit(c)
		s, err := c.ID()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := id(func(*plan.CompiledPlan) {})
	if len(base) != len("sha256:")+64 || !strings.HasPrefix(base, "sha256:") {
		t.Fatalf("id %q", base)
	}
	if id(func(c *plan.CompiledPlan) { c.Diagnostics = nil }) != base {
		t.Error("the words of a diagnostic change the id")
	}
	for name, edit := range map[string]func(c *plan.CompiledPlan){
		"weight": func(c *plan.CompiledPlan) { c.Plan.Weights[0].Name = "other" },
		"width":  func(c *plan.CompiledPlan) { c.Plan.Registers[2].Cols++ },
		"state":  func(c *plan.CompiledPlan) { c.Plan.States[0].Window++ },
		"scale":  func(c *plan.CompiledPlan) { c.Plan.Params[2].Data[52] ^= 1 },
		"layer":  func(c *plan.CompiledPlan) { c.Plan.Instructions[2].Layer++ },
	} {
		if id(edit) == base {
			t.Errorf("the id does not depend on the %s", name)
		}
	}
}

// The JSON form holds all plans of a model, keeps 64-bit sizes and shows the
// additional information of JSONOptions.
func TestJSON(t *testing.T) {
	m := &plan.ModelPlans{Prefill: read(t, "llama.prefill"), Decode: read(t, "llama.decode")}
	for _, c := range []*plan.CompiledPlan{m.Prefill, m.Decode} {
		d := &c.Plan.States[0]
		d.Layers, d.LayerStride, d.SizeBytes = 6, 1<<40+2048, 6*(1<<40+2048) // far above 4 GiB
	}
	pm := pass.Map(m.Decode, plan.Sizing{Slots: 4}, map[plan.RegisterRef]bool{0: true})
	b, err := plan.MarshalPlans(m, plan.JSONOptions{Model: map[string]string{"name": "toy"}, Mapping: map[plan.Mode]*plan.PhysicalMapping{plan.ModeDecode: &pm}})
	if err != nil {
		t.Fatal(err)
	}
	back, err := pass.LoadJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, m) {
		t.Error("does not come back")
	}
	var doc struct {
		Schema  int
		ID      string
		Model   map[string]string
		States  []any
		Mapping map[string]struct{ Registers []*int }
		Plans   map[string]struct {
			Instructions []struct {
				Op, ADR string
				Params  map[string]any
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	norm := doc.Plans["decode"].Instructions[1]
	if doc.Schema != 1 || doc.Model["name"] != "toy" || len(doc.States) != 1 || doc.Mapping["decode"].Registers[0] != nil || doc.Mapping["decode"].Registers[1] == nil ||
		norm.Op != "norm" || norm.ADR != "rmsnorm" || norm.Params["dim"] != 64.0 {
		t.Errorf("the document is %+v", doc)
	}
	if id, err := m.ID(); err != nil || id != doc.ID {
		t.Errorf("id %s, the document says %s", id, doc.ID)
	}
	for _, bad := range []struct{ from, to string }{
		{`"schema": 1`, `"schema": 2`},
		{`"schema": 1`, `"schema": 1, "extra": 2`},
		{`"op": "norm"`, `"op": "nrm"`},
		{`"dim": 64`, `"dim": 63`}, // the id no longer fits
		{`"dim": 64`, `"dim": "many"`},
		{`"i": 1,`, `"i": 2,`},
		{`"decode": {`, `"dreaming": {`},
		{`"kind": "kv"`, `"kind": "attic"`},
	} {
		text := strings.Replace(string(b), bad.from, bad.to, 1)
		if text == string(b) {
			t.Fatalf("%s is not in the document", bad.from)
		}
		if _, err := plan.ParseJSON([]byte(text)); !errors.Is(err, plan.ErrInvalidPlan) {
			t.Errorf("%s: %v", bad.to, err)
		}
	}
}

// Infinite parameters have no JSON number and come back all the same.
func TestJSONInfinity(t *testing.T) {
	text := strings.ReplaceAll(goldens(t)["hybrid.decode"], "norm_eps=1e-05 chunk=8", "norm_eps=1e-05 dt_max=+Inf chunk=8")
	c, err := pass.LoadText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.String(), "dt_max=+Inf") {
		t.Fatalf("no infinity in\n%s", c)
	}
	m := &plan.ModelPlans{Decode: c}
	b, err := plan.MarshalPlans(m, plan.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if back, err := pass.LoadJSON(b); err != nil || !reflect.DeepEqual(back, m) {
		t.Errorf("does not come back: %v", err)
	}
}

func FuzzPlanText(f *testing.F) {
	for _, text := range goldens(f) {
		f.Add(text)
	}
	f.Add("plan mode=decode instructions=1 registers=3 peak=3 states=0 weights=0\ninput r0:x[slots,8]\ninput r1:y[slots,8]\n0 L0 residual_add r0!,r1! -> r2:z[slots,8] {scale=1}\noutput r2\nnote \"a b\": \"c\\n\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := plan.ParseText(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, plan.ErrInvalidPlan) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		printed := c.String()
		back, err := plan.ParseText(strings.NewReader(printed))
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if back.String() != printed {
			t.Fatalf("prints as\n%s\nthen as\n%s", printed, back)
		}
		if pass.Check(c) == nil && !reflect.DeepEqual(back, c) {
			t.Fatalf("a good plan does not come back\n%s", printed)
		}
	})
}

func FuzzPlanJSON(f *testing.F) {
	for name := range goldens(f) {
		c := read(f, name)
		m := &plan.ModelPlans{Prefill: c}
		if c.Plan.Mode == plan.ModeDecode {
			m = &plan.ModelPlans{Decode: c}
		}
		b, err := plan.MarshalPlans(m, plan.JSONOptions{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(strings.Replace(string(b), `"id"`, `"id": "", "id"`, 1)))
		f.Add(bytes.Replace(b, []byte("sha256:"), []byte(""), 1))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Without the id a mutation reaches the content.
		var doc map[string]json.RawMessage
		if json.Unmarshal(data, &doc) == nil {
			delete(doc, "id")
			data, _ = json.Marshal(doc)
		}
		m, err := pass.LoadJSON(data)
		if err != nil {
			for _, want := range []error{plan.ErrInvalidPlan, plan.ErrUnsupportedOpcode, plan.ErrUnsupportedTensorRank, plan.ErrInvalidParamBlockABI, plan.ErrWeightBinding, plan.ErrInvalidHandoff} {
				if errors.Is(err, want) {
					return
				}
			}
			t.Fatalf("untyped error %v", err)
		}
		b, err := plan.MarshalPlans(m, plan.JSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if back, err := pass.LoadJSON(b); err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("does not come back: %v\n%s", err, b)
		}
	})
}
