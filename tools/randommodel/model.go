package main

import (
	"fmt"
	"math"

	"atenia/tensor"
)

// shapes are the sizes of a model.
type shapes struct {
	Family         string // model_type
	Hidden, Layers int
	Heads, KV      int
	FFN            int
	Experts        int // of each layer; 0 = no mixture
	Chosen, Width  int // experts that a token chooses, and their hidden width
	Vocab, Context int
	Tied           bool
	Theta          float64
	Eps            float64
}

// presets are the sizes that the published configurations state, and of a small
// mixture in the shape of a published one.
var presets = map[string]shapes{
	"tinyllama-1.1b": {Family: "llama", Hidden: 2048, Layers: 22, Heads: 32, KV: 4, FFN: 5632, Vocab: 32000, Context: 2048, Theta: 10000, Eps: 1e-5},
	"qwen3-moe-1b":   {Family: "qwen3_moe", Hidden: 768, Layers: 16, Heads: 12, KV: 4, FFN: 2048, Experts: 64, Chosen: 8, Width: 256, Vocab: 8192, Context: 4096, Theta: 1e6, Eps: 1e-6},
	"qwen2.5-0.5b":   {Family: "qwen2", Hidden: 896, Layers: 24, Heads: 14, KV: 2, FFN: 4864, Vocab: 151936, Context: 32768, Tied: true, Theta: 1e6, Eps: 1e-6},
}

// mixture reports whether the feed-forward layers are experts.
func (s *shapes) mixture() bool { return s.Family == "qwen3_moe" || s.Family == "mixtral" }

// complete fills in derived values and rejects impossible ones.
func (s shapes) complete() (shapes, error) {
	if s.KV == 0 {
		s.KV = s.Heads
	}
	if s.FFN == 0 {
		s.FFN = 3 * s.Hidden
	}
	if s.mixture() && s.Width == 0 {
		s.Width = s.FFN / 4
		if s.Family == "mixtral" {
			s.Width = s.FFN
		}
	}
	if s.Theta == 0 {
		s.Theta, s.Eps = 10000, 1e-5
	}
	const most = 1 << 24
	for _, x := range []struct {
		name     string
		v, least int
	}{
		{"hidden", s.Hidden, 2}, {"layers", s.Layers, 1}, {"heads", s.Heads, 1}, {"kv-heads", s.KV, 1},
		{"ffn", s.FFN, 1}, {"experts", s.Experts, 0}, {"chosen", s.Chosen, 0}, {"expert-width", s.Width, 0}, {"vocab", s.Vocab, tokens}, {"context", s.Context, 1},
	} {
		if x.v < x.least || x.v > most {
			return s, fmt.Errorf("%s: want %d to %d, got %d", x.name, x.least, most, x.v)
		}
	}
	switch {
	case s.Family != "llama" && s.Family != "qwen2" && !s.mixture():
		return s, fmt.Errorf("family: want llama, qwen2, qwen3_moe or mixtral, got %q", s.Family)
	case s.mixture() && (s.Chosen < 1 || s.Chosen > s.Experts || s.Width < 1):
		return s, fmt.Errorf("a mixture: want at least one expert chosen of those there are, got %d of %d, %d wide", s.Chosen, s.Experts, s.Width)
	case s.Hidden%(2*s.Heads) != 0:
		return s, fmt.Errorf("hidden: want a multiple of twice the %d heads, got %d", s.Heads, s.Hidden)
	case s.Heads%s.KV != 0:
		return s, fmt.Errorf("kv-heads: want a divisor of the %d heads, got %d", s.Heads, s.KV)
	}
	return s, nil
}

// A weight is one tensor: normal values of the given deviation, or all the
// same one.
type weight struct {
	name      string
	shape     tensor.Shape
	deviation float64
	constant  float32
}

// weights lists the tensors in the order of the file.
func (s shapes) weights() []weight {
	var out []weight
	matrix := func(name string, rows, cols int) {
		out = append(out, weight{name: name + ".weight", shape: tensor.Shape{rows, cols}, deviation: 1 / math.Sqrt(float64(cols))})
	}
	norm := func(name string) {
		out = append(out, weight{name: name + ".weight", shape: tensor.Shape{s.Hidden}, constant: 1})
	}
	bias := func(name string, n int) {
		out = append(out, weight{name: name + ".bias", shape: tensor.Shape{n}, deviation: 0.1})
	}
	kv := s.Hidden / s.Heads * s.KV
	matrix("model.embed_tokens", s.Vocab, s.Hidden)
	if s.mixture() { // or all tokens choose the same experts: layers would outweigh the token
		out[0].deviation = 8
	}
	for l := range s.Layers {
		p := fmt.Sprintf("model.layers.%d.", l)
		norm(p + "input_layernorm")
		matrix(p+"self_attn.q_proj", s.Hidden, s.Hidden)
		matrix(p+"self_attn.k_proj", kv, s.Hidden)
		matrix(p+"self_attn.v_proj", kv, s.Hidden)
		matrix(p+"self_attn.o_proj", s.Hidden, s.Hidden)
		if s.Family == "qwen2" {
			bias(p+"self_attn.q_proj", s.Hidden)
			bias(p+"self_attn.k_proj", kv)
			bias(p+"self_attn.v_proj", kv)
		}
		norm(p + "post_attention_layernorm")
		if s.Family == "qwen3_moe" {
			for _, name := range []string{"q_norm", "k_norm"} {
				out = append(out, weight{name: p + "self_attn." + name + ".weight", shape: tensor.Shape{s.Hidden / s.Heads}, constant: 1})
			}
		}
		folder, names := "mlp", [3]string{"gate_proj", "up_proj", "down_proj"}
		if s.Family == "mixtral" {
			folder, names = "block_sparse_moe", [3]string{"w1", "w3", "w2"}
		}
		if !s.mixture() {
			matrix(p+"mlp."+names[0], s.FFN, s.Hidden)
			matrix(p+"mlp."+names[1], s.FFN, s.Hidden)
			matrix(p+"mlp."+names[2], s.Hidden, s.FFN)
			continue
		}
		matrix(p+folder+".gate", s.Experts, s.Hidden)
		for e := range s.Experts {
			x := fmt.Sprintf("%s%s.experts.%d.", p, folder, e)
			matrix(x+names[0], s.Width, s.Hidden)
			matrix(x+names[1], s.Width, s.Hidden)
			matrix(x+names[2], s.Hidden, s.Width)
		}
	}
	norm("model.norm")
	if !s.Tied {
		matrix("lm_head", s.Vocab, s.Hidden)
	}
	return out
}
