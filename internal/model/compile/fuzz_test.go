package compile

import (
	"errors"
	"testing"

	"atenia/internal/model/file"
	"atenia/internal/plan"
)

// typed reports whether an error is of a kind that Compile promises.
func typed(err error) bool {
	if _, ok := errors.AsType[*configError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*UnsupportedModelError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*weightBindingError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*file.FormatError](err); ok {
		return true
	}
	_, ok := errors.AsType[*plan.PlanError](err)
	return ok
}

// FuzzConfig: no config.json makes the compiler panic, and what compiles can
// be written as GGUF and is read back as the same model.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{"model_type": "llama", ` + small + `}`,
		`{"model_type": "gemma3_text", "rope_parameters": {"full_attention": {"rope_theta": 100, "rope_type": "linear", "factor": 8}, "sliding_attention": {"rope_theta": 50}}, ` + small + `}`,
		`{"model_type": "phi3", "rope_scaling": {"type": "longrope", "short_factor": [1,1,1,1,1,1,1,1], "long_factor": [2,2,2,2,2,2,2,2]}, ` + small + `}`,
		`{"model_type": "mistral", "num_key_value_heads": 2, "rope_scaling": {"rope_type": "yarn", "factor": 4, "mscale": 2, "mscale_all_dim": 1, "truncate": false}, ` + small + `}`,
		`{"model_type": "llama", "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}, "x": NaN, ` + small + `}`,
		`{"model_type": "llama", "rope_scaling": {"rope_type": "dynamic", "factor": 2}, ` + small + `}`,
		`{"model_type": "smollm3", "no_rope_layers": [0, 1, 0, 1], ` + small + `}`,
		`{"model_type": "qwen2", "num_key_value_heads": 2, "use_sliding_window": true, "layer_types": ["full_attention", "sliding_attention", "attention", "full_attention"], ` + small + `}`,
		`{"model_type": "granite", "logits_scaling": 3, "rms_norm_eps": {"__float__": "Infinity"}, ` + small + `}`,
		`{"text_config": {"model_type": "gemma2", "query_pre_attn_scalar": 24, ` + small + `}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		m, err := Compile(&file.Description{Format: file.HuggingFace, Config: config}, Options{})
		if err != nil {
			if !typed(err) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		x, err := m.GGUF()
		if err != nil {
			t.Fatalf("%s compiles but cannot be written: %v", config, err)
		}
		if _, err := m.reg.readBack(x); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzHeader: no GGUF header makes the compiler panic. Values come from three
// numbers and a text.
func FuzzHeader(f *testing.F) {
	f.Add("llama", "rope.scaling.type", "yarn", uint32(4), float32(1e-5))
	f.Add("gemma3", "attention.sliding_window_pattern", "", uint32(2), float32(1))
	f.Add("phi3", "attention.head_count_kv", "linear", uint32(0), float32(-1))
	f.Add("mistral3", "attention.key_length", "none", uint32(1<<31), float32(1e38))
	f.Fuzz(func(t *testing.T, arch, key, text string, n uint32, x float32) {
		var meta file.Metadata
		meta.Set("general.architecture", file.ValueOf(arch))
		for _, k := range []string{"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count", "vocab_size"} {
			meta.Set(arch+"."+k, file.ValueOf(uint32(8)))
		}
		meta.Set(arch+".attention.layer_norm_rms_epsilon", file.ValueOf(x))
		for i, v := range []file.Value{file.ValueOf(n), file.ValueOf(x), file.ValueOf(text), file.ArrayOf([]uint32{n, 1, n}), file.ArrayOf([]bool{true, false})} {
			k := arch + "." + key
			if i%2 == 1 {
				k = ateniaKeys + key
			}
			meta.Set(k, v)
			if _, err := Compile(&file.Description{Format: file.GGUF, Meta: meta}, Options{}); err != nil && !typed(err) {
				t.Fatalf("error of type %T: %v", err, err)
			}
		}
	})
}
