package compile

import (
	"fmt"
	"strings"

	"atenia/internal/plan"
)

// A resolver instantiates programs from the configuration. It is the only place
// where a number enters a plan, and it does not know which family it serves.
type resolver struct {
	c       *Config
	weights map[string]Weight
	states  *layerStates
}

// Params implements [plan.Resolver].
func (r *resolver) Params(op plan.Opcode, tag string, layer int) (plan.Params, error) {
	c := r.c
	if c.Audio != nil && (strings.HasPrefix(tag, "enc_") || op == plan.OpCrossAttn) {
		return r.sound(op, tag, layer)
	}
	switch op {
	case plan.OpEmbedding:
		return &plan.EmbedParams{Dim: uint32(c.Hidden), Vocab: uint32(c.Vocab), Scale: c.EmbedMul}, nil
	case plan.OpPool:
		return c.Encoder.poolParams(tag), nil
	case plan.OpNorm:
		p := &plan.NormParams{Dim: uint32(c.Hidden), Kind: plan.NormRMS, Eps: c.NormEps, Offset: c.NormPlus, Groups: 1}
		if c.NormKind == layerNorm {
			p.Kind = plan.NormLayer
		}
		return p, nil
	case plan.OpAttention:
		return r.attention(layer), nil
	case plan.OpFFN:
		return &plan.FFNParams{Dim: uint32(c.Hidden), Hidden: uint32(c.FFN), Act: acts[c.Act], Gated: toFlag(!c.Ungated)}, nil
	case plan.OpMoE:
		return c.Mixture.params(c), nil
	case plan.OpResidualAdd:
		return &plan.AddParams{Scale: c.BranchMul}, nil
	case plan.OpLMHead:
		if c.Encoder != nil {
			return c.headParams(tag), nil
		}
		return &plan.HeadParams{Vocab: uint32(c.Vocab), Dim: uint32(c.Hidden), Softcap: c.LogitCap, Scale: c.LogitMul, Tied: toFlag(c.TiedHead)}, nil
	case plan.OpGatherRows:
		return nil, nil
	case plan.OpVisionScatter:
		return &plan.ScatterParams{TokenID: uint32(c.Vision.ImageToken)}, nil
	case plan.OpDeepstackInject:
		return &plan.ScatterParams{TokenID: uint32(c.Vision.ImageToken), Index: uint32(layer)}, nil
	case plan.OpMLA:
		return r.latent(layer)
	case plan.OpMamba1:
		return r.mamba1(layer)
	case plan.OpMamba2:
		return r.mamba2(layer)
	case plan.OpGatedDelta:
		return r.gatedDelta(layer)
	case plan.OpShortConv:
		return r.shortConv(layer)
	}
	return nil, fmt.Errorf("%s (%s) has no parameters in this configuration", op, tag)
}

func (r *resolver) attention(layer int) *plan.AttentionParams {
	c, l := r.c, r.c.Layers[layer]
	p := &plan.AttentionParams{
		Layer: uint32(r.states.ordinal[layer]),
		Heads: uint32(c.Heads), KVHeads: uint32(c.KVHeads), HeadDim: uint32(c.HeadDim),
		RopeStyle: plan.RopeNone, RopeScale: 1, QGate: toFlag(c.QGate),
		Window: uint32(l.Window), Causal: toFlag(c.Encoder == nil || c.Encoder.Causal),
		Scale: c.AttnScale, Softcap: c.AttnCap,
		TempBeta: c.TempBeta, TempOrigLen: uint32(c.TempOrig),
	}
	if c.Vision != nil {
		p.Images = toFlag(c.Vision.Whole)
	}
	if c.QKNorm {
		p.QKNormKind, p.QKNormEps, p.QKNormOff = 1, c.NormEps, c.NormPlus
	}
	rope := c.rope(l.Rope)
	if rope == nil {
		return p
	}
	p.RopeStyle = plan.RopeHalf
	if c.Interleaved {
		p.RopeStyle = plan.RopeInterleaved
	}
	c.mropeStyle(p)
	p.RopeDim, p.RopeScale = uint32(rope.Dim), rope.Scale
	switch rope.Scaling {
	case Dynamic:
		p.RopeKind, p.RopeBase, p.RopeFactor, p.RopeLimit = plan.RopeDynamic, rope.Theta, rope.Factor, uint32(rope.Original)
	case Long:
		p.RopeKind, p.RopeLimit = plan.RopeLong, uint32(rope.Original)
	}
	return p
}

func toFlag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Cols implements [plan.Resolver].
func (r *resolver) Cols(op plan.Opcode, tag string, _ int) (uint32, error) {
	if n := r.c.encoderCols(op, tag); n > 0 {
		return n, nil
	}
	if op == plan.OpLMHead {
		return uint32(r.c.Vocab), nil
	}
	return uint32(r.c.Hidden), nil
}

// State implements [plan.Resolver]. A layer has one state, that of its mixer.
func (r *resolver) State(op plan.Opcode, tag string, layer int) (plan.StateKey, bool) {
	if strings.HasPrefix(tag, "enc_") {
		return plan.StateKey{}, false
	}
	if op == plan.OpCrossAttn {
		return plan.StateKey{Kind: plan.StateCrossKV}, true
	}
	if layer < 0 || !r.states.has[layer] || plan.Specs.Get(op).States == 0 || !plan.Specs.Get(op).States.Has(r.states.key[layer].Kind) {
		return plan.StateKey{}, false
	}
	return r.states.key[layer], true
}

// Weight implements [plan.Resolver].
func (r *resolver) Weight(id string, layer int) (string, bool) {
	name := canonical(id, layer)
	switch {
	case id == "output" && r.c.TiedHead:
		name = "token_embd"
	case id == ropeShortID:
		name = ropeName(r.c.Layers[layer].Rope)
	case id == ropeLongID:
		name = ropeName(r.c.Layers[layer].Rope) + ".long"
	}
	_, ok := r.weights[name]
	return name, ok
}
