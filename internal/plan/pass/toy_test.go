package pass

import (
	"fmt"

	"atenia/internal/plan"
	"atenia/tensor"
)

// The toy models: small whole-model plans, one per topology, none of them a
// real family.
//
//	llama      pre-norm attention and feed-forward layers
//	gemma      norms on both sides of each branch, two KV groups
//	bert       post-norm, not causal, no state, pooled output
//	parallel   attention and feed-forward read the same norm
//	hybrid     mamba2, gated_delta and shortconv layers among attention, experts
//	mla        latent attention, experts
var toyNames = []string{"llama", "gemma", "bert", "parallel", "hybrid", "mla"}

// toyDecodes reports whether the named model has a decode plan.
func toyDecodes(name string) bool { return name != "bert" }

// Widths of every toy model.
const (
	toyDim    = 64
	toyHidden = 128
	toyVocab  = 320
	toyHeads  = 4
	toyKV     = 2
	toyPage   = 16
)

// toyPlan builds the plan of a model, before any pass.
func toyPlan(name string, mode plan.Mode, layers int) (*plan.ExecutionPlan, error) {
	m := toyModel{name: name, layers: layers}
	rows := plan.RowsTokens
	if mode == plan.ModeDecode {
		rows = plan.RowsSlots
	}
	b := plan.NewBuilder(mode, m)
	for _, s := range m.states() {
		b.State(s)
	}
	x := b.Input("tokens", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: rows, Cols: 1})
	x = b.Lower(embed, -1, x, rows)
	for l := range layers {
		x = b.Lower(m.block(l), l, x, rows)
	}
	switch {
	case name == "bert":
		x = b.Lower(pooled, -1, x, plan.RowsSlots)
	case mode == plan.ModePrefill:
		b.Input("rows", plan.RegSpec{DType: tensor.I32, Rank: 1, Rows: plan.RowsRequested, Cols: 1})
		x = b.Lower(gathered, -1, x, plan.RowsRequested)
	default:
		x = b.Lower(head, -1, x, rows)
	}
	return b.Build(x)
}

type w = map[string]string

var (
	embed  = plan.Program{{Op: plan.OpEmbedding, Out: "e", In: []string{"x"}, W: w{"table": "token_embd"}}}
	pooled = plan.Program{{Op: plan.OpPool, Out: "v", In: []string{"x"}}}
	head   = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "output_norm"}},
		{Op: plan.OpLMHead, Out: "logits", In: []string{"n"}, W: w{"weight": "output"}},
	}
	gathered = append(plan.Program{{Op: plan.OpGatherRows, Out: "g", In: []string{"x", "rows"}}},
		plan.Program{
			{Op: plan.OpNorm, Out: "n", In: []string{"g"}, W: w{"weight": "output_norm"}},
			{Op: plan.OpLMHead, Out: "logits", In: []string{"n"}, W: w{"weight": "output"}},
		}...)

	attnW  = w{"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_o", "inv_freq": "rope"}
	denseW = w{"gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
	moeW   = w{"router": "router", "gate": "exp_gate", "up": "exp_up", "down": "exp_down"}
)

// mixer and ffn are the two halves of a pre-norm block.
func mixer(op plan.Opcode, ws w) plan.Program {
	return plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm"}},
		{Op: op, Out: "a", In: []string{"n"}, W: ws},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}},
	}
}

func ffn(op plan.Opcode, ws w) plan.Program {
	return plan.Program{
		{Op: plan.OpNorm, Out: "n2", In: []string{"h"}, W: w{"weight": "ffn_norm"}},
		{Op: op, Out: "f", In: []string{"n2"}, W: ws},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "f"}},
	}
}

func join(a, b plan.Program) plan.Program { return append(append(plan.Program{}, a...), b...) }

var (
	sandwich = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm"}},
		{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: attnW},
		{Op: plan.OpNorm, Out: "p", In: []string{"a"}, W: w{"weight": "post_attn_norm"}},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "p"}},
		{Op: plan.OpNorm, Out: "n2", In: []string{"h"}, W: w{"weight": "ffn_norm"}},
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: denseW},
		{Op: plan.OpNorm, Out: "p2", In: []string{"f"}, W: w{"weight": "post_ffn_norm"}},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "p2"}},
	}
	postNorm = plan.Program{
		{Op: plan.OpAttention, Out: "a", In: []string{"x"}, W: attnW, Tag: "both"},
		{Op: plan.OpResidualAdd, Out: "s", In: []string{"x", "a"}},
		{Op: plan.OpNorm, Out: "h", In: []string{"s"}, W: w{"weight": "attn_norm", "bias": "attn_norm_b"}, Tag: "layer"},
		{Op: plan.OpFFN, Out: "f", In: []string{"h"}, W: w{"up": "ffn_up", "down": "ffn_down"}, Tag: "plain"},
		{Op: plan.OpResidualAdd, Out: "t", In: []string{"h", "f"}},
		{Op: plan.OpNorm, Out: "y", In: []string{"t"}, W: w{"weight": "ffn_norm", "bias": "ffn_norm_b"}, Tag: "layer"},
	}
	parallel = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm"}},
		{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: attnW},
		{Op: plan.OpFFN, Out: "f", In: []string{"n"}, W: denseW},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"h", "f"}},
	}
	mambaW = w{"in": "ssm_in", "conv": "ssm_conv", "conv_bias": "ssm_conv_b", "a": "ssm_a", "d": "ssm_d", "dt_bias": "ssm_dt_b", "norm": "ssm_norm", "out": "ssm_out"}
	deltaW = w{"qkv": "gdn_qkv", "z": "gdn_z", "b": "gdn_b", "a": "gdn_a", "conv": "gdn_conv", "a_log": "gdn_a_log", "dt_bias": "gdn_dt_b", "norm": "gdn_norm", "out": "gdn_out"}
	convW  = w{"in": "sc_in", "conv": "sc_conv", "out": "sc_out"}
	mlaW   = w{"q_b": "attn_q_b", "kv_a": "attn_kv_a", "kv_a_norm": "attn_kv_a_norm", "k_b": "attn_k_b", "v_b": "attn_v_b", "o": "attn_o", "inv_freq": "rope"}
)

type toyModel struct {
	name   string
	layers int
}

func (m toyModel) block(l int) plan.Program {
	switch m.name {
	case "gemma":
		return sandwich
	case "bert":
		return postNorm
	case "parallel":
		return parallel
	case "mla":
		return join(mixer(plan.OpMLA, mlaW), ffn(plan.OpMoE, moeW))
	case "hybrid":
		return join(
			[]plan.Program{mixer(plan.OpMamba2, mambaW), mixer(plan.OpGatedDelta, deltaW), mixer(plan.OpShortConv, convW), mixer(plan.OpAttention, attnW)}[l%4],
			[]plan.Program{ffn(plan.OpMoE, moeW), ffn(plan.OpFFN, denseW)}[l%2])
	}
	return join(mixer(plan.OpAttention, attnW), ffn(plan.OpFFN, denseW))
}

// group is the state an op of a layer uses, and its ordinal inside it.
func (m toyModel) group(op plan.Opcode, layer int) (plan.StateKey, uint32, bool) {
	switch {
	case m.name == "bert":
		return plan.StateKey{}, 0, false
	case m.name == "gemma" && op == plan.OpAttention:
		return plan.StateKey{Kind: plan.StateKV, Group: uint8(layer % 2)}, uint32(layer / 2), true
	case m.name == "hybrid" && op == plan.OpAttention:
		return plan.StateKey{Kind: plan.StateKV}, uint32(layer / 4), true
	}
	switch op {
	case plan.OpAttention, plan.OpMLA:
		return plan.StateKey{Kind: plan.StateKV}, uint32(layer), true
	case plan.OpMamba2:
		return plan.StateKey{Kind: plan.StateRecurrent}, uint32(layer / 4), true
	case plan.OpGatedDelta:
		return plan.StateKey{Kind: plan.StateRecurrent, Group: 1}, uint32(layer / 4), true
	case plan.OpShortConv:
		return plan.StateKey{Kind: plan.StateConv}, uint32(layer / 4), true
	}
	return plan.StateKey{}, 0, false
}

func (m toyModel) states() []plan.StateDescriptor {
	kv := func(group uint8, layers int, window uint32) plan.StateDescriptor {
		const half = toyPage * toyKV * toyDim / toyHeads * 2
		return plan.StateDescriptor{
			Kind: plan.StateKV, Group: group, AlignBytes: 64, Layers: uint16(layers), LayerStride: 2 * half,
			SizeBytes: uint64(layers) * 2 * half, PageTokens: toyPage, Window: window,
			Sections: []plan.Section{{Name: "k", Bytes: half, DType: tensor.F16}, {Name: "v", Offset: half, Bytes: half, DType: tensor.F16}},
		}
	}
	fixed := func(kind plan.StateKind, group uint8, layers int, secs ...plan.Section) plan.StateDescriptor {
		d := plan.StateDescriptor{Kind: kind, Group: group, AlignBytes: 64, ZeroInit: true, Layers: uint16(layers), Sections: secs}
		for i := range secs {
			secs[i].Offset = d.LayerStride
			d.LayerStride += secs[i].Bytes
		}
		d.SizeBytes = d.LayerStride * uint64(layers)
		return d
	}
	switch m.name {
	case "bert":
		return nil
	case "gemma":
		return []plan.StateDescriptor{kv(0, m.layers/2+1, 0), kv(1, m.layers/2+1, 32)}
	case "hybrid":
		n := m.layers/4 + 1
		return []plan.StateDescriptor{
			kv(0, n, 0),
			fixed(plan.StateRecurrent, 0, n, plan.Section{Name: "conv", Bytes: 3 * 192 * 4, DType: tensor.F32}, plan.Section{Name: "ssm", Bytes: 4 * 32 * 16 * 4, DType: tensor.F32}),
			fixed(plan.StateRecurrent, 1, n, plan.Section{Name: "conv", Bytes: 3 * 256 * 4, DType: tensor.F32}, plan.Section{Name: "s", Bytes: 4 * 16 * 16 * 4, DType: tensor.F32}),
			fixed(plan.StateConv, 0, n, plan.Section{Name: "conv", Bytes: 3 * toyDim * 4, DType: tensor.F32}),
		}
	}
	return []plan.StateDescriptor{kv(0, m.layers, 0)}
}

func (m toyModel) Params(op plan.Opcode, tag string, layer int) (plan.Params, error) {
	_, ordinal, _ := m.group(op, layer)
	switch op {
	case plan.OpEmbedding:
		return &plan.EmbedParams{Dim: toyDim, Vocab: toyVocab, Scale: 1}, nil
	case plan.OpNorm:
		kind := plan.NormRMS
		if tag == "layer" {
			kind = plan.NormLayer
		}
		return &plan.NormParams{Dim: toyDim, Kind: kind, Eps: 1e-5, Groups: 1}, nil
	case plan.OpAttention:
		p := plan.AttentionParams{Layer: ordinal, Heads: toyHeads, KVHeads: toyKV, HeadDim: toyDim / toyHeads, RopeDim: toyDim / toyHeads, RopeStyle: plan.RopeHalf, RopeScale: 1, Causal: 1, Scale: 0.25}
		if tag == "both" {
			p.Causal = 0
		}
		if m.name == "gemma" && layer%2 == 1 {
			p.Window = 32
		}
		return &p, nil
	case plan.OpFFN:
		p := plan.FFNParams{Dim: toyDim, Hidden: toyHidden, Gated: 1}
		if tag == "plain" {
			p.Gated, p.Act = 0, plan.ActGELUErf
		}
		return &p, nil
	case plan.OpMoE:
		return &plan.MoEParams{Dim: toyDim, Hidden: toyHidden, Experts: 4, TopK: 2, Renorm: 1, Scale: 1}, nil
	case plan.OpMamba2:
		return &plan.SSMParams{Layer: ordinal, Inner: 128, State: 16, Heads: 4, HeadDim: 32, Groups: 1, Conv: 4, NormGroups: 1, NormEps: 1e-5, Chunk: 8}, nil
	case plan.OpGatedDelta:
		return &plan.GatedDeltaParams{Layer: ordinal, KHeads: 2, VHeads: 4, KDim: 16, VDim: 16, Conv: 4, Chunk: 8, NormEps: 1e-6, L2Eps: 1e-6}, nil
	case plan.OpShortConv:
		return &plan.ConvParams{Layer: ordinal, Dim: toyDim, Kernel: 4}, nil
	case plan.OpMLA:
		return &plan.MLAParams{Layer: ordinal, Heads: toyHeads, KVRank: 16, Nope: 8, Rope: 8, V: 16, RopeStyle: plan.RopeInterleaved, Scale: 0.25, RopeScale: 1, NormEps: 1e-6}, nil
	case plan.OpResidualAdd:
		return &plan.AddParams{Scale: 1}, nil
	case plan.OpLMHead:
		return &plan.HeadParams{Vocab: toyVocab, Dim: toyDim, Scale: 1}, nil
	case plan.OpPool:
		return &plan.PoolParams{Kind: 1, Normalize: 1}, nil
	case plan.OpGatherRows:
		return nil, nil
	}
	return nil, fmt.Errorf("toy: no parameters for %s", op)
}

func (m toyModel) Cols(op plan.Opcode, tag string, layer int) (uint32, error) {
	if op == plan.OpLMHead {
		return toyVocab, nil
	}
	return toyDim, nil
}

func (m toyModel) State(op plan.Opcode, tag string, layer int) (plan.StateKey, bool) {
	k, _, ok := m.group(op, layer)
	return k, ok
}

func (m toyModel) Weight(id string, layer int) (string, bool) {
	switch {
	case id == "rope":
		return "const.rope", true
	case layer < 0:
		return id, true
	}
	return fmt.Sprintf("blk.%d.%s", layer, id), true
}
