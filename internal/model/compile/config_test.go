package compile

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"atenia/internal/model/file"
	"atenia/internal/plan"
)

// small has the default values of the configurations below.
const small = `"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 50, "max_position_embeddings": 128`

func fromJSON(config string) (*Model, error) {
	return Compile(&file.Description{Format: file.HuggingFace, Config: []byte(config)}, Options{})
}

func mustConfig(t *testing.T, config string) Config {
	t.Helper()
	m, err := fromJSON(config)
	if err != nil {
		t.Fatal(err)
	}
	return m.Config
}

func windows(c Config) (out []int) {
	for _, l := range c.Layers {
		out = append(out, l.Window)
	}
	return out
}

func ropes(c Config) (out []string) {
	for _, l := range c.Layers {
		out = append(out, l.Rope)
	}
	return out
}

// TestConfigTraps: published configurations omit keys, have them twice, or spell
// them differently. get returns the value that a case checks.
func TestConfigTraps(t *testing.T) {
	type get = func(Config) any
	first := func(c Config) any { return c.Layers[0].Window }
	theta := func(c Config) any { return c.Ropes[0].Theta }
	for _, x := range []struct {
		name, config string
		get          get
		want         any
	}{
		{"absent is the family's default", `{"model_type": "llama", ` + small + `}`, func(c Config) any { return c.NormEps }, float32(1e-6)},
		{"phi3 has another epsilon", `{"model_type": "phi3", ` + small + `}`, func(c Config) any { return c.NormEps }, float32(1e-5)},
		{"kv heads absent", `{"model_type": "llama", ` + small + `}`, func(c Config) any { return c.KVHeads }, 4},
		{"kv heads null", `{"model_type": "mistral", "num_key_value_heads": null, ` + small + `}`, func(c Config) any { return c.KVHeads }, 4},
		{"head width null", `{"model_type": "llama", "head_dim": null, ` + small + `}`, func(c Config) any { return c.HeadDim }, 16},
		{"head width of qwen3 absent", `{"model_type": "qwen3", "num_key_value_heads": 2, ` + small + `}`, func(c Config) any { return c.HeadDim }, 128},
		{"a whole config of defaults", `{"model_type": "gemma3_text"}`, func(c Config) any { return []int{c.Hidden, c.Heads, c.KVHeads, c.HeadDim, c.Vocab, len(c.Layers)} }, []int{2304, 8, 4, 256, 262208, 26}},
		{"mistral window absent", `{"model_type": "mistral", "num_key_value_heads": 2, ` + small + `}`, first, 4096},
		{"mistral window null", `{"model_type": "mistral", "num_key_value_heads": 2, "sliding_window": null, ` + small + `}`, first, 0},
		{"qwen2 window not used", `{"model_type": "qwen2", "num_key_value_heads": 2, "sliding_window": 9, "max_window_layers": 0, ` + small + `}`, first, 0},
		{"qwen2 window from a layer on", `{"model_type": "qwen2", "num_key_value_heads": 2, "sliding_window": 9, "max_window_layers": 3, "use_sliding_window": true, ` + small + `}`, func(c Config) any { return windows(c) }, []int{0, 0, 0, 9}},
		{"layer types win", `{"model_type": "qwen2", "num_key_value_heads": 2, "sliding_window": 9, "max_window_layers": 3, "use_sliding_window": true, "layer_types": ["sliding_attention", "attention", "full_attention", "sliding_attention"], ` + small + `}`, func(c Config) any { return windows(c) }, []int{9, 0, 0, 9}},
		{"gemma2 windows alternate", `{"model_type": "gemma2", "sliding_window": 7, ` + small + `}`, func(c Config) any { return windows(c) }, []int{7, 0, 7, 0}},
		{"gemma3 pattern", `{"model_type": "gemma3_text", "sliding_window_pattern": 2, "sliding_window": 7, ` + small + `}`, func(c Config) any { return ropes(c) }, []string{"sliding", "full", "sliding", "full"}},
		{"gemma2 caps absent", `{"model_type": "gemma2", ` + small + `}`, func(c Config) any { return []float32{c.AttnCap, c.LogitCap} }, []float32{50, 30}},
		{"gemma2 caps null", `{"model_type": "gemma2", "attn_logit_softcapping": null, "final_logit_softcapping": null, ` + small + `}`, func(c Config) any { return []float32{c.AttnCap, c.LogitCap} }, []float32{0, 0}},
		{"gemma's gelu is the tanh form", `{"model_type": "gemma", "num_key_value_heads": 1, "hidden_act": "gelu", ` + small + `}`, func(c Config) any { return c.Act }, "gelu_tanh"},
		{"hidden_activation wins", `{"model_type": "gemma2", "hidden_act": "silu", "hidden_activation": "gelu", ` + small + `}`, func(c Config) any { return c.Act }, "gelu_erf"},
		{"gemma is tied", `{"model_type": "gemma", "num_key_value_heads": 1, ` + small + `}`, func(c Config) any { return c.TiedHead }, true},
		{"the outer tie wins", `{"model_type": "gemma3", "tie_word_embeddings": false, "text_config": {"tie_word_embeddings": true, ` + small + `}}`, func(c Config) any { return c.TiedHead }, false},
		{"the inner tie alone", `{"model_type": "mistral3", "text_config": {"tie_word_embeddings": true, "num_key_value_heads": 2, ` + small + `}}`, func(c Config) any { return c.TiedHead }, true},
		{"rope in release 4", `{"model_type": "llama", "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2}, ` + small + `}`, func(c Config) any { return c.Ropes[0] }, RotaryTable{Name: "full", Dim: 16, Theta: 5e5, Scaling: "linear", Factor: 2, Scale: 1}},
		{"rope in release 5", `{"model_type": "llama", "rope_parameters": {"rope_theta": 5e5, "rope_type": "linear", "factor": 2, "partial_rotary_factor": 0.5}, ` + small + `}`, func(c Config) any { return c.Ropes[0] }, RotaryTable{Name: "full", Dim: 8, Theta: 5e5, Scaling: "linear", Factor: 2, Scale: 1}},
		{"rope by kind of layer", `{"model_type": "gemma3_text", "rope_parameters": {"full_attention": {"rope_theta": 100, "rope_type": "default"}, "sliding_attention": {"rope_theta": 50}}, "sliding_window_pattern": 2, ` + small + `}`, func(c Config) any { return []float32{c.Ropes[0].Theta, c.Ropes[1].Theta} }, []float32{100, 50}},
		{"theta outside rope_parameters", `{"model_type": "llama", "rope_theta": 77, "rope_parameters": {"rope_type": "default"}, ` + small + `}`, theta, float32(77)},
		{"partly rotated", `{"model_type": "phi3", "partial_rotary_factor": 0.75, ` + small + `}`, func(c Config) any { return c.Ropes[0].Dim }, 12},
		{"yarn keeps the given factor", `{"model_type": "qwen2", "num_key_value_heads": 2, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 128}, ` + small + `}`, func(c Config) any { return c.Ropes[0].Factor }, float32(4)},
		{"yarn derives a missing factor", `{"model_type": "llama", "rope_scaling": {"type": "yarn", "original_max_position_embeddings": 32}, ` + small + `}`, func(c Config) any { return c.Ropes[0].Factor }, float32(4)},
		{"yarn's attention factor wins", `{"model_type": "llama", "rope_scaling": {"type": "yarn", "factor": 4, "attention_factor": 1.5, "mscale": 2, "mscale_all_dim": 1}, ` + small + `}`, func(c Config) any { return c.Ropes[0].Scale }, float32(1.5)},
		{"yarn's two strengths", `{"model_type": "llama", "rope_scaling": {"type": "yarn", "factor": 4, "mscale": 2, "mscale_all_dim": 1}, ` + small + `}`, func(c Config) any { return c.Ropes[0].Scale }, float32((0.2*math.Log(4) + 1) / (0.1*math.Log(4) + 1))},
		{"longrope by its old name", `{"model_type": "phi3", "original_max_position_embeddings": 32, "rope_scaling": {"type": "su", "short_factor": [1,1,1,1,1,1,1,1], "long_factor": [2,2,2,2,2,2,2,2]}, ` + small + `}`, func(c Config) any { return []any{c.Ropes[0].Scaling, c.Ropes[0].Original, c.Ropes[0].Scale} }, []any{"longrope", 32, float32(math.Sqrt(1 + math.Log(4)/math.Log(32)))}},
		{"smollm3 has no rope in every fourth layer", `{"model_type": "smollm3", ` + small + `}`, func(c Config) any { return ropes(c) }, []string{"full", "full", "full", ""}},
		{"smollm3 listed", `{"model_type": "smollm3", "no_rope_layers": [0, 1, 0, 1], ` + small + `}`, func(c Config) any { return ropes(c) }, []string{"", "full", "", "full"}},
		{"granite's multipliers", `{"model_type": "granite", "embedding_multiplier": 12, "residual_multiplier": 0.5, "attention_multiplier": 0.25, "logits_scaling": 8, ` + small + `}`, func(c Config) any { return []float32{c.EmbedMul, c.BranchMul, c.AttnScale, c.LogitMul} }, []float32{12, 0.5, 0.25, 0.125}},
		{"biases asked for", `{"model_type": "llama", "attention_bias": true, "mlp_bias": true, ` + small + `}`, func(c Config) any { return []Presence{c.QKVBias, c.OutBias, c.FFNBias} }, []Presence{Present, Present, Present}},
		{"qwen2 has biases and no key for them", `{"model_type": "qwen2", "num_key_value_heads": 2, ` + small + `}`, func(c Config) any { return []Presence{c.QKVBias, c.OutBias, c.FFNBias} }, []Presence{Present, Absent, Absent}},
		{"epsilon by another name", `{"model_type": "llama", "layer_norm_epsilon": 0.5, ` + small + `}`, func(c Config) any { return c.NormEps }, float32(0.5)},
		{"bare Infinity is read", `{"model_type": "llama", "time_step_limit": [0.0, Infinity], "x": [-Infinity, NaN, "Infinity \" NaN"], ` + small + `}`, func(c Config) any { return c.Hidden }, 64},
		{"a number as an object", `{"model_type": "llama", "rms_norm_eps": {"__float__": "0.25"}, ` + small + `}`, func(c Config) any { return c.NormEps }, float32(0.25)},
		{"whole numbers with a point", `{"model_type": "llama", "head_dim": 8.0, ` + small + `}`, func(c Config) any { return c.HeadDim }, 8},
		{"ministral3 scales queries", `{"model_type": "ministral3", "num_key_value_heads": 2, ` + small + `}`, func(c Config) any { return []any{c.TempBeta, c.TempOrig, c.Ropes[0].Scale} }, []any{float32(0.1), 16384, float32(1)}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := x.get(mustConfig(t, x.config)); !reflect.DeepEqual(got, x.want) {
				t.Errorf("want %v, got %v", x.want, got)
			}
		})
	}
}

func TestConfigFaults(t *testing.T) {
	for _, x := range []struct{ name, config, want string }{
		{"not JSON", "{\n  \"model_type\": llama}", "config.json:2:"},
		{"not an object", `[1]`, "want a JSON object"},
		{"two objects", `{"model_type": "llama"} {}`, "more text"},
		{"text for a number", `{"model_type": "llama", "hidden_size": "big"}`, `hidden_size: want a whole number from 0 to 1048576, got "big"`},
		{"infinite width", `{"model_type": "llama", "hidden_size": Infinity}`, "hidden_size: want a whole number"},
		{"part of a layer", `{"model_type": "llama", "num_hidden_layers": 1.5}`, "num_hidden_layers"},
		{"too many layers", `{"model_type": "llama", "num_hidden_layers": 1e9}`, "num_hidden_layers"},
		{"no layers", `{"model_type": "llama", "num_hidden_layers": 0}`, "layers: want 1 to"},
		{"heads do not divide", `{"model_type": "llama", "num_attention_heads": 4, "num_key_value_heads": 3}`, "divisor of the 4"},
		{"odd rotation", `{"model_type": "llama", "head_dim": 7}`, "even number"},
		{"unknown activation", `{"model_type": "llama", "hidden_act": "sine"}`, `hidden_act: want a known activation, got "sine"`},
		{"unknown rope", `{"model_type": "llama", "rope_scaling": {"rope_type": "spiral"}}`, "spiral"},
		{"rope of the other format", `{"model_type": "llama", "rope_scaling": {"rope_type": "table"}}`, `got "table"`},
		{"short list of factors", `{"model_type": "phi3", "rope_scaling": {"type": "longrope", "short_factor": [1], "long_factor": [1]}}`, "want 48 values, got 1"},
		{"list of the wrong length", `{"model_type": "qwen3", "layer_types": ["full_attention"]}`, "layer_types: want 32 layers"},
		{"a kind the decoder lacks", `{"model_type": "qwen3", "num_hidden_layers": 1, "layer_types": ["mamba"]}`, "layer_types[0]"},
		{"experts in every layer", `{"model_type": "qwen2_moe", "num_experts": 16384, "moe_intermediate_size": 16, "num_hidden_layers": 300}`, "experts: want at most 65536 in all layers"},
		{"several at once", `{"model_type": "llama", "hidden_size": -1, "vocab_size": []}`, "vocab_size"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := fromJSON(x.config)
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Fatalf("want an error with %q, got %v", x.want, err)
			}
			if _, ok := errors.AsType[*configError](err); !ok {
				t.Errorf("want a *ConfigError, got %T", err)
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	for _, x := range []struct{ config, name, want string }{
		{`{"model_type": "phi-msft"}`, "phi-msft", "a different network"},
		{`{"model_type": "frobnicate"}`, "frobnicate", "unknown architecture"},
		{`{}`, "", "not stated"},
		{`{"model_type": "llama", "quantization_config": {"quant_method": "hqq"}}`, "hqq", "GGUF"},
	} {
		_, err := fromJSON(x.config)
		e, ok := errors.AsType[*UnsupportedModelError](err)
		if !ok || e.Name != x.name || !strings.Contains(err.Error(), x.want) || len(e.Supported) == 0 {
			t.Errorf("%s: want %q refused with %q, got %v", x.config, x.name, x.want, err)
		}
	}
	for name := range knownArchs {
		var meta file.Metadata
		meta.Set("general.architecture", file.ValueOf(name))
		_, err := Compile(&file.Description{Format: file.GGUF, Meta: meta}, Options{})
		if e, ok := errors.AsType[*UnsupportedModelError](err); !ok || e.Name != name {
			t.Errorf("architecture %s: want it refused, got %v", name, err)
		}
	}
}

// TestCacheGroups: one page table for each window, full layers first.
func TestCacheGroups(t *testing.T) {
	m, err := fromJSON(`{"model_type": "gemma2", "sliding_window": 7, "head_dim": 16, "num_key_value_heads": 2, ` + small + `}`)
	if err != nil {
		t.Fatal(err)
	}
	states := m.Plans.Decode.Plan.States
	if len(states) != 2 || states[0].Window != 0 || states[1].Window != 7 || states[0].Layers != 2 {
		t.Fatalf("states %+v", states)
	}
	const page = 16 * 2 * 16 * 4 // tokens × kv heads × width × bytes
	if s := states[1]; s.LayerStride != 2*page || s.SizeBytes != 4*page || s.Sections[1].Offset != page {
		t.Errorf("state %+v", s)
	}
	var ordinals []uint32
	for _, in := range m.Plans.Decode.Plan.Instructions {
		if in.Op == plan.OpAttention {
			p, err := m.Plans.Decode.Plan.Params[in.Param].Decode()
			if err != nil {
				t.Fatal(err)
			}
			ordinals = append(ordinals, p.(*plan.AttentionParams).Layer)
		}
	}
	if !reflect.DeepEqual(ordinals, []uint32{0, 0, 1, 1}) {
		t.Errorf("ordinals %v", ordinals)
	}
}

func TestProvenance(t *testing.T) {
	m, err := fromJSON(`{"model_type": "llama", "rms_norm_eps": 0.1, ` + small + `}`)
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{"norm_eps": "file rms_norm_eps", "head_dim": "derived", "rope.full.theta": "default", "attn_scale": "derived"} {
		if got := m.Provenance[field]; got != want {
			t.Errorf("%s: want %q, got %q", field, want, got)
		}
	}
}
