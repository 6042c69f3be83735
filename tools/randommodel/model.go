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
	Vocab, Context int
	Tied           bool
	Theta          float64
	Eps            float64
}

// presets are the sizes that the published configurations state.
var presets = map[string]shapes{
	"tinyllama-1.1b": {Family: "llama", Hidden: 2048, Layers: 22, Heads: 32, KV: 4, FFN: 5632, Vocab: 32000, Context: 2048, Theta: 10000, Eps: 1e-5},
	"qwen2.5-0.5b":   {Family: "qwen2", Hidden: 896, Layers: 24, Heads: 14, KV: 2, FFN: 4864, Vocab: 151936, Context: 32768, Tied: true, Theta: 1e6, Eps: 1e-6},
}

// complete fills in derived values and rejects impossible ones.
func (s shapes) complete() (shapes, error) {
	if s.KV == 0 {
		s.KV = s.Heads
	}
	if s.FFN == 0 {
		s.FFN = 3 * s.Hidden
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
		{"ffn", s.FFN, 1}, {"vocab", s.Vocab, tokens}, {"context", s.Context, 1},
	} {
		if x.v < x.least || x.v > most {
			return s, fmt.Errorf("%s: want %d to %d, got %d", x.name, x.least, most, x.v)
		}
	}
	switch {
	case s.Family != "llama" && s.Family != "qwen2":
		return s, fmt.Errorf("family: want llama or qwen2, got %q", s.Family)
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
		matrix(p+"mlp.gate_proj", s.FFN, s.Hidden)
		matrix(p+"mlp.up_proj", s.FFN, s.Hidden)
		matrix(p+"mlp.down_proj", s.Hidden, s.FFN)
	}
	norm("model.norm")
	if !s.Tied {
		matrix("lm_head", s.Vocab, s.Hidden)
	}
	return out
}
