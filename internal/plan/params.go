package plan

import "math"

// Params is the payload of one opcode: a struct of fixed-size fields without
// padding, little-endian in its encoded form. The concrete types below are the
// only implementations. Anything of variable length (inverse frequencies,
// layer lists) is a weight constant, never payload.
type Params interface{ params() }

// NormKind selects the normalization.
const (
	NormRMS   uint32 = iota // x / sqrt(mean(x²)+eps) · (w + offset)
	NormLayer               // (x − mean) / sqrt(var+eps) · w + b
)

// NormParams describes a norm over the last axis.
type NormParams struct {
	Dim    uint32
	Kind   uint32
	Eps    float32
	Offset float32 // added to the weight (1 for gemma from Hugging Face)
	Groups uint32  // 1 = the whole row; more = each group by itself
	Pad    uint32
}

// Rope styles: how elements pair up, and whose position each pair uses.
const (
	RopeNone        uint32 = iota
	RopeHalf               // element i with i + r/2
	RopeInterleaved        // element 2i with 2i+1
	RopeMBlocks            // half pairing; sections of pairs use t, y, x
	RopeMInterleaved
)

// Rope scalings that depend on the length a request was admitted for. Those
// that do not are folded into the inverse frequencies.
const (
	RopeFixed   uint32 = iota
	RopeDynamic        // base grows with length beyond RopeLimit
	RopeLong           // inv_freq up to RopeLimit, inv_freq_long above
)

// Norms of queries and keys.
const (
	QKNormNone  uint32 = iota
	QKNormHead         // root mean square of each head, before rope; weights [head width]
	QKNormAfter        // the same after rope
	QKNormWhole        // root mean square of all heads together, before rope; weights [heads · head width]
	QKNormLayer        // layer norm of each head without bias, before rope; weights [heads · head width]
)

// AttentionParams describes grouped-query attention with its projections.
type AttentionParams struct {
	Layer       uint32 // ordinal inside the state, not the model layer
	Heads       uint32
	KVHeads     uint32
	HeadDim     uint32
	RopeDim     uint32 // rotated elements of each head
	RopeStyle   uint32
	RopeKind    uint32
	RopeLimit   uint32  // original context length
	RopeBase    float32 // dynamic only
	RopeFactor  float32 // dynamic only
	RopeScale   float32 // multiplies cos and sin (yarn, longrope)
	Window      uint32  // 0 = all keys; else keys p with q−Window < p ≤ q
	Causal      uint32  // 0 = both directions
	Scale       float32 // multiplies q·k
	Softcap     float32 // c·tanh(s/c) before masking; 0 = none
	QKNormEps   float32
	QKNormOff   float32 // added to the q and k norm weights
	QKNormKind  uint32  // how q and k are normalized, QKNormNone to QKNormLayer
	QGate       uint32  // 1: q holds q and an output gate per head
	TempBeta    float32 // q ×= 1 + TempBeta·ln(1 + ⌊pos/TempOrigLen⌋)
	TempOrigLen uint32
	MropeT      uint32 // pairs that turn by time (or page), then by row, then by column
	MropeH      uint32
	MropeW      uint32
	Windows     uint32  // without a state: 1 = rows attend within the windows of a step, not its runs
	Images      uint32  // 1: tokens of one image attend to each other in both directions
	Clip        float32 // q, k and v are limited to ±Clip after their biases; 0 = not
	Pad         uint32
}

// QueriesPerKey returns how many query heads share each key head, or an error
// that matches [ErrInvalidPlan] when they do not divide evenly.
func (p *AttentionParams) QueriesPerKey() (int, error) {
	if p.KVHeads == 0 || p.Heads%p.KVHeads != 0 {
		return 0, Errorf(ErrInvalidPlan, Whole, "%d query heads do not divide into %d key heads", p.Heads, p.KVHeads)
	}
	return int(p.Heads / p.KVHeads), nil
}

// RopeAxes returns which coordinate of a place turns each pair: time, row or
// column; nil for rotations by one position. Blocks are sections of pairs;
// interleaved, every third pair turns by row and every third by column until
// their sections are used up.
func (p *AttentionParams) RopeAxes() ([]uint8, error) {
	if p.RopeStyle < RopeMBlocks {
		return nil, nil
	}
	half, t, h, w := int(p.RopeDim)/2, int(p.MropeT), int(p.MropeH), int(p.MropeW)
	if t+h+w != half {
		return nil, Errorf(ErrInvalidPlan, Whole, "rope sections %d, %d and %d, want %d pairs", t, h, w, half)
	}
	axes := make([]uint8, half)
	for i := range axes {
		switch {
		case p.RopeStyle == RopeMBlocks && i >= t+h, p.RopeStyle == RopeMInterleaved && i%3 == 2 && i < 3*w:
			axes[i] = 2
		case p.RopeStyle == RopeMBlocks && i >= t, p.RopeStyle == RopeMInterleaved && i%3 == 1 && i < 3*h:
			axes[i] = 1
		}
	}
	return axes, nil
}

// DynamicBase returns the base of a [RopeDynamic] rotation for a sequence of n
// tokens, more than RopeLimit: NTK-aware scaling by length, as in Hugging Face
// modeling_rope_utils, _compute_dynamic_ntk_parameters.
func (p *AttentionParams) DynamicBase(n int) float64 {
	dim, f := float64(p.RopeDim), float64(p.RopeFactor)
	return float64(p.RopeBase) * math.Pow(f*float64(n)/float64(p.RopeLimit)-(f-1), dim/(dim-2))
}

// Activations of feed-forward layers.
const (
	ActSiLU uint32 = iota
	ActGELUTanh
	ActGELUErf
	ActReLU2
	ActSwiGLUOAI // (min(max(up, −Limit), Limit)+1)·g·σ(Alpha·g), g = min(gate, Limit)
	ActReLU
	ActQuickGELU
)

// FFNParams describes a dense feed-forward layer.
type FFNParams struct {
	Dim, Hidden uint32
	Act         uint32
	Gated       uint32 // 1: down(act(gate x) ⊙ up x); 0: down(act(up x))
}

// Orders of softmax and choice in the router of a mixture of experts.
const (
	GateSoftmax uint32 = iota // softmax over all experts, then the best
	GateTop                   // the best, then softmax over these: GateSoftmax, renormalized
	GateSigmoid               // sigmoid instead of softmax
	GateSparse                // the best two, each by a softmax of the experts nearly as good (sparsemixer)
)

// MoEParams describes a mixture of experts with its router. Experts are chosen
// by score plus the weight select_bias, among equals the first; their weights are
// the scores alone.
type MoEParams struct {
	Dim, Hidden, Experts, TopK uint32
	Gate                       uint32
	Renorm                     uint32
	Groups, TopGroups          uint32 // 0 or 1 = all experts take part; else those of the TopGroups best groups
	GroupScore                 uint32 // 0 best, 1 sum of the two best
	Masked                     uint32 // experts outside the chosen groups are chosen by 0 (0) or −∞ (1)
	Scale, RenormEps           float32
	SharedHidden, SharedGated  uint32
	Act                        uint32
	Limit, Alpha               float32 // ActSwiGLUOAI only
	Jitter                     float32 // GateSparse only
}

// SSMParams describes Mamba 1 and Mamba 2 mixers.
type SSMParams struct {
	Layer, Inner, State, Heads, HeadDim, Groups, Conv, NormGroups, DtRank uint32
	NormEps                                                               float32
	DtMin, DtMax                                                          float32 // bounds of steps, after softplus
	Chunk                                                                 uint32  // mamba2: tokens computed together; they begin at multiples of it
	PlainNorm                                                             uint32  // 1: norm without weight on B, C and dt (falcon mamba)
}

// ConvParams describes a gated short convolution.
type ConvParams struct{ Layer, Dim, Kernel, Pad uint32 }

// MLAParams describes multi-head latent attention: the cache holds a vector of
// KVRank elements and a rotated key of Rope elements for each position.
type MLAParams struct {
	Layer, Heads, QRank, KVRank, Nope, Rope, V uint32
	RopeStyle, RopeKind, RopeLimit             uint32
	RopeBase, RopeFactor, RopeScale            float32
	Scale, NormEps                             float32
	Absorb                                     uint32 // 1: keys and values are not expanded; queries and results are projected instead
}

// GatedDeltaParams describes a gated delta rule mixer. Its weight decay is the
// negative number that softplus of the step is multiplied by, of each head.
type GatedDeltaParams struct {
	Layer, KHeads, VHeads, KDim, VDim, Conv uint32
	Chunk                                   uint32 // tokens whose rows the state keeps
	NormEps, L2Eps                          float32
	VLayout                                 uint32 // head v of the values shares key head ⌊v·KHeads/VHeads⌋ (0) or v mod KHeads (1)
}

// RWKVParams describes the parts of an RWKV-7 layer.
type RWKVParams struct {
	Layer, Dim, Heads, HeadDim               uint32
	Hidden                                   uint32  // of the channel mix
	DecayRank, RateRank, ValueRank, GateRank uint32  // of the products of two thin matrices
	NormEps                                  float32 // of the norm of each head
}

// EmbedParams describes a table lookup.
type EmbedParams struct {
	Dim, Vocab uint32
	Scale      float32 // multiplies every element
	PosOffset  uint32  // first row of the position table
}

// AddParams describes out = in0 + Scale·in1. With a second output the sum is
// also normalized (weight slots "norm" and "norm_bias") into it.
type AddParams struct {
	Scale   float32
	NormEps float32
	NormOff float32
	Norm    uint32 // AddPlain: there is no second output
}

// What a sum writes to its second output.
const (
	AddPlain     uint32 = iota // it has none
	AddRMSNorm                 // the sum over the root of its mean square
	AddLayerNorm               // the sum without its mean, over its deviation, plus a bias
)

// Functions that follow a projection.
const (
	HeadLinear uint32 = iota // none
	HeadTanh
	HeadGELU // erf form
	HeadReLU
)

// HeadParams describes the projection to logits, or one of those that follow the
// pooling of an encoder.
type HeadParams struct {
	Vocab, Dim uint32
	Softcap    float32 // 0 = none
	Scale      float32 // multiplies the logits before the cap
	Tied       uint32
	Act        uint32 // of the scaled and capped logits
}

// Reductions of the rows of a sequence.
const (
	PoolRows uint32 = iota // none: each requested row by itself
	PoolMean
)

// PoolParams describes how an encoder's rows become one vector. The second input is
// the requested rows, each of which stands for its sequence; without it the first
// input has the requested rows already.
type PoolParams struct {
	Kind      uint32
	Normalize uint32 // 1: vectors are divided by their length
}

// How a table of learned positions serves grids of other sizes.
const (
	PosExact   uint32 = iota // row y·GridSide + x: there are no other sizes
	PosCorners               // bilinear, first and last positions coincide
	PosArea                  // bilinear with antialiasing, edges coincide
)

// PatchParams describes a patch or convolution stem.
type PatchParams struct {
	Patch, Temporal, Channels, Dim uint32
	GridSide                       uint32 // of the table of positions, [GridSide², Dim]
	Resize                         uint32 // of that table
	Merge                          uint32 // patches are listed by square blocks of this side
	Pad                            uint32
}

// MergeParams describes the merger of neighbouring patches: the norm of each, or
// of all together (PostShuffleNorm), then fc2(act(fc1 x)), or fc1 x alone.
type MergeParams struct {
	Merge, Layer, PostShuffleNorm, Act uint32
	Kind                               uint32 // of the norm
	Pool                               uint32 // 1: patches are averaged instead of joined, before the norm
	Eps                                float32
	Offset                             float32 // added to the norm's weight
}

// ScatterParams describes where image rows go.
type ScatterParams struct {
	TokenID uint32
	Index   uint32
}

func (*NormParams) params()       {}
func (*AttentionParams) params()  {}
func (*FFNParams) params()        {}
func (*MoEParams) params()        {}
func (*SSMParams) params()        {}
func (*ConvParams) params()       {}
func (*MLAParams) params()        {}
func (*GatedDeltaParams) params() {}
func (*RWKVParams) params()       {}
func (*EmbedParams) params()      {}
func (*AddParams) params()        {}
func (*HeadParams) params()       {}
func (*PoolParams) params()       {}
func (*PatchParams) params()      {}
func (*MergeParams) params()      {}
func (*ScatterParams) params()    {}

// payload returns a new zero payload of type T; spec tables hold it.
func payload[T any, P interface {
	*T
	Params
}]() Params {
	return P(new(T))
}
