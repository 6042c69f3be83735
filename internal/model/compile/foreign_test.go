package compile

import (
	"math"
	"strings"
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
		{config: `{"model_type": "bert", ` + small + `"max_position_embeddings": 64}`,
			want: map[string]float64{"tokenizer.ggml.token_type_count": 2}, without: []string{"bert.classifier.pooling_type"}, tensor: "token_types.weight"},
		{config: `{"model_type": "distilbert", "n_layers": 3, "dim": 64, "vocab_size": 32, "n_heads": 4, "hidden_dim": 48}`,
			want: map[string]float64{"tokenizer.ggml.token_type_count": 1}, tensor: "blk.2.ffn_up.weight"},
		{config: `{"model_type": "modernbert", ` + small + `"architectures": ["ModernBertForSequenceClassification"], "classifier_pooling": "mean", "id2label": {"0": "no", "1": "yes"}}`,
			want: map[string]float64{"modern-bert.pooling_type": 4, "modern-bert.classifier.pooling_type": 1}, without: []string{"tokenizer.ggml.token_type_count"}, tensor: "cls.output.weight"},
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

// TestEncoderOfLlamaCpp: what llama.cpp's converter writes of ModernBERT and of
// EmbeddingGemma that ours wrote otherwise, and what is read of it.
func TestEncoderOfLlamaCpp(t *testing.T) {
	const modern = `{"model_type": "modernbert", "num_hidden_layers": 4, "hidden_size": 64, "vocab_size": 32, "num_attention_heads": 4, "intermediate_size": 48,
		"architectures": ["ModernBertForSequenceClassification"], "classifier_pooling": "mean", "id2label": {"0": "no", "1": "yes"}, "hidden_activation": "silu"}`
	m, err := fromJSON(modern)
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, kv := range x.Meta {
		has[kv.Key] = true
	}
	if !has["modern-bert.hidden_activation"] || !has["modern-bert.classifier.output_labels"] || has[ownAct] || has[ownConfig] {
		t.Errorf("keys %v", has)
	}
	// As llama.cpp's converter writes them, and as ours did.
	for _, c := range []struct {
		set     map[string]file.Value
		drop    []string
		pool    string
		act     string
		windows []bool
	}{
		{set: map[string]file.Value{windowPattern: file.ValueOf(uint32(3))}, pool: poolMean, act: "silu", windows: []bool{false, true, true, false}},
		{drop: []string{windowPattern, hiddenAct, classifierPool}, pool: poolMean, act: "gelu_erf", windows: []bool{false, true, true, false}},
		{set: map[string]file.Value{classifierPool: file.ValueOf(uint32(2)), windowPattern: file.ValueOf(uint32(2))}, pool: poolFirst, act: "silu", windows: []bool{false, true, false, true}},
	} {
		y := *x
		y.Meta = nil
		for _, kv := range x.Meta {
			keep := true
			for _, key := range c.drop {
				keep = keep && kv.Key != "modern-bert."+key
			}
			for key := range c.set {
				keep = keep && kv.Key != "modern-bert."+key
			}
			if keep {
				y.Meta = append(y.Meta, kv)
			}
		}
		for key, v := range c.set {
			y.Meta = append(y.Meta, KV{"modern-bert." + key, v})
		}
		back, err := m.reg.readBack(&y)
		if err != nil {
			t.Error(err)
			continue
		}
		for i, l := range back.Layers {
			if (l.Window > 0) != c.windows[i] {
				t.Errorf("%v without %v: layer %d has the window %d", c.set, c.drop, i, l.Window)
			}
		}
		if e := back.Encoder; e.Pool != c.pool || back.Act != c.act || e.Labels != 2 || e.Dense[0].Act != "gelu" {
			t.Errorf("%v without %v: %+v, %s", c.set, c.drop, *e, back.Act)
		}
	}
}

// TestBambaOfLlamaCpp: the converter reorders rows of whole heads, of which the model
// rotates half, and states that width only if the configuration has attn_rotary_emb.
// Files of ours state the width of keys, and have only the rotated rows in that order.
func TestBambaOfLlamaCpp(t *testing.T) {
	m, err := fromJSON(`{"model_type": "bamba", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
		"intermediate_size": 48, "attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16}`)
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := m.reg.readBack(x); err != nil || !c.Interleaved || c.WholeHeads || c.rope("full").Dim != 8 {
		t.Errorf("our own file: %+v, %v", c, err)
	}
	for _, width := range []uint32{8, 16} {
		y := *x
		y.Meta = nil
		for _, kv := range x.Meta {
			switch kv.Key {
			case "granitehybrid.attention.key_length", "granitehybrid.attention.value_length", ownConfig:
			case "granitehybrid.rope.dimension_count":
				y.Meta = append(y.Meta, KV{kv.Key, file.ValueOf(width)})
			default:
				y.Meta = append(y.Meta, kv)
			}
		}
		c, err := m.reg.readBack(&y)
		if err != nil {
			t.Fatal(err)
		}
		if c.Interleaved || !c.WholeHeads || c.rope("full").Dim != 8 {
			t.Errorf("width %d: interleaved %v, whole heads %v, %d rotated", width, c.Interleaved, c.WholeHeads, c.rope("full").Dim)
		}
		q := c.written(graniteHybridWeights.get("attn_q"))
		if q.Pick == nil {
			t.Fatal("rows of q are taken as they are")
		}
		if rows := q.Pick(c); len(rows) != 64 || rows[1] != [2]int{2, 3} || rows[8] != [2]int{1, 2} || rows[16] != [2]int{16, 17} {
			t.Errorf("rows %v", rows)
		}
	}
}

// TestEncodersForOthers: llama.cpp refuses EmbeddingGemma's projections without their
// widths; its own files of BERT's classifiers lack a weight, and the error says so.
func TestEncodersForOthers(t *testing.T) {
	d := &file.Description{Format: file.HuggingFace, Config: []byte(`{"model_type": "gemma3_text", "use_bidirectional_attention": true, "num_hidden_layers": 2,
		"hidden_size": 64, "vocab_size": 32, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 48}`),
		Files: map[string][]byte{
			modulesFile:           []byte(`[{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}, {"path": "2_Dense", "type": "x.Dense"}, {"path": "3_Dense", "type": "x.Dense"}]`),
			poolingFile:           []byte(`{"pooling_mode_mean_tokens": true}`),
			"2_Dense/config.json": []byte(`{"in_features": 64, "out_features": 96, "activation_function": "torch.nn.modules.linear.Identity"}`),
			"3_Dense/config.json": []byte(`{"in_features": 96, "out_features": 64, "activation_function": "torch.nn.modules.linear.Identity"}`),
		}}
	m, err := Compile(d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.GGUF()
	if err != nil {
		t.Fatal(err)
	}
	widths := map[string]uint64{}
	for _, kv := range x.Meta {
		if n, ok := kv.Value.Uint(); ok {
			widths[kv.Key] = n
		}
	}
	for i, want := range []uint64{64, 96, 96, 64} {
		key := "gemma-embedding." + []string{"dense_2_feat_in", "dense_2_feat_out", "dense_3_feat_in", "dense_3_feat_out"}[i]
		if widths[key] != want {
			t.Errorf("%s = %d, want %d", key, widths[key], want)
		}
	}

	m, err = fromJSON(`{"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 32, "num_attention_heads": 4, "intermediate_size": 48,
		"max_position_embeddings": 64, "architectures": ["BertForSequenceClassification"], "num_labels": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	if x, err = m.GGUF(); err != nil {
		t.Fatal(err)
	}
	d = &file.Description{Path: "foreign", Format: file.GGUF}
	for _, kv := range x.Meta {
		d.Meta.Set(kv.Key, kv.Value)
	}
	for _, w := range x.Tensors {
		if w.Name != "cls.weight" {
			d.Tensors = append(d.Tensors, file.Tensor{Name: w.Name, View: tensor.View{DType: tensor.F32, Shape: w.Shape}})
		}
	}
	if _, err = Compile(d, Options{}); err == nil || !strings.Contains(err.Error(), "llama.cpp's converter leaves out") {
		t.Error(err)
	}
}
