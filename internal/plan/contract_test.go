package plan

import (
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	goparser "go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"atenia/tensor"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The types of the contract exist with the fields and widths it names, and
// nothing can execute them from here.
func TestContractShape(t *testing.T) {
	for _, tc := range []struct {
		v      any
		fields map[string]any // field → a value of its type
	}{
		{ExecutionPlan{}, map[string]any{"Mode": Mode(0), "Instructions": []Instruction{}, "Registers": []RegSpec{}, "Inputs": []RegisterRef{}, "Outputs": []RegisterRef{}, "Params": []ParamBlock{}, "Weights": []WeightBinding{}, "States": []StateDescriptor{}}},
		{Instruction{}, map[string]any{"Op": Opcode(0), "In": []RegisterRef{}, "Out": []RegisterRef{}, "Weights": []WeightRef{}, "Param": uint16(0), "State": StateRef(0), "Layer": int16(0)}},
		{StateDescriptor{}, map[string]any{"ID": uint8(0), "SizeBytes": uint64(0), "AlignBytes": uint16(0), "ZeroInit": false, "Lifecycle": Lifecycle(0), "Kind": StateKind(0), "Sections": []Section{}}},
		{ParamBlock{}, map[string]any{"Version": uint8(0), "Op": Opcode(0), "Data": []byte{}}},
		{LivenessMap{}, map[string]any{"LastRead": []uint32{}, "KillAfter": [][]uint64{}}},
		{CompiledPlan{}, map[string]any{"Plan": ExecutionPlan{}, "Live": LivenessMap{}, "PeakRegisters": uint16(0), "Diagnostics": []PlanDiagnostic{}}},
		{PhysicalMapping{}, map[string]any{"ToPhysical": []uint16{}, "Buffers": []BufferSpec{}, "Bytes": uint64(0)}},
		{ModelPlans{}, map[string]any{"VisionEncode": &CompiledPlan{}, "Scatter": &CompiledPlan{}, "Prefill": &CompiledPlan{}, "Decode": &CompiledPlan{}, "Handoffs": []Handoff{}}},
		{TensorViewDesc{}, map[string]any{"DType": tensor.F32, "Rank": uint8(0), "Rows": RowKind(0), "Cols": uint32(0), "Strides": [2]uint32{}, "Layout": Layout(0)}},
		{OpSpec{}, map[string]any{"Op": Opcode(0), "Weights": []string{}, "States": StateKindSet(0), "Modes": ModeSet(0), "InPlace": InPlace(0)}},
		{AdapterTable[int, int]{}, nil},
		{Handoff{}, map[string]any{"From": Mode(0), "To": Mode(0), "FromReg": RegisterRef(0), "ToReg": RegisterRef(0), "DType": tensor.F32, "Layout": Layout(0), "Sync": false, "ReleaseAfter": uint32(0)}},
	} {
		typ := reflect.TypeOf(tc.v)
		for name, v := range tc.fields {
			f, ok := typ.FieldByName(name)
			if !ok || f.Type != reflect.TypeOf(v) {
				t.Errorf("%s.%s: have %v, want %T", typ.Name(), name, f.Type, v)
			}
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"Opcode", "RegisterRef", "TensorHandle", "TensorViewDesc", "StateBlockHandle", "ParamBlock", "StateDescriptor", "LivenessMap",
		"ExecutionPlan", "CompiledPlan", "PhysicalMapping", "AdapterTable", "AdapterCapability", "ExecutionContext", "KernelAdapterFn",
	} {
		if !strings.Contains(string(doc), "//\t"+name+" ") && !strings.Contains(string(doc), " "+name+" is ") && !strings.Contains(string(doc), " "+name+" an ") {
			t.Errorf("the package's essay does not say what %s is here", name)
		}
	}
	for name, kind := range map[string][2]reflect.Kind{
		"Opcode":      {reflect.TypeFor[Opcode]().Kind(), reflect.Uint8},
		"RegisterRef": {reflect.TypeFor[RegisterRef]().Kind(), reflect.Uint16},
		"WeightRef":   {reflect.TypeFor[WeightRef]().Kind(), reflect.Uint32},
		"StateRef":    {reflect.TypeFor[StateRef]().Kind(), reflect.Int16},
	} {
		if kind[0] != kind[1] {
			t.Errorf("%s is %v, want %v", name, kind[0], kind[1])
		}
	}
	if len(AdapterTable[int, int]{}) != 256 {
		t.Error("a table of adapters does not cover every opcode number")
	}
	if len(*Specs) != 256 {
		t.Error("the spec table does not cover every opcode number")
	}
}

// opcodeConstants reads the constants of type Opcode from the source.
func opcodeConstants(t *testing.T) map[string]Opcode {
	t.Helper()
	fset := token.NewFileSet()
	f, err := goparser.ParseFile(fset, "opcode.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	consts := make(map[string]Opcode)
	ast.Inspect(f, func(n ast.Node) bool {
		vs, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := vs.Type.(*ast.Ident); !ok || id.Name != "Opcode" {
			return true
		}
		for i, name := range vs.Names {
			tv, err := types.Eval(fset, nil, token.NoPos, vs.Values[i].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			v, _ := constant.Uint64Val(tv.Value)
			consts[name.Name] = Opcode(v)
		}
		return true
	})
	if len(consts) == 0 {
		t.Fatal("no opcode constants found")
	}
	return consts
}

// The constants in opcode.go and the spec table are the same set.
func TestSpecsCoverEveryOpcodeConst(t *testing.T) {
	seen := make(map[Opcode]string)
	for name, op := range opcodeConstants(t) {
		if Specs.Get(op) == nil {
			t.Errorf("%s (%d) has no spec", name, op)
		}
		if other, dup := seen[op]; dup {
			t.Errorf("%s and %s are both %d", name, other, op)
		}
		seen[op] = name
	}
	names := make(map[string]bool)
	for i, s := range Specs {
		if s == nil {
			continue
		}
		if int(s.Op) != i || seen[s.Op] == "" {
			t.Errorf("spec %d %q has no constant", i, s.Name)
		}
		if names[s.Name] {
			t.Errorf("two opcodes are called %q", s.Name)
		}
		names[s.Name] = true
		if op, ok := parseOpcode(s.Name); !ok || op != s.Op {
			t.Errorf("%q does not read back", s.Name)
		}
	}
}

// The table of opcodes is frozen: lines are added, never changed.
func TestOpcodeTableGolden(t *testing.T) {
	var b strings.Builder
	b.WriteString("number name in out in-place row-wise payload states modes | weights\n")
	for _, s := range Specs {
		if s == nil {
			continue
		}
		var states, modes []string
		for k := range NumStateKinds {
			if s.States.Has(k) {
				states = append(states, k.String())
			}
		}
		for m := range NumModes {
			if s.Modes.Has(m) {
				modes = append(modes, m.String())
			}
		}
		place := "-"
		if k, ok := s.InPlace.Input(); ok {
			place = fmt.Sprint(k)
		}
		payload := "-"
		if s.Params != nil {
			payload = fmt.Sprintf("%s(%d)", reflect.TypeOf(s.Params()).Elem().Name(), s.ParamBytes())
		}
		fmt.Fprintf(&b, "%d %s %d-%d %d-%d %s %t %s %s %s | %s\n", s.Op, s.Name, s.MinIn, s.MaxIn, s.MinOut, s.MaxOut, place, s.RowWise, payload,
			dash(states), dash(modes), strings.Join(s.Weights, " "))
	}
	golden(t, "opcodes.txt", b.String())
}

func dash(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and read the diff\n%s", file, got)
	}
}

// Every enumeration has a name for each value and reads it back.
func TestEnumsAreTextBothWays(t *testing.T) {
	check := func(what, s string, back error) {
		if s == "" || strings.HasSuffix(s, "?") || back != nil {
			t.Errorf("%s %q: %v", what, s, back)
		}
	}
	for m := range NumModes {
		got, err := ParseMode(m.String())
		if err == nil && got != m {
			err = fmt.Errorf("reads back as %s", got)
		}
		check("mode", m.String(), err)
	}
	for r := range NumRowKinds {
		check("row kind", r.String(), new(RowKind).UnmarshalText([]byte(r.String())))
	}
	for l := range NumLayouts {
		check("layout", l.String(), new(Layout).UnmarshalText([]byte(l.String())))
	}
	for k := range NumStateKinds {
		check("state kind", k.String(), new(StateKind).UnmarshalText([]byte(k.String())))
	}
	for l := range NumLifecycles {
		check("lifecycle", l.String(), new(Lifecycle).UnmarshalText([]byte(l.String())))
	}
	for a := range NumActions {
		check("action", a.String(), nil)
	}
	for _, bad := range []interface{ UnmarshalText([]byte) error }{new(Mode), new(RowKind), new(Layout), new(StateKind), new(Lifecycle), new(Opcode)} {
		if bad.UnmarshalText([]byte("nonsense")) == nil {
			t.Errorf("%T reads nonsense", bad)
		}
	}
}
