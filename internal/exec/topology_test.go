package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/tensor"
)

// Sizes of the models of this file, which no family has.
const (
	topoDim, topoHidden, topoVocab = 64, 96, 80
	topoHeads, topoKV, topoHead    = 4, 2, 16
	topoLayers                     = 3
)

// attention, feed-forward layer and norm of a layer under their own weights.
func topoAttention(out, in, suffix string) plan.LayerOp {
	w := map[string]string{"inv_freq": "rope"}
	for _, s := range []string{"q", "k", "v", "o"} {
		w[s] = s + suffix
	}
	return plan.LayerOp{Op: plan.OpAttention, Out: out, In: []string{in}, W: w, Tag: suffix}
}

func topoFFN(out, in, suffix string) plan.LayerOp {
	return plan.LayerOp{Op: plan.OpFFN, Out: out, In: []string{in}, W: map[string]string{"gate": "g" + suffix, "up": "u" + suffix, "down": "d" + suffix}}
}

func topoNorm(out, in, suffix string) plan.LayerOp {
	return plan.LayerOp{Op: plan.OpNorm, Out: out, In: []string{in}, W: map[string]string{"weight": "n" + suffix}}
}

func topoAdd(out, a, b string) plan.LayerOp {
	return plan.LayerOp{Op: plan.OpResidualAdd, Out: out, In: []string{a, b}}
}

// topologies are blocks of the primitives in orders that no built family uses.
var topologies = map[string]plan.Program{
	"parallel attention and ffn": {
		topoNorm("n", "x", "1"), topoAttention("a", "n", "1"), topoFFN("f", "n", "1"), topoAdd("h", "x", "a"), topoAdd("y", "h", "f"),
	},
	"double attention": {
		topoNorm("n", "x", "1"), topoAttention("a", "n", "1"), topoAdd("h", "x", "a"),
		topoNorm("m", "h", "2"), topoAttention("b", "m", "2"), topoAdd("i", "h", "b"),
		topoNorm("o", "i", "3"), topoFFN("f", "o", "1"), topoAdd("y", "i", "f"),
	},
	"norm after": {
		topoAttention("a", "x", "1"), topoAdd("s", "x", "a"), topoNorm("h", "s", "1"),
		topoFFN("f", "h", "1"), topoAdd("r", "h", "f"), topoNorm("y", "r", "2"),
	},
	"three-way add": {
		topoNorm("n", "x", "1"), topoAttention("a", "n", "1"), topoFFN("f", "n", "1"), topoFFN("g", "a", "2"),
		topoAdd("h", "x", "a"), topoAdd("i", "h", "f"), topoAdd("y", "i", "g"),
	},
}

// topo resolves the programs above.
type topo struct{}

func (topo) Params(op plan.Opcode, tag string, layer int) (plan.Params, error) {
	switch op {
	case plan.OpEmbedding:
		return &plan.EmbedParams{Dim: topoDim, Vocab: topoVocab, Scale: 1}, nil
	case plan.OpNorm:
		return &plan.NormParams{Dim: topoDim, Eps: 1e-5, Groups: 1}, nil
	case plan.OpAttention:
		ordinal := 2 * layer
		if tag == "2" {
			ordinal++
		}
		return &plan.AttentionParams{Layer: uint32(ordinal), Heads: topoHeads, KVHeads: topoKV, HeadDim: topoHead, RopeDim: topoHead, RopeStyle: plan.RopeHalf, RopeScale: 1, Causal: 1, Scale: 0.25}, nil
	case plan.OpFFN:
		return &plan.FFNParams{Dim: topoDim, Hidden: topoHidden, Gated: 1}, nil
	case plan.OpResidualAdd:
		return &plan.AddParams{Scale: 1}, nil
	case plan.OpLMHead:
		return &plan.HeadParams{Vocab: topoVocab, Dim: topoDim, Scale: 1}, nil
	}
	return nil, nil
}

func (topo) Cols(op plan.Opcode, _ string, _ int) (uint32, error) {
	if op == plan.OpLMHead {
		return topoVocab, nil
	}
	return topoDim, nil
}

func (topo) State(op plan.Opcode, _ string, _ int) (plan.StateKey, bool) {
	return plan.StateKey{Kind: plan.StateKV}, op == plan.OpAttention
}

func (topo) Weight(id string, layer int) (string, bool) {
	if id == "rope" || layer < 0 {
		return id, true
	}
	return fmt.Sprintf("%d.%s", layer, id), true
}

// topoModel compiles a block into the plans of a model with random weights.
func topoModel(t *testing.T, block plan.Program, opt pass.Options) *model {
	t.Helper()
	m := &model{&compile.Model{}, exec.Weights{}, nil}
	for mode, dst := range map[plan.Mode]**plan.CompiledPlan{plan.ModePrefill: &m.Plans.Prefill, plan.ModeDecode: &m.Plans.Decode} {
		rows, last := plan.RowsTokens, plan.RowsRequested
		if mode == plan.ModeDecode {
			rows, last = plan.RowsSlots, plan.RowsSlots
		}
		b := plan.NewBuilder(mode, topo{})
		x := b.Input("tokens", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: rows, Cols: 1})
		const half = 16 * topoKV * topoHead * 4
		b.State(plan.StateDescriptor{
			Kind: plan.StateKV, AlignBytes: 64, Layers: 2 * topoLayers, LayerStride: 2 * half, SizeBytes: 2 * topoLayers * 2 * half, PageTokens: 16,
			Sections: []plan.Section{{Name: "k", Bytes: half, DType: tensor.F32}, {Name: "v", Offset: half, Bytes: half, DType: tensor.F32}},
		})
		end := plan.Program{topoNorm("n", "x", "end"), {Op: plan.OpLMHead, Out: "logits", In: []string{"n"}, W: map[string]string{"weight": "head"}}}
		x = b.Lower(plan.Program{{Op: plan.OpEmbedding, Out: "e", In: []string{"x"}, W: map[string]string{"table": "table"}}}, -1, x, rows)
		for l := range topoLayers {
			x = b.Lower(block, l, x, rows)
		}
		if mode == plan.ModePrefill {
			b.Input("rows", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: plan.RowsRequested, Cols: 1})
			x = b.Lower(plan.Program{{Op: plan.OpGatherRows, Out: "g", In: []string{"x", "rows"}}}, -1, x, last)
		}
		p, err := b.Build(b.Lower(end, -1, x, last))
		if err != nil {
			t.Fatal(err)
		}
		if *dst, err = pass.Compile(p, opt); err != nil {
			t.Fatal(err)
		}
		for _, w := range (*dst).Plan.Weights {
			m.weights[w.Name] = topoWeight(w)
		}
	}
	return m
}

// topoWeight returns a random weight, the same for the same name.
func topoWeight(w plan.WeightBinding) tensor.View {
	const q, kv = topoHeads * topoHead, topoKV * topoHead
	shape := map[string]tensor.Shape{
		"table": {topoVocab, topoDim}, "q": {q, topoDim}, "k": {kv, topoDim}, "v": {kv, topoDim}, "o": {topoDim, q}, "inv_freq": {topoHead / 2},
		"gate": {topoHidden, topoDim}, "up": {topoHidden, topoDim}, "down": {topoDim, topoHidden},
	}[w.Slot]
	if shape == nil {
		shape = tensor.Shape{topoDim}
	}
	if w.Name == "head" {
		shape = tensor.Shape{topoVocab, topoDim}
	}
	seed := uint64(0)
	for _, c := range w.Name {
		seed = seed*131 + uint64(c)
	}
	rng := rand.New(rand.NewPCG(seed, 17))
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64()) / 8
		if len(shape) == 1 {
			v[i] = 1 + v[i]
		}
	}
	return tensor.FromF32(shape, v)
}

// A topology made of existing primitives runs without a change below the
// plan: from a prompt or token by token, alone or in a batch, fused or not, to
// the same bytes.
func TestPermutedTopologies(t *testing.T) {
	results := map[string][]float32{}
	for name, block := range topologies {
		t.Run(name, func(t *testing.T) {
			m := topoModel(t, block, pass.Options{})
			tokens := randomTokens(11, 37, topoVocab)
			want := m.lane(t, small).all(tokens, len(tokens))
			for _, row := range want {
				for _, v := range row {
					if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
						t.Fatal("a logit is no number")
					}
				}
			}
			results[name] = want[len(want)-1]
			sameRows(t, "token by token", m.lane(t, small).all(tokens, 1), want)
			sameRows(t, "not fused", topoModel(t, block, pass.Options{NoFuse: true}).lane(t, small).all(tokens, 20, 1), want)
			l := m.lane(t, small)
			rows := l.run(&exec.Step{}, feed{l.sequence(64), randomTokens(12, 20, topoVocab)}, feed{l.sequence(64), tokens})
			sameRows(t, "batch", rows[20:], want)
			mapped := pass.Map(m.Plans.Prefill, plan.Sizing{Tokens: 64, Requested: 64}, nil)
			if len(mapped.Buffers) >= len(m.Plans.Prefill.Plan.Registers) {
				t.Errorf("%d buffers for %d registers", len(mapped.Buffers), len(m.Plans.Prefill.Plan.Registers))
			}
		})
	}
	for a, x := range results {
		for b, y := range results {
			if a < b && fmt.Sprint(x) == fmt.Sprint(y) {
				t.Errorf("%s and %s give the same", a, b)
			}
		}
	}
}
