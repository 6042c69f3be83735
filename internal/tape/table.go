package tape

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// Float is the element type of a model in training: float32, or float64 where
// gradients are checked.
type Float = dense.Float

// A recorder computes one bound instruction and records it on the step's tape.
type recorder[F Float] interface{ record(*step[F]) error }

// table has the recorder of every opcode that an executor runs; nil means that
// the opcode cannot be trained.
func table[F Float]() plan.AdapterTable[*Bind[F], recorder[F]] {
	return plan.NewAdapterTable(
		bindNorm[F],
		bindAttention[F],
		bindFFN[F],
		bindMoE[F],
		bindMamba2[F],
		bindShortConv[F],
		bindMLA[F],
		bindEmbedding[F],
		bindAdd[F],
		bindLast[F],
		bindGather[F],
		bindPool[F],
		nil, // patch_embed: towers are not trained
		nil, // spatial_merge
		nil, // deepstack_extract
		bindScatter[F],
		bindInject[F],
		bindGatedDelta[F],
		bindMamba1[F],
		bindCrossAttention[F],
		nil, // conv_stem
		bindRWKVValue[F],
		bindRWKVTimeMix[F],
		bindRWKVChannelMix[F],
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
	keyMLA       grad.Key = "plan.mla"
	keyAdd       grad.Key = "plan.add"
	keyGather    grad.Key = "plan.gather"
	keyMamba1    grad.Key = "plan.mamba1"
	keyMamba2    grad.Key = "plan.mamba2"
	keyHead      grad.Key = "plan.head"
	keyLayer     grad.Key = "plan.layer"
	keyMeet      grad.Key = "plan.meet"
	keyBalance   grad.Key = "plan.balance"

	keyScatter grad.Key = "plan.scatter"
	keyInject  grad.Key = "plan.inject"
	keyCross   grad.Key = "plan.cross_attention"

	keyProjection grad.Key = "plan.projection"
	keyPool       grad.Key = "plan.pool"
	keyObjective  grad.Key = "plan.objective"

	keyShortConv  grad.Key = "plan.shortconv"
	keyGatedDelta grad.Key = "plan.gated_delta"

	keyRWKVValue   grad.Key = "plan.rwkv_value"
	keyRWKVTime    grad.Key = "plan.rwkv_time_mix"
	keyRWKVChannel grad.Key = "plan.rwkv_channel_mix"
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
		{keyMLA, mlaBack[F]},
		{keyAdd, addBack[F]},
		{keyGather, gatherBack[F]},
		{keyMamba1, mamba1Back[F]},
		{keyMamba2, mamba2Back[F]},
		{keyHead, headBack[F]},
		{keyBalance, balanceBack[F]},
		{keyShortConv, shortConvBack[F]},
		{keyGatedDelta, gatedDeltaBack[F]},
		{keyRWKVValue, rwkvValueBack[F]},
		{keyRWKVTime, timeMixBack[F]},
		{keyRWKVChannel, rwkvChannelBack[F]},
		{keyScatter, scatterBack[F]},
		{keyInject, injectBack[F]},
		{keyCross, crossBack[F]},
		{keyProjection, projectionBack[F]},
		{keyPool, poolBack[F]},
		{keyObjective, objectiveBack[F]},
		{keyLayer, layerBack[F]},
		{keyMeet, meetBack[F]},
	}
}

// register adds the gradients of all blocks to a registry. Tapes that [Model.Loss]
// records on must be made with one that has them.
func register[F Float](r *grad.Registry[F]) {
	for _, b := range rules[F]() {
		r.Register(b.key, b.back)
	}
}

// An UntrainedError says that an instruction has no gradient; [New] says which.
// It matches [plan.ErrUnsupportedOpcode].
type UntrainedError struct {
	Op  plan.Opcode
	Why string // the unsupported parameter; "" = the whole opcode
}

func (e *UntrainedError) Error() string {
	s := fmt.Sprintf("%s cannot be trained yet", e.Op)
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// Unwrap returns [plan.ErrUnsupportedOpcode].
func (e *UntrainedError) Unwrap() error { return plan.ErrUnsupportedOpcode }
