package pass

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"atenia/internal/plan"
	"atenia/tensor"
)

// A meaning is the value of a register as a formula. Gathering rows commutes
// with every row-wise instruction, so a formula omits its gathers and only
// records that there was one.
type meaning struct {
	formula  string
	gathered bool
}

// interpret returns the meaning of the outputs of a plan.
func interpret(t testing.TB, p *plan.ExecutionPlan) (out []meaning) {
	t.Helper()
	m := make(map[plan.RegisterRef]meaning)
	for _, r := range p.Inputs {
		m[r] = meaning{formula: p.Registers[r].Name}
	}
	for i := range p.Instructions {
		in := &p.Instructions[i]
		v, err := p.Params[in.Param].Decode()
		if err != nil {
			t.Fatal(err)
		}
		var norm *plan.NormParams
		weights := bound(p, in)
		if add, ok := v.(*plan.AddParams); ok && add.Norm != plan.AddPlain {
			norm = &plan.NormParams{Eps: add.NormEps, Offset: add.NormOff, Groups: 1, Dim: p.Registers[in.Out[0]].Cols}
			if add.Norm == plan.AddLayerNorm {
				norm.Kind = plan.NormLayer
			}
			v, weights = &plan.AddParams{Scale: add.Scale}, ""
		}
		if in.Op == plan.OpGatherRows {
			x := m[in.In[0]]
			if x.gathered {
				t.Fatalf("instruction %d gathers gathered rows", i)
			}
			m[in.Out[0]] = meaning{x.formula, true}
			continue
		}
		var args []string
		for _, r := range in.In {
			if m[r].gathered != m[in.In[0]].gathered {
				t.Fatalf("instruction %d joins all rows with some", i)
			}
			args = append(args, m[r].formula)
		}
		some := m[in.In[0]].gathered
		if some && !plan.Specs.Get(in.Op).RowWise {
			t.Fatalf("instruction %d, %s, sees only the requested rows", i, in.Op)
		}
		if some != (p.Registers[in.Out[0]].Rows == plan.RowsRequested) {
			t.Fatalf("instruction %d: rows are declared as %s", i, p.Registers[in.Out[0]].Rows)
		}
		m[in.Out[0]] = meaning{formula(in.Op, v, weights, in.State, args), some}
		if norm != nil {
			ws := "weight=" + p.Weights[in.Weights[0]].Name + " "
			if in.Weights[1] != plan.NoWeight {
				ws += "bias=" + p.Weights[in.Weights[1]].Name + " "
			}
			m[in.Out[1]] = meaning{formula(plan.OpNorm, norm, ws, plan.NoState, []string{m[in.Out[0]].formula}), some}
		}
	}
	for _, r := range p.Outputs {
		out = append(out, m[r])
	}
	return out
}

func formula(op plan.Opcode, v plan.Params, weights string, state plan.StateRef, args []string) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %v %s %d (%s)", op, v, weights, state, strings.Join(args, ", ")))
	return fmt.Sprintf("%s:%x", op, h[:8])
}

func bound(p *plan.ExecutionPlan, in *plan.Instruction) (s string) {
	for k, w := range in.Weights {
		if w != plan.NoWeight {
			slot, _ := plan.Specs.Get(in.Op).Slot(k)
			s += slot + "=" + p.Weights[w].Name + " "
		}
	}
	return s
}

// With and without fusion, a plan computes the same thing.
func TestFuseOnOff(t *testing.T) {
	for _, name := range toyNames {
		for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
			if mode == plan.ModeDecode && !toyDecodes(name) {
				continue
			}
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				raw := interpret(t, build(t, name, mode, 5))
				off := interpret(t, &compile(t, name, mode, 5, Options{NoFuse: true}).Plan)
				on := interpret(t, &compile(t, name, mode, 5, Options{}).Plan)
				if !slices.Equal(raw, off) || !slices.Equal(off, on) {
					t.Errorf("as written %v\nunfused %v\nfused %v", raw, off, on)
				}
			})
		}
	}
}

// What each fusion does to each topology, by its own words.
func TestFuseDiagnostics(t *testing.T) {
	for name, want := range map[string]string{
		"llama/prefill":    "last_rows: L4.y gathered before L4.h, 4 instructions earlier; add_norm: L0.h with L0.n2 and 9 more",
		"llama/decode":     "add_norm: L0.h with L0.n2 and 9 more",
		"gemma/prefill":    "last_rows: L4.y gathered before L4.p, 6 instructions earlier; add_norm: L0.h with L0.n2 and 9 more",
		"parallel/prefill": "last_rows: L4.y gathered before L4.f, 3 instructions earlier; add_norm: L0.y with L1.n and 4 more",
		"hybrid/prefill":   "last_rows: L4.y gathered before L4.h, 4 instructions earlier; add_norm: L0.h with L0.n2 and 9 more",
		"mla/prefill":      "last_rows: L4.y gathered before L4.h, 4 instructions earlier; add_norm: L0.h with L0.n2 and 9 more",
		"bert/prefill":     "",
	} {
		model, mode, _ := strings.Cut(name, "/")
		m, err := plan.ParseMode(mode)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range compile(t, model, m, 5, Options{}).Diagnostics {
			if d.Code == "fused" {
				got = append(got, d.Text)
			}
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, s, want)
		}
	}
}

func TestNoFuseLeavesThePlan(t *testing.T) {
	p := build(t, "llama", plan.ModePrefill, 2)
	n := len(p.Instructions)
	c := compile(t, "llama", plan.ModePrefill, 2, Options{NoFuse: true})
	if len(c.Plan.Instructions) != n || len(c.Diagnostics) != 0 {
		t.Errorf("%d instructions, want %d; %v", len(c.Plan.Instructions), n, c.Diagnostics)
	}
}

// sites runs one fusion over an edited plan and returns how often it matched.
func sites(t *testing.T, id string, mode plan.Mode, edit func(p *plan.ExecutionPlan)) int {
	t.Helper()
	p := build(t, "llama", mode, 1)
	edit(p)
	if err := validatePlan(p); err != nil {
		t.Fatal(err)
	}
	want := interpret(t, p)
	i := slices.IndexFunc(fusions, func(f fusion) bool { return f.ID == id })
	n := len(fusions[i].run(p))
	if !slices.Equal(interpret(t, p), want) {
		t.Error("the meaning changed")
	}
	return n
}

func second(p *plan.ExecutionPlan) *plan.Instruction { // the norm after the first add
	for i := range p.Instructions {
		if p.Instructions[i].Op == plan.OpResidualAdd {
			return &p.Instructions[i+1]
		}
	}
	panic("no add")
}

func TestAddNormLegality(t *testing.T) {
	none := func(*plan.ExecutionPlan) {}
	if n := sites(t, "add_norm", plan.ModeDecode, none); n != 2 {
		t.Errorf("%d sites, want 2", n)
	}
	setNorm := func(v plan.NormParams) func(*plan.ExecutionPlan) {
		return func(p *plan.ExecutionPlan) {
			b, err := plan.EncodeParams(plan.OpNorm, &v)
			if err != nil {
				t.Fatal(err)
			}
			p.Params[second(p).Param] = b
		}
	}
	bias := func(p *plan.ExecutionPlan) { second(p).Weights[1] = second(p).Weights[0] }
	layer := setNorm(plan.NormParams{Dim: toyDim, Kind: plan.NormLayer, Eps: 1, Groups: 1})
	for name, edit := range map[string]func(*plan.ExecutionPlan){
		"layer norm without bias": layer,
		"layer norm":              func(p *plan.ExecutionPlan) { layer(p); bias(p) },
	} {
		if n := sites(t, "add_norm", plan.ModeDecode, edit); n != 2 {
			t.Errorf("%s: %d sites, want 2", name, n)
		}
	}
	for name, edit := range map[string]func(*plan.ExecutionPlan){
		"group norm":   setNorm(plan.NormParams{Dim: toyDim, Eps: 1, Groups: 4}),
		"no weight":    func(p *plan.ExecutionPlan) { second(p).Weights[0] = plan.NoWeight },
		"bias":         bias,
		"another type": func(p *plan.ExecutionPlan) { p.Registers[second(p).Out[0]].DType = tensor.F16 },
		"another row":  func(p *plan.ExecutionPlan) { second(p).In[0] = at(p, plan.OpEmbedding).Out[0] },
	} {
		if n := sites(t, "add_norm", plan.ModeDecode, edit); n != 1 {
			t.Errorf("%s: %d sites, want only the other one", name, n)
		}
	}
}

func TestLastRowsLegality(t *testing.T) {
	if n := sites(t, "last_rows", plan.ModePrefill, func(*plan.ExecutionPlan) {}); n != 1 {
		t.Errorf("%d sites, want 1", n)
	}
	last := func(p *plan.ExecutionPlan) int {
		return slices.IndexFunc(p.Instructions, func(in plan.Instruction) bool { return in.Op == plan.OpGatherRows })
	}
	for name, edit := range map[string]func(*plan.ExecutionPlan){
		"hidden state is an output": func(p *plan.ExecutionPlan) { p.Outputs = append(p.Outputs, p.Instructions[last(p)-1].Out[0]) },
		"inner value is an output":  func(p *plan.ExecutionPlan) { p.Outputs = append(p.Outputs, p.Instructions[last(p)-2].Out[0]) },
		"a second reader": func(p *plan.ExecutionPlan) {
			g := last(p)
			norm := *second(p)
			norm.In = []plan.RegisterRef{p.Instructions[g].In[0]}
			norm.Out = []plan.RegisterRef{plan.RegisterRef(len(p.Registers))}
			p.Registers = append(p.Registers, p.Registers[second(p).Out[0]])
			p.Instructions = append(p.Instructions, norm)
			p.Outputs = append(p.Outputs, norm.Out[0])
		},
		"gather of something older": func(p *plan.ExecutionPlan) { p.Instructions[last(p)].In[0] = at(p, plan.OpEmbedding).Out[0] },
		"two gathers": func(p *plan.ExecutionPlan) {
			g := p.Instructions[last(p)]
			g.Out = []plan.RegisterRef{plan.RegisterRef(len(p.Registers))}
			p.Registers = append(p.Registers, p.Registers[p.Instructions[last(p)].Out[0]])
			p.Instructions = append(p.Instructions, g)
			p.Outputs = append(p.Outputs, g.Out[0])
		},
	} {
		if n := sites(t, "last_rows", plan.ModePrefill, edit); n != 0 {
			t.Errorf("%s: hoisted", name)
		}
	}
	if n := sites(t, "last_rows", plan.ModeDecode, func(*plan.ExecutionPlan) {}); n != 0 {
		t.Error("a decode plan has no rows to spare")
	}
}

// Fusing random straight-line plans preserves their meaning and validity.
func TestFuseRandomPlans(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	fused := 0
	for range 1000 {
		p := randomPlan(rng)
		if err := validatePlan(p); err != nil {
			t.Fatal(err)
		}
		want := interpret(t, p)
		c, err := Compile(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(interpret(t, &c.Plan), want) {
			t.Fatalf("the meaning changed:\n%s", c)
		}
		for _, d := range c.Diagnostics {
			if d.Code == "fused" {
				fused++
			}
		}
	}
	if fused < 100 {
		t.Errorf("only %d plans had anything to fuse", fused)
	}
}

// randomPlan builds a valid prefill plan of adds, norms, feed-forward layers,
// attention and, near the end, a gather.
func randomPlan(rng *rand.Rand) *plan.ExecutionPlan {
	p := &plan.ExecutionPlan{Mode: plan.ModePrefill, Weights: []plan.WeightBinding{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}}
	reg := func(rows plan.RowKind, t tensor.DType, cols uint32) plan.RegisterRef {
		p.Registers = append(p.Registers, plan.RegSpec{Name: fmt.Sprint("v", len(p.Registers)), DType: t, Rank: 2, Rows: rows, Cols: cols})
		return plan.RegisterRef(len(p.Registers) - 1)
	}
	all := []plan.RegisterRef{reg(plan.RowsTokens, tensor.F32, 8)}
	index := reg(plan.RowsRequested, tensor.I32, 1)
	p.Inputs = []plan.RegisterRef{all[0], index}
	rows := plan.RowsTokens
	pick := func() plan.RegisterRef { // recent values are likelier, as in a model
		return all[max(0, len(all)-1-rng.IntN(4))]
	}
	emit := func(op plan.Opcode, v plan.Params, in ...plan.RegisterRef) {
		b, err := plan.EncodeParams(op, v)
		if err != nil {
			panic(err)
		}
		p.Params = append(p.Params, b)
		ins := plan.Instruction{Op: op, In: in, Param: uint16(len(p.Params) - 1), State: plan.NoState}
		for i := range plan.Specs.Get(op).Weights {
			w := plan.NoWeight
			if i < 4 && op != plan.OpResidualAdd && (op != plan.OpNorm || i == 0) && (op != plan.OpFFN || i < 3) {
				w = plan.WeightRef(i)
			}
			ins.Weights = append(ins.Weights, w)
		}
		ins.Out = []plan.RegisterRef{reg(rows, tensor.F32, 8)}
		all = append(all, ins.Out[0])
		p.Instructions = append(p.Instructions, ins)
	}
	n := 2 + rng.IntN(16)
	gatherAt := n - rng.IntN(4)
	for i := range n {
		if i == gatherAt {
			rows = plan.RowsRequested
			emit(plan.OpGatherRows, nil, pick(), index)
			all = all[len(all)-1:]
		}
		switch k := rng.IntN(10); {
		case k < 4:
			emit(plan.OpResidualAdd, &plan.AddParams{Scale: 1}, pick(), pick())
		case k < 7:
			emit(plan.OpNorm, &plan.NormParams{Dim: 8, Eps: 1, Groups: 1}, all[len(all)-1])
		case k < 9 || rows == plan.RowsRequested:
			emit(plan.OpFFN, &plan.FFNParams{Dim: 8, Hidden: 8, Gated: 1}, pick())
		default:
			emit(plan.OpAttention, &plan.AttentionParams{Heads: 1, KVHeads: 1, HeadDim: 8}, pick())
		}
	}
	p.Outputs = []plan.RegisterRef{all[len(all)-1]}
	return p
}
