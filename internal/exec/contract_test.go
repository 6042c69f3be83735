package exec_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/tensor"
)

// fields checks that a struct has fields of the given types.
func fields(t *testing.T, typ reflect.Type, want map[string]reflect.Type) {
	t.Helper()
	for name, w := range want {
		if f, ok := typ.FieldByName(name); !ok || f.Type != w {
			t.Errorf("%v.%s: have %v, want %v", typ, name, f.Type, w)
		}
	}
}

// Every opcode is bound through one signature: an instruction with its
// description, payload and registers goes in, what runs comes out, and both
// report errors.
func TestAdapterSignature(t *testing.T) {
	for _, c := range [][2]reflect.Type{
		{reflect.TypeFor[plan.Adapter[*exec.Bind, exec.Kernel]](), reflect.TypeFor[func(*exec.Bind, plan.Params) (exec.Kernel, error)]()},
		{reflect.TypeFor[exec.Kernel](), reflect.TypeFor[func(*exec.Step) error]()},
	} {
		if !c[1].ConvertibleTo(c[0]) {
			t.Errorf("%v is no %v", c[0], c[1])
		}
	}
	bind := reflect.TypeFor[exec.Bind]()
	fields(t, bind, map[string]reflect.Type{
		"Ins": reflect.TypeFor[*plan.Instruction](), "Spec": reflect.TypeFor[*plan.OpSpec](),
	})
	in, _ := bind.FieldByName("In")
	fields(t, bind, map[string]reflect.Type{"Out": in.Type})
	constructor := reflect.TypeOf(plan.NewAdapterTable[*exec.Bind, exec.Kernel])
	if table := constructor.Out(0); table.Len() != 256 || table.Elem() != reflect.TypeFor[plan.Adapter[*exec.Bind, exec.Kernel]]() {
		t.Errorf("the adapter table is %v", table)
	}
	opcodes := 0
	for _, s := range plan.Specs {
		if s != nil {
			opcodes++
		}
	}
	if constructor.NumIn() != opcodes {
		t.Errorf("the constructor of the table takes %d adapters for %d opcodes", constructor.NumIn(), opcodes)
	}
}

// A step contains the batch, the length and pages of each sequence, and which
// sequences take part. No other state is kept for it.
func TestContextFields(t *testing.T) {
	t.Run("fields", func(t *testing.T) {
		fields(t, reflect.TypeFor[exec.Step](), map[string]reflect.Type{
			"Runs": reflect.TypeFor[[]exec.Run](), "Tokens": reflect.TypeFor[[]int32](), "Requested": reflect.TypeFor[[]int32](),
			"Counters": reflect.TypeFor[*exec.Counters](),
		})
		fields(t, reflect.TypeFor[exec.Run](), map[string]reflect.Type{
			"First": reflect.TypeFor[int](), "Len": reflect.TypeFor[int](), "Pos": reflect.TypeFor[int](), "Span": reflect.TypeFor[int](),
			"Pages": reflect.TypeFor[[][][]byte](),
		})
		if new(exec.Step).Counters != nil {
			t.Error("a new step counts")
		}
	})
	// Sequences end and others continue, in another order: slots do not affect
	// results.
	t.Run("holes", func(t *testing.T) {
		m := openCase(t, "parity/gemma3", compile.Options{})
		l := m.lane(t, small)
		var seqs []*sequence
		var texts [][]int32
		for i := range 4 {
			text := randomTokens(uint64(40+i), 12+i, m.Config.Vocab)
			q := l.sequence(64)
			l.run(&exec.Step{}, feed{q, text[:9]})
			seqs, texts = append(seqs, q), append(texts, text)
		}
		for _, s := range seqs[1].seqs {
			s.Release()
		}
		rows := l.run(&exec.Step{}, feed{seqs[3], texts[3][9:10]}, feed{seqs[0], texts[0][9:10]}, feed{seqs[2], texts[2][9:10]})
		for k, i := range []int{3, 0, 2} {
			alone := m.lane(t, small).all(texts[i][:10], 10)
			sameRows(t, "holes", rows[k:k+1], alone[9:10])
		}
	})
}

// TestContractShape is the executor's part of the test of this name in package plan: what a
// handle, a block of state, a capability and the context of a step are.
func TestContractShape(t *testing.T) {
	in, _ := reflect.TypeFor[exec.Bind]().FieldByName("In")
	handle := in.Type.Elem() // of a tensor: where the values are, and their symbolic shape
	if handle.Kind() != reflect.Pointer {
		t.Fatalf("a handle is %v", handle)
	}
	fields(t, handle.Elem(), map[string]reflect.Type{"buf": reflect.TypeFor[[]float32](), "rows": reflect.TypeFor[plan.RowKind](), "cols": reflect.TypeFor[uint32]()})
	fields(t, reflect.TypeFor[exec.Bind](), map[string]reflect.Type{
		"InViews": reflect.TypeFor[[]plan.TensorViewDesc](), "OutViews": reflect.TypeFor[[]plan.TensorViewDesc](),
	})
	fields(t, reflect.TypeFor[exec.Run](), map[string]reflect.Type{"Pages": reflect.TypeFor[[][][]byte]()})
	fields(t, reflect.TypeFor[pass.AdapterCapability](), map[string]reflect.Type{
		"Batch": reflect.TypeFor[bool](), "Graph": reflect.TypeFor[bool](), "MaxBatch": reflect.TypeFor[int](),
		"Accept": reflect.TypeFor[func(*plan.ExecutionPlan, int) error](),
	})
	fields(t, reflect.TypeFor[exec.Step](), map[string]reflect.Type{"Stop": reflect.TypeFor[*atomic.Bool](), "Threads": reflect.TypeFor[int]()})
}

// loadPlan reads one of the plans that package pass keeps as text.
func loadPlan(t *testing.T, name string) *plan.CompiledPlan {
	t.Helper()
	f, err := os.Open(filepath.Join(golden.Root(t), "internal", "plan", "testdata", "plans", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := pass.LoadText(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A plan with an opcode that the CPU does not support is rejected by name
// before any weight is read: there are none here.
func TestUnsupportedBeforeWeights(t *testing.T) {
	const lacks = plan.Opcode(63) // a number that no opcode has: the CPU runs all that there are
	if s := plan.Specs.Get(lacks); s != nil {
		t.Fatalf("%s has the number now: take another", s.Name)
	}
	const name = "hybrid.decode.plan"
	last := len(loadPlan(t, name).Plan.Instructions) - 1
	for _, at := range []int{0, last / 2, last} {
		c := loadPlan(t, name)
		c.Plan.Instructions[at].Op = lacks
		_, err := exec.New(&plan.ModelPlans{Prefill: c, Decode: c}, nil, small)
		e, ok := errors.AsType[*plan.OpcodeError](err)
		if !ok || e.Op != lacks || e.Backend != exec.CPU.Name() || e.Index != at || !errors.Is(err, plan.ErrUnsupportedOpcode) {
			t.Errorf("instruction %d: %v", at, err)
		}
	}
	// Without the spoiled instruction it is the weights that are missing.
	c := loadPlan(t, name)
	if _, err := exec.New(&plan.ModelPlans{Prefill: c, Decode: c}, nil, small); !errors.Is(err, plan.ErrWeightBinding) {
		t.Errorf("all opcodes known: %v", err)
	}
}

// A register of a type that the CPU does not hold is rejected when the plan is routed,
// before any weight is read; a value of another rank or layout than its opcode takes when
// it is bound.
func TestViewContract(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	for _, c := range []struct {
		name string
		kind error
		edit func(*plan.RegSpec)
	}{
		{"halves", plan.ErrUnsupportedOpcode, func(s *plan.RegSpec) { s.DType = tensor.F16 }},
		{"integers", plan.ErrInvalidPlan, func(s *plan.RegSpec) { s.DType = tensor.I32 }},
		{"rank 3", plan.ErrUnsupportedTensorRank, func(s *plan.RegSpec) { s.Rank = 3 }},
		{"rank 5", plan.ErrUnsupportedTensorRank, func(s *plan.RegSpec) { s.Rank = 5 }},
		{"layout", plan.ErrInvalidPlan, func(s *plan.RegSpec) { s.Layout = plan.NumLayouts }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for r := range m.Plans.Prefill.Plan.Registers {
				pre := *m.Plans.Prefill
				pre.Plan.Registers = slices.Clone(pre.Plan.Registers)
				if slices.Contains(pre.Plan.Inputs, plan.RegisterRef(r)) {
					continue
				}
				c.edit(&pre.Plan.Registers[r])
				if _, err := exec.New(&plan.ModelPlans{Prefill: &pre, Decode: m.Plans.Decode}, m.weights, small); !errors.Is(err, c.kind) {
					t.Fatalf("r%d: %v", r, err)
				}
			}
		})
	}
}

// bound are models that together fill every weight slot of the opcodes the CPU
// runs, except those that only other families have.
var bound = []string{"parity/llama3", "parity/gemma3", "parity/qwen2", "parity/llama_tied_bias", "parity/phi3_longrope_long", "parity/mamba", "parity/mamba2_groups"}

// Operands that do not fit an instruction are rejected when the plan is bound,
// with an error that names the weight: absent, of another shape, of another
// type. No step finds such a fault.
func TestAdapterContract(t *testing.T) {
	spoil := map[string]func(tensor.View) tensor.View{
		"longer": func(v tensor.View) tensor.View {
			s := slices.Clone(v.Shape)
			s[0]++
			n, _ := s.Bytes(v.DType)
			return tensor.View{DType: v.DType, Shape: s, Data: make([]byte, n)}
		},
		"of integers": func(v tensor.View) tensor.View {
			n, _ := v.Shape.Bytes(tensor.I32)
			return tensor.View{DType: tensor.I32, Shape: v.Shape, Data: make([]byte, n)}
		},
	}
	seen := map[string]bool{}
	for _, name := range bound {
		t.Run(name, func(t *testing.T) {
			m := openCase(t, name, compile.Options{})
			p := &m.Plans.Prefill.Plan
			for w, b := range p.Weights {
				i := slices.IndexFunc(p.Instructions, func(in plan.Instruction) bool { return slices.Contains(in.Weights, plan.WeightRef(w)) })
				key := p.Instructions[i].Op.String() + "." + b.Slot
				if seen[key] {
					continue // layers are alike
				}
				seen[key] = true
				wrong := map[string]exec.Weights{"absent": maps.Clone(m.weights)}
				delete(wrong["absent"], b.Name)
				for how, f := range spoil {
					wrong[how] = maps.Clone(m.weights)
					wrong[how][b.Name] = f(m.weights[b.Name])
				}
				for how, ws := range wrong {
					_, err := exec.New(&m.Plans, ws, small)
					if e, ok := errors.AsType[*plan.WeightError](err); !ok || !errors.Is(err, plan.ErrWeightBinding) || e.Name != b.Name {
						t.Errorf("%s, %s %s: %v", key, b.Name, how, err)
					}
				}
			}
		})
	}
	for _, slot := range []string{"embedding.table", "norm.weight", "attention.q", "attention.o", "attention.q_norm", "attention.q_bias", "attention.inv_freq", "attention.inv_freq_long", "ffn.gate", "ffn.up", "ffn.down", "residual_add.norm", "lm_head.weight"} {
		if !seen[slot] {
			t.Errorf("no model fills %s", slot)
		}
	}
	t.Run("states", stateContract)
}

func stateContract(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	for name, edit := range map[string]func(*plan.StateDescriptor){
		"sections missing": func(d *plan.StateDescriptor) { d.Sections = d.Sections[:1] },
		"another section":  func(d *plan.StateDescriptor) { d.Sections[1].Name = "ssm" },
		"wider elements":   func(d *plan.StateDescriptor) { d.Sections[0].DType = tensor.F64 },
		"short section":    func(d *plan.StateDescriptor) { d.Sections[0].Bytes -= 64 },
	} {
		t.Run(name, func(t *testing.T) {
			pre, dec := *m.Plans.Prefill, *m.Plans.Decode
			for _, c := range []*plan.CompiledPlan{&pre, &dec} {
				c.Plan.States = slices.Clone(c.Plan.States)
				c.Plan.States[0].Sections = slices.Clone(c.Plan.States[0].Sections)
				edit(&c.Plan.States[0])
			}
			if _, err := exec.New(&plan.ModelPlans{Prefill: &pre, Decode: &dec}, m.weights, small); !errors.Is(err, plan.ErrInvalidPlan) {
				t.Error(err)
			}
		})
	}
}

// The models of the tests that compare a batch with singles run every opcode
// that the CPU supports: no capability is untested, and each includes batches.
func TestCapabilityTruth(t *testing.T) {
	run := map[plan.Opcode]bool{}
	// Encoders are compared by encoderParity, a model that hears by TestSoundBatch, with its encoder.
	for _, name := range append(slices.Clone(invariant), "parity/gemma_embedding", soundCase) {
		m := openCase(t, name, compile.Options{})
		modes := m.Plans.TextModes()
		if name == soundCase {
			modes = append(slices.Clone(modes), plan.ModeVisionEncode)
		}
		for _, mode := range modes {
			for _, in := range m.Plans.ByMode(mode).Plan.Instructions {
				run[in.Op] = true
			}
		}
	}
	claims := 0
	for _, s := range plan.Specs {
		if s == nil {
			continue
		}
		c, ok := exec.CPU.Capability(s.Op)
		if !ok {
			continue
		}
		claims++
		if imageOps[s.Op] { // imageParity compares batches with singles
			continue
		}
		if !run[s.Op] || !c.Batch || c.MaxBatch != 0 {
			t.Errorf("%s: claimed as %+v, tested %t", s.Name, c, run[s.Op])
		}
	}
	if claims == 0 {
		t.Error("the CPU claims nothing")
	}
}

// A tracer sees every instruction once, in order, with all rows of its outputs.
func TestTrace(t *testing.T) {
	m := openCase(t, "parity/gemma3", compile.Options{})
	p := &m.Plans.Prefill.Plan
	var got []string
	next := 0
	s := &exec.Step{Trace: func(_ int, ins *plan.Instruction, j int, values []float32, cols int) {
		r := p.Registers[ins.Out[j]]
		if ins.Op != p.Instructions[next].Op || cols != int(r.Cols) || len(values) != 6*cols {
			t.Errorf("instruction %d: %s traced with %d values of %d columns", next, ins.Op, len(values), cols)
		}
		got = append(got, r.Name)
		if j == len(ins.Out)-1 {
			next++
		}
	}}
	l := m.lane(t, small)
	l.run(s, feed{l.sequence(8), []int32{1, 2, 3, 4, 5, 6}})
	if next != len(p.Instructions) || strings.Join(got[len(got)-1:], "") != p.Registers[p.Outputs[0]].Name {
		t.Errorf("%d of %d instructions traced", next, len(p.Instructions))
	}
}
