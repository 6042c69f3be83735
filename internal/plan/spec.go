package plan

import (
	"fmt"
	"strings"
)

// An OpSpec is the only description of an opcode. Builder, validator, binder,
// printer, generated adapter table and documentation all read it.
type OpSpec struct {
	Op             Opcode
	Name           string
	MinIn, MaxIn   uint8
	MinOut, MaxOut uint8
	Weights        []string     // slots in binding order; a "?" at the end marks an optional one
	States         StateKindSet // kinds of state the op may own; empty = none
	Modes          ModeSet
	InPlace        InPlace
	Params         func() Params // a new zero payload; nil = no payload
	RowWise        bool          // output row i depends on row i of the inputs alone
	Index          index         // first input that holds row numbers; the others hold activations
}

// InPlace says which input's buffer output 0 may take over when that input
// dies at the instruction.
type InPlace uint8

// The in-place rules.
const (
	notInPlace InPlace = iota
	inPlace0           // input 0
)

// index says which inputs hold row numbers: the n-th and those after it.
type index uint8

// The values of OpSpec.Index, named for the table.
const (
	noIndex index = iota
	index1
	index2
	index3
)

// Input returns the index of the input that may be overwritten.
func (p InPlace) Input() (int, bool) { return int(p) - 1, p != notInPlace }

// Slot returns the name of weight slot i without its mark, and whether it is
// optional.
func (s *OpSpec) Slot(i int) (name string, optional bool) {
	n := s.Weights[i]
	if t, ok := strings.CutSuffix(n, "?"); ok {
		return t, true
	}
	return n, false
}

// SlotIndex returns the position of the named weight slot.
func (s *OpSpec) SlotIndex(name string) (int, bool) {
	for i := range s.Weights {
		if n, _ := s.Slot(i); n == name {
			return i, true
		}
	}
	return 0, false
}

var (
	anyMode  = modes(ModeDecode, ModePrefill, ModeVisionEncode, ModeScatter)
	textMode = modes(ModeDecode, ModePrefill)
)

// The values of OpSpec.RowWise, named for the table.
const (
	rowWiseOp  = true
	acrossRows = false
)

// A SpecTable holds one spec per opcode number, nil where there is none.
type SpecTable [256]*OpSpec

// Get returns the spec of an opcode, or nil.
func (t *SpecTable) Get(op Opcode) *OpSpec { return t[op] }

// Specs describes every opcode. buildSpecs panics at start-up on a duplicate or
// unnamed entry, and a test compares the table with the constants.
var Specs = buildSpecs([]OpSpec{
	{OpNorm, "norm", 1, 1, 1, 1, []string{"weight?", "bias?"}, 0, anyMode, notInPlace, payload[NormParams], rowWiseOp, noIndex},
	{OpAttention, "attention", 1, 2, 1, 1, []string{
		"q", "k", "v", "o", "q_norm?", "k_norm?", "q_bias?", "k_bias?", "v_bias?", "o_bias?",
		"sinks?", "slopes?", "inv_freq?", "inv_freq_long?"}, kinds(StateKV), anyMode, notInPlace, payload[AttentionParams], acrossRows, noIndex},
	{OpFFN, "ffn", 1, 1, 1, 1, []string{"gate?", "up", "down", "gate_bias?", "up_bias?", "down_bias?"}, 0, anyMode, notInPlace, payload[FFNParams], rowWiseOp, noIndex},
	{OpMoE, "moe", 1, 1, 1, 1, []string{
		"router", "gate", "up", "down", "router_bias?", "select_bias?", "gate_bias?", "up_bias?", "down_bias?",
		"shared_gate?", "shared_up?", "shared_down?", "shared_router?"}, 0, textMode, notInPlace, payload[MoEParams], rowWiseOp, noIndex},
	{OpMamba2, "mamba2", 1, 1, 1, 1, []string{"in", "conv", "conv_bias?", "a", "d", "dt_bias", "norm?", "out", "in_bias?", "out_bias?"}, kinds(StateRecurrent), textMode, notInPlace, payload[SSMParams], acrossRows, noIndex},
	{OpShortConv, "shortconv", 1, 1, 1, 1, []string{"in", "conv", "out", "in_bias?", "conv_bias?", "out_bias?"}, kinds(StateConv), textMode, notInPlace, payload[ConvParams], acrossRows, noIndex},
	{OpMLA, "mla", 1, 1, 1, 1, []string{"q_a?", "q_a_norm?", "q_b", "kv_a", "kv_a_norm", "k_b", "v_b", "o", "inv_freq?", "inv_freq_long?", "q_a_bias?", "kv_a_bias?", "o_bias?"}, kinds(StateKV), textMode, notInPlace, payload[MLAParams], acrossRows, noIndex},
	{OpEmbedding, "embedding", 1, 2, 1, 1, []string{"table", "pos?", "type?"}, 0, anyMode, notInPlace, payload[EmbedParams], acrossRows, index1},
	{OpResidualAdd, "residual_add", 2, 2, 1, 2, []string{"norm?", "norm_bias?"}, 0, anyMode, inPlace0, payload[AddParams], rowWiseOp, noIndex},
	{OpLMHead, "lm_head", 1, 1, 1, 1, []string{"weight", "bias?"}, 0, textMode, notInPlace, payload[HeadParams], rowWiseOp, noIndex},
	{OpGatherRows, "gather_rows", 2, 2, 1, 1, nil, 0, anyMode, notInPlace, nil, acrossRows, index2},
	{OpPool, "pool", 1, 2, 1, 1, nil, 0, textMode, notInPlace, payload[PoolParams], acrossRows, index2},
	{OpPatchEmbed, "vision_patch_embed", 1, 2, 1, 1, []string{"weight", "bias?", "pos?"}, 0, modes(ModeVisionEncode), notInPlace, payload[PatchParams], acrossRows, noIndex},
	{OpSpatialMerge, "vision_spatial_merge", 1, 1, 1, 1, []string{"norm?", "norm_bias?", "merge?", "fc1", "fc1_bias?", "fc2?", "fc2_bias?"}, 0, modes(ModeVisionEncode), notInPlace, payload[MergeParams], acrossRows, noIndex},
	{OpDeepstackTap, "vision_deepstack_extract", 1, 1, 1, 1, []string{"norm?", "norm_bias?", "merge?", "fc1", "fc1_bias?", "fc2?", "fc2_bias?"}, 0, modes(ModeVisionEncode), notInPlace, payload[MergeParams], acrossRows, noIndex},
	{OpVisionScatter, "vision_scatter", 2, 3, 1, 1, nil, 0, modes(ModeScatter), inPlace0, payload[ScatterParams], acrossRows, index3},
	{OpDeepstackInject, "deepstack_inject", 2, 3, 1, 1, nil, 0, modes(ModePrefill), inPlace0, payload[ScatterParams], acrossRows, index3},
	{OpGatedDelta, "gated_delta", 1, 1, 1, 1, []string{"qkv", "z", "b", "a", "conv", "decay", "dt_bias", "norm", "out"}, kinds(StateRecurrent), textMode, notInPlace, payload[GatedDeltaParams], acrossRows, noIndex},
	{OpMamba1, "mamba1", 1, 1, 1, 1, []string{"in", "conv", "conv_bias?", "x", "dt", "dt_bias?", "a", "d", "out", "in_bias?", "out_bias?"}, kinds(StateRecurrent), textMode, notInPlace, payload[SSMParams], acrossRows, noIndex},
	{OpCrossAttn, "cross_attention", 1, 2, 1, 1, []string{"q", "k", "v", "o", "q_bias?", "k_bias?", "v_bias?", "o_bias?"}, kinds(StateCrossKV), textMode, notInPlace, payload[AttentionParams], acrossRows, noIndex},
	{OpConvStem, "conv_stem", 1, 1, 1, 1, []string{"conv1", "conv1_bias?", "conv2", "conv2_bias?", "pos?"}, 0, modes(ModeVisionEncode), notInPlace, payload[PatchParams], acrossRows, noIndex},
	{OpRWKVValue, "rwkv_value", 1, 1, 1, 1, []string{"x_v", "v"}, kinds(StateRecurrent), textMode, notInPlace, payload[RWKVParams], acrossRows, noIndex},
	{OpRWKVTimeMix, "rwkv_time_mix", 2, 2, 1, 1, []string{
		"x_r", "x_w", "x_k", "x_v?", "x_a", "x_g", "r", "k", "v?", "o", "d1", "d2", "d0", "a1", "a2", "a0", "v1?", "v2?", "v0?", "g1", "g2",
		"k_k", "k_a", "r_k", "norm", "norm_bias"}, kinds(StateRecurrent), textMode, notInPlace, payload[RWKVParams], acrossRows, noIndex},
	{OpRWKVChannelMix, "rwkv_channel_mix", 1, 1, 1, 1, []string{"x_k", "key", "value"}, kinds(StateRecurrent), textMode, notInPlace, payload[RWKVParams], acrossRows, noIndex},
})

func buildSpecs(in []OpSpec) *SpecTable {
	var t SpecTable
	for i := range in {
		s := &in[i]
		if s.Name == "" || t[s.Op] != nil {
			panic(fmt.Sprintf("plan: bad or duplicate opcode spec %d %q", s.Op, s.Name))
		}
		t[s.Op] = s
	}
	return &t
}
