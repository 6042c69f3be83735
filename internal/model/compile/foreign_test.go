package compile

import (
	"math"
	"testing"

	"atenia/internal/model/file"
	"atenia/tensor"
)

// TestKeysForOthers: llama.cpp refuses files without these keys and tensors, whether
// or not they say something new; found by loading files in it.
func TestKeysForOthers(t *testing.T) {
	const small = `"num_hidden_layers": 3, "hidden_size": 64, "vocab_size": 32, "num_attention_heads": 4, "intermediate_size": 48, `
	for _, c := range []struct {
		config  string
		want    map[string]float64
		without []string
		tensor  string
	}{
		{config: `{"model_type": "youtu", ` + small + `"q_lora_rank": 24, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}`,
			want: map[string]float64{"deepseek2.expert_feed_forward_length": 48, "deepseek2.expert_shared_count": 0, "deepseek2.leading_dense_block_count": 3,
				"deepseek2.attention.key_length": 40, "deepseek2.attention.key_length_mla": 24}, tensor: "blk.2.attn_k_b.weight"},
		{config: `{"model_type": "minicpm3", ` + small + `"q_lora_rank": 24, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8}`,
			want:    map[string]float64{"minicpm3.attention.key_length": 24, "minicpm3.attention.value_length": 16, "minicpm3.attention.head_count_kv": 4},
			without: []string{"minicpm3.attention.key_length_mla"}, tensor: "blk.2.attn_kv_b.weight"},
		{config: `{"model_type": "phimoe", ` + small + `"num_key_value_heads": 2, "num_local_experts": 4, "rms_norm_eps": 0.001}`,
			want: map[string]float64{"phimoe.attention.layer_norm_rms_epsilon": 0.001}, tensor: "blk.2.ffn_gate_exps.weight"},
		{config: `{"model_type": "lfm2_moe", ` + small + `"num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
			"num_dense_layers": 2, "layer_types": ["conv", "full_attention", "conv"]}`,
			want: map[string]float64{"lfm2moe.leading_dense_block_count": 2}, tensor: "blk.2.ffn_gate_inp.weight"},
	} {
		m, err := fromJSON(c.config)
		if err != nil {
			t.Error(err)
			continue
		}
		x, err := m.GGUF()
		if err != nil {
			t.Error(err)
			continue
		}
		keys := map[string]float64{}
		for _, kv := range x.Meta {
			if n, ok := kv.Value.Float(); ok {
				keys[kv.Key] = n
			} else if n, ok := kv.Value.Uint(); ok {
				keys[kv.Key] = float64(n)
			}
		}
		for key, want := range c.want {
			if got, there := keys[key]; !there || math.Abs(got-want) > 1e-6 {
				t.Errorf("%s = %v, %v, want %v", key, got, there, want)
			}
		}
		for _, key := range c.without {
			if _, there := keys[key]; there {
				t.Errorf("%s was written", key)
			}
		}
		there := false
		for _, w := range x.Tensors {
			there = there || w.Name == c.tensor
		}
		if !there {
			t.Errorf("%s has no %s", x.Arch, c.tensor)
		}
	}
}

// TestMiniCPM3OfLlamaCpp: the header that llama.cpp's converter writes states the
// widths of keys of heads, not of values, and none of the scales, which its code has.
func TestMiniCPM3OfLlamaCpp(t *testing.T) {
	d := &file.Description{Path: "foreign", Format: file.GGUF}
	d.Meta.Set("general.architecture", file.ValueOf("minicpm3"))
	for key, v := range map[string]uint32{"block_count": 2, "context_length": 64, "embedding_length": 64, "feed_forward_length": 48, "attention.head_count": 4,
		"attention.head_count_kv": 4, "vocab_size": 32, "attention.q_lora_rank": 24, "attention.kv_lora_rank": 32, "attention.key_length": 24, "rope.dimension_count": 8} {
		d.Meta.Set("minicpm3."+key, file.ValueOf(v))
	}
	d.Meta.Set("minicpm3.attention.layer_norm_rms_epsilon", file.ValueOf(float32(1e-5)))
	add := func(name string, shape ...int) {
		d.Tensors = append(d.Tensors, file.Tensor{Name: name, View: tensor.View{DType: tensor.F32, Shape: shape}})
	}
	add("token_embd.weight", 32, 64)
	add("output_norm.weight", 64)
	for _, l := range []string{"blk.0.", "blk.1."} {
		add(l+"attn_norm.weight", 64)
		add(l+"ffn_norm.weight", 64)
		add(l+"attn_q_a.weight", 24, 64)
		add(l+"attn_q_a_norm.weight", 24)
		add(l+"attn_q_b.weight", 96, 24)
		add(l+"attn_kv_a_mqa.weight", 40, 64)
		add(l+"attn_kv_a_norm.weight", 32)
		add(l+"attn_kv_b.weight", 128, 32)
		add(l+"attn_output.weight", 64, 64)
		add(l+"ffn_gate.weight", 48, 64)
		add(l+"ffn_up.weight", 48, 64)
		add(l+"ffn_down.weight", 64, 48)
	}
	m, err := Compile(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &m.Config
	if c.Latent.Nope != 16 || c.Latent.V != 16 || c.EmbedMul != 12 || math.Abs(float64(c.BranchMul)-1.4/math.Sqrt2) > 1e-6 || c.LogitMul != 4 {
		t.Errorf("%+v, scales %g, %g, %g", c.Latent, c.EmbedMul, c.BranchMul, c.LogitMul)
	}
	for _, n := range m.Diagnostics {
		t.Error(n)
	}
}
