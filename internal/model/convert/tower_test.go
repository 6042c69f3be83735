package convert

import (
	"path/filepath"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/tensor"
)

// TestTowerTypes: the tower's file has the type of a decoder of floats, and sixteen
// bits beside one of blocks. llama.cpp reads patches and positions as F32 only, and
// its converter leaves the projection of Gemma 3 in F16.
func TestTowerTypes(t *testing.T) {
	for _, c := range []struct {
		name, of, mix string
		want          tensor.DType
	}{
		{"qwen2_vl", "v.blk.0.attn_q.weight", "f32", tensor.F32},
		{"qwen2_vl", "v.blk.0.attn_q.weight", "bf16", tensor.BF16},
		{"qwen2_vl", "v.blk.0.attn_q.weight", "f16", tensor.F16},
		{"qwen2_vl", "v.blk.0.attn_q.weight", "q8_0", tensor.F16},
		{"qwen2_vl", "v.blk.0.attn_q.weight", "q4_k_m", tensor.F16},
		{"qwen2_vl", "v.patch_embd.weight", "bf16", tensor.F32},
		{"gemma3_vl", "v.blk.0.attn_q.weight", "bf16", tensor.BF16},
		{"gemma3_vl", "mm.input_projection.weight", "bf16", tensor.F16},
		{"gemma3_vl", "mm.input_projection.weight", "f32", tensor.F32},
	} {
		folder := filepath.Join(golden.Family(t, "parity"), c.name)
		mix, err := quant.ParseMix(c.mix)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		if _, err := Convert(t.Context(), open(t, folder), path, Options{Mix: mix}); err != nil {
			t.Fatal(err)
		}
		x, ok := open(t, file.TowerName(path)).Tensor(c.of)
		if !ok {
			t.Errorf("%s: no %s", c.name, c.of)
		} else if x.View.DType != c.want {
			t.Errorf("%s as %s: %s is %s, want %s", c.name, c.mix, c.of, x.View.DType, c.want)
		}
	}
}
