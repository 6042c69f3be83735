package file

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/model/quant"
	"atenia/tensor"
)

// packedCases are the fixtures of tools/torch/packed.py, with the type in which
// matrices are presented.
var packedCases = map[string]tensor.DType{
	"awq":                   tensor.Q8_0,
	"bnb_fp4":               tensor.BF16,
	"bnb_int8":              tensor.F16,
	"bnb_nf4":               tensor.BF16,
	"bnb_nf4_nested":        tensor.F16,
	"compressed_fp8":        tensor.BF16,
	"compressed_fp8_block":  tensor.BF16,
	"compressed_fp8_tensor": tensor.BF16,
	"compressed_int3":       tensor.Q4_0,
	"compressed_int4":       tensor.Q4_0,
	"compressed_int4_asym":  tensor.Q8_0,
	"compressed_int8":       tensor.Q8_0,
	"compressed_mxfp4":      tensor.MXFP4,
	"compressed_nvfp4":      tensor.BF16,
	"fp8_block":             tensor.BF16,
	"fp8_row":               tensor.BF16,
	"gptq2":                 tensor.Q4_0,
	"gptq3":                 tensor.Q4_0,
	"gptq4":                 tensor.Q4_0,
	"gptq4_asym":            tensor.Q8_0,
	"gptq4_order":           tensor.F16,
	"gptq8":                 tensor.Q8_0,
	"gptq_v2":               tensor.Q8_0,
}

// Every weight of a quantized folder, rounded to the reference's type, has the
// reference's bits.
func TestPacked(t *testing.T) {
	for name, kind := range packedCases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("..", "quant", "testdata", name)
			d, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			b, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Weights map[string]struct {
					DType  tensor.DType
					SHA256 string
					First  []float32
				}
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			if len(d.Tensors) != len(want.Weights) {
				t.Errorf("%d tensors, want %d", len(d.Tensors), len(want.Weights))
			}
			made := 0
			for i := range d.Tensors {
				x := &d.Tensors[i]
				v, w := x.Read(), want.Weights[x.Name]
				values := make([]float32, x.View.Shape.Rows()*x.View.Shape.Cols())
				if err := quant.Dequantize(values, v.DType, v.Data); err != nil {
					t.Fatal(err)
				}
				if x.Made() {
					if made++; v.DType != kind {
						t.Errorf("%s is %v, want %v", x.Name, v.DType, kind)
					}
				}
				if got := hashOf(values, w.DType); got != w.SHA256 {
					t.Errorf("%s starts with %v, want %v, as %v", x.Name, values[:len(w.First)], w.First, w.DType)
				}
			}
			if made != 7 {
				t.Errorf("%d matrices are made, want 7", made)
			}
		})
	}
}

func hashOf(values []float32, d tensor.DType) string {
	var b []byte
	for _, x := range values {
		if x == 0 {
			x = 0 // references have negative zeros, blocks of integers do not
		}
		switch d {
		case tensor.F16:
			b = binary.LittleEndian.AppendUint16(b, tensor.F32ToF16(x))
		case tensor.BF16:
			b = binary.LittleEndian.AppendUint16(b, tensor.F32ToBF16(x))
		default:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	h := sha256.Sum256(b)
	return fmt.Sprintf("%x", h)
}

// TestPlainConfig: a configuration without packing is the rest of it, as it was written.
func TestPlainConfig(t *testing.T) {
	for config, want := range map[string]string{
		`{"a": 1, "b": [2]}`: `{"a": 1, "b": [2]}`,
		`{"a": 1, "quantization_config": {"bits": 4}, "b": 2}`:                          `{"a": 1,  "b": 2}`,
		"{\n  \"a\": 1,\n  \"quantization_config\": {\"x\": \",}\"}\n}":                 "{\n  \"a\": 1\n}",
		`{"quantization_config": {}}`:                                                   `{}`,
		`{"a": 1, "quantization_config": {}, "compression_config": {}}`:                 `{"a": 1}`,
		`{"text_config": {"b": 2, "quantization_config": {}}, "compression_config": 3}`: `{"text_config": {"b": 2}}`,
		`{"a": {"quantization_config": 1}}`:                                             `{"a": {"quantization_config": 1}}`,
		`{"quantization_config"`:                                                        `{"quantization_config"`,
	} {
		if got := string(PlainConfig([]byte(config))); got != want {
			t.Errorf("%s becomes %s, want %s", config, got, want)
		}
	}
}
