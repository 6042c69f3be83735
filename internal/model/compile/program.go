package compile

import "atenia/internal/plan"

// Programs are halves of layers: a mixer maps the residual stream x to h, a
// feed-forward half maps h, which it calls x, to y. A layer is a mixer followed
// by a feed-forward half, so two mixers and three feed-forward halves make six
// kinds of layers.

// w abbreviates the weights of an op.
type w = map[string]string

var attentionWeights = w{
	"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_o",
	"q_norm": "attn_q_norm", "k_norm": "attn_k_norm",
	"q_bias": "attn_q_bias", "k_bias": "attn_k_bias", "v_bias": "attn_v_bias", "o_bias": "attn_o_bias",
	"inv_freq": ropeShortID, "inv_freq_long": ropeLongID,
}

var ffnWeights = w{
	"gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
	"gate_bias": "ffn_gate_bias", "up_bias": "ffn_up_bias", "down_bias": "ffn_down_bias",
}

var moeWeights = w{
	"router": "ffn_router", "gate": "ffn_gate_exps", "up": "ffn_up_exps", "down": "ffn_down_exps",
	"shared_gate": "ffn_gate_shexp", "shared_up": "ffn_up_shexp", "shared_down": "ffn_down_shexp", "shared_router": "ffn_router_shexp",
	"router_bias": "ffn_router_bias", "select_bias": "ffn_select_bias",
	"gate_bias": "ffn_gate_exps_bias", "up_bias": "ffn_up_exps_bias", "down_bias": "ffn_down_exps_bias",
}

var (
	embedText = plan.Program{
		{Op: plan.OpEmbedding, Out: "e", In: []string{"tokens"}, W: w{"table": "token_embd"}, Tag: "embed"},
	}
	headText = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "output_norm"}, Tag: "output_norm"},
		{Op: plan.OpLMHead, Out: "logits", In: []string{"n"}, W: w{"weight": "output"}, Tag: "head"},
	}
	attention = plan.Program{
		{Op: plan.OpNorm, Out: "n", In: []string{"x"}, W: w{"weight": "attn_norm"}, Tag: "attn_norm"},
		{Op: plan.OpAttention, Out: "a", In: []string{"n"}, W: attentionWeights, Tag: "attn"},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "a"}, Tag: "attn_add"},
	}
	attentionSandwich = plan.Program{
		attention[0],
		attention[1],
		{Op: plan.OpNorm, Out: "p", In: []string{"a"}, W: w{"weight": "post_attn_norm"}, Tag: "post_attn_norm"},
		{Op: plan.OpResidualAdd, Out: "h", In: []string{"x", "p"}, Tag: "attn_add"},
	}
	dense = plan.Program{
		{Op: plan.OpNorm, Out: "n2", In: []string{"x"}, W: w{"weight": "ffn_norm"}, Tag: "ffn_norm"},
		{Op: plan.OpFFN, Out: "f", In: []string{"n2"}, W: ffnWeights, Tag: "ffn"},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"x", "f"}, Tag: "ffn_add"},
	}
	denseSandwich = plan.Program{
		dense[0],
		dense[1],
		{Op: plan.OpNorm, Out: "p2", In: []string{"f"}, W: w{"weight": "post_ffn_norm"}, Tag: "post_ffn_norm"},
		{Op: plan.OpResidualAdd, Out: "y", In: []string{"x", "p2"}, Tag: "ffn_add"},
	}
	sparse = plan.Program{
		dense[0],
		{Op: plan.OpMoE, Out: "f", In: []string{"n2"}, W: moeWeights, Tag: "moe"},
		dense[2],
	}
	// gather keeps the rows whose logits are requested.
	gather = plan.Program{
		{Op: plan.OpGatherRows, Out: "g", In: []string{"x", "rows"}, Tag: "gather"},
	}
)

var (
	preMixers      = map[string]plan.Program{mixAttention: attention}
	preFFNs        = map[string]plan.Program{ffnDense: dense}
	sparseFFNs     = map[string]plan.Program{ffnDense: dense, ffnMoE: sparse}
	sandwichMixers = map[string]plan.Program{mixAttention: attentionSandwich}
	sandwichFFNs   = map[string]plan.Program{ffnDense: denseSandwich}
)
