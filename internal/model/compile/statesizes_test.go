package compile

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"atenia/internal/model/file"
	"atenia/internal/plan"
)

// pageTokens and span are how many positions a page holds, and how many tokens a
// gated delta rule keeps until it adds them to its matrix.
const pageTokens, span = 16, 32

// stateSizes has for models that together have every kind of state the bytes of each
// section in one layer, from the numbers of config.json allayers: the formulas of each
// mixer's paper. Mixers that compute by chunks keep the chunk's rows as well, in
// sections of their own.
var stateSizes = []struct {
	name   string
	state  plan.StateKey
	size   func(n func(string) int) map[string]int
	layers int
}{
	{name: "llama3", layers: 3, size: func(n func(string) int) map[string]int {
		half := pageTokens * n("num_key_value_heads") * n("head_dim") * 4
		return map[string]int{"k": half, "v": half}
	}},
	{name: "deepseek_v2", layers: 3, size: func(n func(string) int) map[string]int { // kept instead of keys and values
		return map[string]int{"ckv": pageTokens * n("kv_lora_rank") * 4, "kpe": pageTokens * n("qk_rope_head_dim") * 4}
	}},
	{name: "lfm2", state: plan.StateKey{Kind: plan.StateConv}, layers: 3, size: func(n func(string) int) map[string]int {
		return map[string]int{"conv": 4 * (n("conv_L_cache") - 1) * n("hidden_size")}
	}},
	{name: "mamba", state: plan.StateKey{Kind: plan.StateRecurrent}, layers: 3, size: func(n func(string) int) map[string]int {
		inner := n("intermediate_size")
		return map[string]int{"conv": 4 * (n("conv_kernel") - 1) * inner, "ssm": 4 * inner * n("state_size")}
	}},
	{name: "mamba2_groups", state: plan.StateKey{Kind: plan.StateRecurrent}, layers: 2, size: func(n func(string) int) map[string]int {
		return mamba2Sizes(n("num_heads"), n("head_dim"), n("state_size"), n("n_groups"), n("conv_kernel"), n("chunk_size"))
	}},
	{name: "granite_hybrid", state: plan.StateKey{Kind: plan.StateRecurrent}, layers: 3, size: func(n func(string) int) map[string]int {
		return mamba2Sizes(n("mamba_n_heads"), n("mamba_d_head"), n("mamba_d_state"), n("mamba_n_groups"), n("mamba_d_conv"), n("mamba_chunk_size"))
	}},
	{name: "qwen3_next", state: plan.StateKey{Kind: plan.StateRecurrent}, layers: 3, size: func(n func(string) int) map[string]int {
		kh, vh, kd, vd := n("linear_num_key_heads"), n("linear_num_value_heads"), n("linear_key_head_dim"), n("linear_value_head_dim")
		return map[string]int{
			"conv":  4 * (n("linear_conv_kernel_dim") - 1) * (2*kh*kd + vh*vd),
			"heads": 4 * (vh*kd*vd + vh*span*(vd+1)), // the matrix; corrected values and sums of decays
			"keys":  4 * kh * kd * span,
		}
	}},
	{name: "rwkv7", state: plan.StateKey{Kind: plan.StateRecurrent}, layers: 1, size: rwkvSizes},
	{name: "rwkv7", state: plan.StateKey{Kind: plan.StateRecurrent, Group: 1}, layers: 2, size: rwkvSizes},
	{name: "whisper", state: plan.StateKey{Kind: plan.StateCrossKV}, layers: 2, size: func(n func(string) int) map[string]int {
		half := (n("max_source_positions") + 15) / 16 * 16 * n("d_model") * 4
		return map[string]int{"k": half, "v": half}
	}},
}

func mamba2Sizes(heads, width, state, groups, taps, chunk int) map[string]int {
	inner := heads * width
	return map[string]int{
		"conv": 4 * (taps - 1) * (inner + 2*groups*state), "ssm": 4 * heads * width * state,
		"x": 4 * chunk * inner, "b": 4 * chunk * groups * state, "sums": 8 * chunk * heads,
	}
}

func rwkvSizes(n func(string) int) map[string]int {
	d, h := n("hidden_size"), n("head_dim")
	return map[string]int{"shift": 4 * d, "channel": 4 * d, "wkv": 4 * (d / h) * h * h}
}

// TestStateSizes: every state is a descriptor, whose sections have the sizes of the
// formulas, at aligned places one after the other, for each layer that has it.
func TestStateSizes(t *testing.T) {
	covered := map[string]bool{"scratch": true} // of the executor's own memory, not declared by a plan
	for _, c := range stateSizes {
		t.Run(c.name+"_"+c.state.Kind.String(), func(t *testing.T) {
			text, err := os.ReadFile("testdata/structure/" + c.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			config, _, _ := strings.Cut(strings.TrimPrefix(string(text), "-- config.json --\n"), "-- config --\n")
			var keys map[string]any
			if err := json.Unmarshal([]byte(config), &keys); err != nil {
				t.Fatal(err)
			}
			m, err := Compile(&file.Description{Format: file.HuggingFace, Config: []byte(config)}, Options{PageTokens: pageTokens})
			if err != nil {
				t.Fatal(err)
			}
			want := c.size(func(key string) int {
				v, ok := keys[key].(float64)
				if !ok {
					t.Fatalf("config.json has no number %s", key)
				}
				return int(v)
			})
			at := slices.IndexFunc(m.Plans.Decode.Plan.States, func(d plan.StateDescriptor) bool {
				return plan.StateKey{Kind: d.Kind, Group: d.Group} == c.state
			})
			if at < 0 {
				t.Fatal("no such state")
			}
			d := &m.Plans.Decode.Plan.States[at]
			stride, got := 0, map[string]int{}
			for _, s := range d.Sections {
				if int(s.Offset) != stride {
					t.Errorf("section %s begins at %d, want %d", s.Name, s.Offset, stride)
				}
				got[s.Name] = int(s.Bytes)
				stride += (int(s.Bytes) + 63) &^ 63
			}
			if !maps.Equal(got, want) {
				t.Errorf("sections have %v bytes, the formulas give %v", got, want)
			}
			if int(d.Layers) != c.layers || int(d.LayerStride) != stride || int(d.SizeBytes) != c.layers*stride {
				t.Errorf("%d layers of %d bytes, %d altogether; want %d of %d", d.Layers, d.LayerStride, d.SizeBytes, c.layers, stride)
			}
			covered[c.state.Kind.String()] = true
		})
	}
	for k := range plan.NumStateKinds {
		if !covered[k.String()] {
			t.Errorf("no model has a state of kind %s", k)
		}
	}
}
