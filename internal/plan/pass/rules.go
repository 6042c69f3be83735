package pass

import (
	"fmt"

	"atenia/internal/plan"
	"atenia/tensor"
)

// rules is the shape column of the opcode table: what widths, row kinds, element
// types, weights and numbers must agree at one instruction. A test compares it
// with [plan.Specs]. What holds between instructions is the validator's.
var rules = [256]func(*site) error{
	plan.OpNorm:            ruleNorm,
	plan.OpAttention:       ruleAttention,
	plan.OpFFN:             ruleFFN,
	plan.OpMoE:             ruleMoE,
	plan.OpMamba2:          ruleSSM,
	plan.OpShortConv:       ruleShortConv,
	plan.OpMLA:             ruleMLA,
	plan.OpEmbedding:       ruleEmbedding,
	plan.OpResidualAdd:     ruleAdd,
	plan.OpLMHead:          ruleHead,
	plan.OpGatherRows:      ruleGather,
	plan.OpPool:            rulePool,
	plan.OpPatchEmbed:      rulePatch,
	plan.OpSpatialMerge:    ruleMerge,
	plan.OpDeepstackTap:    ruleMerge,
	plan.OpVisionScatter:   ruleScatter,
	plan.OpDeepstackInject: ruleScatter,
	plan.OpGatedDelta:      ruleGatedDelta,
	plan.OpMamba1:          ruleSSM,
	plan.OpCrossAttn:       ruleAttention,
	plan.OpConvStem:        rulePatch,
	plan.OpRWKVValue:       ruleRWKV,
	plan.OpRWKVTimeMix:     ruleRWKV,
	plan.OpRWKVChannelMix:  ruleRWKV,
}

// A site is a rule's view of one instruction: payload decoded, registers looked
// up, state resolved. Arity, ranges and the payload's size are already
// verified.
type site struct {
	spec    *plan.OpSpec
	params  plan.Params // nil for an opcode without payload
	in, out []plan.RegSpec
	weights []plan.WeightRef
	state   *plan.StateDescriptor // nil = the instruction owns none
}

// has reports whether the named weight slot is filled.
func (s *site) has(slot string) bool {
	i, ok := s.spec.SlotIndex(slot)
	return ok && s.weights[i] != plan.NoWeight
}

func ruleNorm(s *site) error {
	p := s.params.(*plan.NormParams)
	return first(
		sameRows(s),
		positive("dim", p.Dim),
		same("input width", s.in[0].Cols, p.Dim),
		same("output width", s.out[0].Cols, p.Dim),
		below("kind", p.Kind, plan.NormLayer+1),
		divides("groups", max(p.Groups, 1), p.Dim),
		floats(s),
	)
}

func ruleAttention(s *site) error {
	p := s.params.(*plan.AttentionParams)
	return first(
		sameRows(s),
		positive("head_dim", p.HeadDim),
		divides("kv_heads", p.KVHeads, p.Heads),
		positive("heads", p.Heads),
		below("rope_style", p.RopeStyle, plan.RopeMInterleaved+1),
		below("rope_kind", p.RopeKind, plan.RopeLong+1),
		below("rope_dim", p.RopeDim, p.HeadDim+1),
		divides("2, half of a rotated pair,", 2, p.RopeDim),
		ordinal(s, p.Layer),
		floats(s),
	)
}

func ruleFFN(s *site) error {
	p := s.params.(*plan.FFNParams)
	return first(
		rowWise(s, p.Dim),
		positive("hidden", p.Hidden),
		below("act", p.Act, plan.ActQuickGELU+1),
		agrees("gated", p.Gated, s.has("gate"), "weight slot gate"),
		floats(s),
	)
}

func ruleMoE(s *site) error {
	p := s.params.(*plan.MoEParams)
	return first(
		rowWise(s, p.Dim),
		positive("hidden", p.Hidden),
		positive("top_k", p.TopK),
		below("top_k", p.TopK, p.Experts+1),
		divides("groups", max(p.Groups, 1), p.Experts),
		below("top_groups", p.TopGroups, max(p.Groups, 1)+1),
		below("act", p.Act, plan.ActQuickGELU+1),
		floats(s),
	)
}

func ruleSSM(s *site) error {
	p := s.params.(*plan.SSMParams)
	return first(
		sameRows(s),
		positive("inner", p.Inner),
		positive("state", p.State),
		positive("conv", p.Conv),
		ordinal(s, p.Layer),
		floats(s),
	)
}

func ruleShortConv(s *site) error {
	p := s.params.(*plan.ConvParams)
	return first(rowWise(s, p.Dim), positive("kernel", p.Kernel), ordinal(s, p.Layer), floats(s))
}

func ruleMLA(s *site) error {
	p := s.params.(*plan.MLAParams)
	return first(
		sameRows(s),
		positive("heads", p.Heads),
		positive("kv_rank", p.KVRank),
		positive("v", p.V),
		divides("2, half of a rotated pair,", 2, p.Rope),
		agrees("q_rank", min(p.QRank, 1), s.has("q_a"), "weight slot q_a"),
		ordinal(s, p.Layer),
		floats(s),
	)
}

func ruleRWKV(s *site) error {
	p := s.params.(*plan.RWKVParams)
	err := first(
		rowWise(s, p.Dim),
		positive("head_dim", p.HeadDim),
		same("heads times head_dim", p.Heads*p.HeadDim, p.Dim),
		positive("hidden", p.Hidden),
		ordinal(s, p.Layer),
		floats(s),
	)
	if err != nil || s.spec.Op != plan.OpRWKVTimeMix {
		return err
	}
	return first(
		same("width of the first layer's values", s.in[1].Cols, p.Dim),
		positive("decay_rank", p.DecayRank), positive("rate_rank", p.RateRank), positive("value_rank", p.ValueRank), positive("gate_rank", p.GateRank),
		agrees("own values", map[bool]uint32{true: 1}[s.has("v")], s.has("v0") && s.has("v1") && s.has("v2") && s.has("x_v"), "weight slots x_v, v0, v1, v2"),
	)
}

func ruleGatedDelta(s *site) error {
	p := s.params.(*plan.GatedDeltaParams)
	return first(
		sameRows(s),
		divides("k_heads", p.KHeads, p.VHeads),
		positive("v_heads", p.VHeads),
		positive("k_dim", p.KDim),
		positive("v_dim", p.VDim),
		positive("conv", p.Conv),
		ordinal(s, p.Layer),
		floats(s),
	)
}

func ruleEmbedding(s *site) error {
	p := s.params.(*plan.EmbedParams)
	return first(
		sameRows(s),
		positive("vocab", p.Vocab),
		same("output width", s.out[0].Cols, p.Dim),
	)
}

func ruleAdd(s *site) error {
	p := s.params.(*plan.AddParams)
	err := first(
		rowWise(s, s.in[0].Cols),
		same("width of input 1", s.in[1].Cols, s.in[0].Cols),
		sameRowKind("input 1", s.in[1].Rows, s.in[0].Rows),
		below("norm", p.Norm, plan.AddLayerNorm+1),
		agrees("norm", min(p.Norm, 1), len(s.out) == 2, "second output"),
		agrees("norm", min(p.Norm, 1), s.has("norm"), "weight slot norm"),
		onlyLayerNorm(s, p),
		floats(s),
	)
	if err != nil || len(s.out) == 1 {
		return err
	}
	return first(
		same("width of output 1", s.out[1].Cols, s.in[0].Cols),
		sameRowKind("output 1", s.out[1].Rows, s.in[0].Rows),
	)
}

// onlyLayerNorm: the other norms have no bias.
func onlyLayerNorm(s *site, p *plan.AddParams) error {
	if s.has("norm_bias") && p.Norm != plan.AddLayerNorm {
		return agrees("norm", 0, true, "weight slot norm_bias")
	}
	return nil
}

func ruleHead(s *site) error {
	p := s.params.(*plan.HeadParams)
	return first(
		sameRows(s),
		same("input width", s.in[0].Cols, p.Dim),
		same("output width", s.out[0].Cols, p.Vocab),
		below("act", p.Act, plan.HeadReLU+1),
		floats(s),
	)
}

func ruleGather(s *site) error {
	return first(
		same("output width", s.out[0].Cols, s.in[0].Cols),
		sameRowKind("output", s.out[0].Rows, s.in[1].Rows),
		sameType(s.out[0].DType, s.in[0].DType),
	)
}

func rulePool(s *site) error {
	p := s.params.(*plan.PoolParams)
	err := first(below("kind", p.Kind, plan.PoolMean+1), same("output width", s.out[0].Cols, s.in[0].Cols))
	if err == nil && len(s.in) > 1 {
		return sameRowKind("output", s.out[0].Rows, s.in[1].Rows)
	}
	return first(err, floats(s))
}

func rulePatch(s *site) error {
	p := s.params.(*plan.PatchParams)
	return first(positive("dim", p.Dim), same("output width", s.out[0].Cols, p.Dim))
}

func ruleMerge(s *site) error {
	p := s.params.(*plan.MergeParams)
	return first(positive("merge", p.Merge), below("act", p.Act, plan.ActQuickGELU+1), floats(s))
}

func ruleScatter(s *site) error {
	return first(rowWise(s, s.in[0].Cols), same("width of input 1", s.in[1].Cols, s.in[0].Cols))
}

// first returns the first error; rules list their conditions in the order in
// which readers need them.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// rowWise: output row i depends on row i of the input alone, both dim wide.
func rowWise(s *site, dim uint32) error {
	return first(
		sameRows(s),
		positive("width", dim),
		same("input width", s.in[0].Cols, dim),
		same("output width", s.out[0].Cols, dim),
	)
}

func sameRows(s *site) error { return sameRowKind("output", s.out[0].Rows, s.in[0].Rows) }

func sameRowKind(what string, got, want plan.RowKind) error {
	if got != want {
		return fmt.Errorf("rows of %s are %s, want %s", what, got, want)
	}
	return nil
}

func sameType(got, want tensor.DType) error {
	if got != want {
		return fmt.Errorf("output type is %s, want %s", got, want)
	}
	return nil
}

func same(what string, got, want uint32) error {
	if got != want {
		return fmt.Errorf("%s is %d, want %d", what, got, want)
	}
	return nil
}

func positive(what string, v uint32) error {
	if v == 0 {
		return fmt.Errorf("%s is zero", what)
	}
	return nil
}

func below(what string, v, limit uint32) error {
	if v >= limit {
		return fmt.Errorf("%s is %d, want less than %d", what, v, limit)
	}
	return nil
}

func divides(what string, d, n uint32) error {
	if d == 0 || n%d != 0 {
		return fmt.Errorf("%s (%d) does not divide %d", what, d, n)
	}
	return nil
}

// agrees: a yes-or-no field of the payload and what must be there when it is 1.
func agrees(what string, v uint32, there bool, thing string) error {
	switch {
	case v > 1:
		return fmt.Errorf("%s is %d, want 0 or 1", what, v)
	case v == 1 && !there:
		return fmt.Errorf("%s is 1 and there is no %s", what, thing)
	case v == 0 && there:
		return fmt.Errorf("%s is 0 and there is a %s", what, thing)
	}
	return nil
}

// ordinal requires that the payload's layer exists in the state.
func ordinal(s *site, layer uint32) error {
	if s.state != nil && layer >= uint32(s.state.Layers) {
		return fmt.Errorf("state layer %d, %s.%d has %d", layer, s.state.Kind, s.state.Group, s.state.Layers)
	}
	return nil
}

// floats: input 0 and every output hold activations.
func floats(s *site) error {
	if !s.in[0].DType.Float() {
		return fmt.Errorf("input 0 has type %s, want a float", s.in[0].DType)
	}
	for i := range s.out {
		if !s.out[i].DType.Float() {
			return fmt.Errorf("output %d has type %s, want a float", i, s.out[i].DType)
		}
	}
	return nil
}

// indices: the inputs that the spec says hold row numbers do.
func indices(s *site) error {
	for i := range s.in {
		if s.spec.IsIndex(i) && s.in[i].DType != tensor.I32 {
			return fmt.Errorf("input %d has type %s, want %s", i, s.in[i].DType, tensor.I32)
		}
	}
	return nil
}
