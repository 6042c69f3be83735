package record

//go:generate go run -C ../../tools ./adapters -o ../internal/record/zadapters.go -package record -of Float

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/dense"
	"atenia/plan"
)

// Float is the element type of a model in training: float32, or float64 where
// gradients are checked.
type Float = dense.Float

// An Adapter looks at an instruction once and returns how to record it.
type Adapter[F Float] func(*Bind[F]) (recorder[F], error)

// A recorder runs one bound instruction and puts it on the step's tape.
type recorder[F Float] interface{ record(*step[F]) error }

// An AdapterTable has one adapter per opcode number; nil says "cannot be
// trained yet". It is made by the generated [NewAdapterTable], which does not
// compile while an opcode is missing.
type AdapterTable[F Float] [256]Adapter[F]

// table says how every opcode is recorded.
func table[F Float]() AdapterTable[F] {
	return NewAdapterTable(
		bindNorm[F],
		bindAttention[F],
		bindFFN[F],
		bindMoE[F],
		nil, // mamba2
		nil, // shortconv
		nil, // mla
		bindEmbedding[F],
		bindAdd[F],
		bindHead[F],
		bindGather[F],
		nil, // pool
		nil, // vision_patch_embed
		nil, // vision_spatial_merge
		nil, // vision_deepstack_extract
		nil, // vision_scatter
		nil, // deepstack_inject
		nil, // gated_delta
		nil, // mamba1
		nil, // cross_attention
		nil, // conv_stem
	)
}

// Keys of the opaque blocks, as the tape's text form shows them.
const (
	keyWeight    grad.Key = "plan.weight"
	keyEmbedding grad.Key = "plan.embedding"
	keyNorm      grad.Key = "plan.norm"
	keyAttention grad.Key = "plan.attention"
	keyFFN       grad.Key = "plan.ffn"
	keyMoE       grad.Key = "plan.moe"
	keyAdd       grad.Key = "plan.add"
	keyGather    grad.Key = "plan.gather"
	keyHead      grad.Key = "plan.head"
	keyLayer     grad.Key = "plan.layer"
	keyMeet      grad.Key = "plan.meet"
	keyBalance   grad.Key = "plan.balance"
)

// A rule is a kind of block and its gradient.
type rule[F Float] struct {
	key  grad.Key
	back grad.BackwardFunc[F]
}

// rules are the gradients of all blocks.
func rules[F Float]() []rule[F] {
	return []rule[F]{
		{keyWeight, weightBack[F]},
		{keyEmbedding, embeddingBack[F]},
		{keyNorm, normBack[F]},
		{keyAttention, attentionBack[F]},
		{keyFFN, ffnBack[F]},
		{keyMoE, moeBack[F]},
		{keyAdd, addBack[F]},
		{keyGather, gatherBack[F]},
		{keyHead, headBack[F]},
		{keyBalance, balanceBack[F]},
		{keyLayer, layerBack[F]},
		{keyMeet, meetBack[F]},
	}
}

// Register adds the gradients of all blocks to a registry. Tapes that [Model.Loss]
// records on must be made with one that has them.
func Register[F Float](r *grad.Registry[F]) {
	for _, b := range rules[F]() {
		r.Register(b.key, b.back)
	}
}

// An UntrainedError says which instruction of a plan has no gradient. It matches
// [plan.ErrUnsupportedOpcode].
type UntrainedError struct {
	Op    plan.Opcode
	Index int    // instruction
	Why   string // what about it; "" = the opcode as a whole
}

func (e *UntrainedError) Error() string {
	s := fmt.Sprintf("instruction %d: %s cannot be trained yet", e.Index, e.Op)
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// Unwrap returns [plan.ErrUnsupportedOpcode].
func (e *UntrainedError) Unwrap() error { return plan.ErrUnsupportedOpcode }
