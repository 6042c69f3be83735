package quant

import (
	"errors"
	"strings"
	"testing"

	"atenia/tensor"
)

func stored(name string, d tensor.DType, shape ...int) Stored {
	n, err := tensor.Shape(shape).Bytes(d)
	if err != nil {
		panic(err)
	}
	return Stored{name, tensor.View{DType: d, Shape: shape, Data: make([]byte, n)}}
}

func TestPackedErrors(t *testing.T) {
	gptq := func(change ...Stored) []Stored {
		out := []Stored{stored("x.qweight", tensor.I32, 8, 32), stored("x.qzeros", tensor.I32, 2, 4), stored("x.scales", tensor.F16, 2, 32)}
		for _, c := range change {
			for i := range out {
				if out[i].Name == c.Name {
					out[i] = c
					c.Name = ""
				}
			}
			if c.Name != "" {
				out = append(out, c)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		how    string
		stored []Stored
		want   string // "" = none
	}{
		"gptq":           {`{"quant_method":"gptq","bits":4,"group_size":32}`, gptq(), ""},
		"gptq marlin":    {`{"quant_method":"gptq","bits":4,"checkpoint_format":"marlin"}`, gptq(), `checkpoint_format: want gptq or gptq_v2, got marlin`},
		"gptq bits":      {`{"quant_method":"gptq","bits":1}`, gptq(), "quantization_config.bits: want one of"},
		"gptq no scales": {`{"quant_method":"gptq","bits":4}`, gptq()[:2], `tensor "x.scales": name`},
		"gptq scales":    {`{"quant_method":"gptq","bits":4}`, gptq(stored("x.scales", tensor.F16, 2, 31)), `tensor "x.scales": shape: want [2, 32], got [2, 31]`},
		"gptq type":      {`{"quant_method":"gptq","bits":4}`, gptq(stored("x.qzeros", tensor.F32, 2, 4)), "element type: want one of [I32], got F32"},
		"gptq group":     {`{"quant_method":"gptq","bits":4}`, gptq(Stored{"x.g_idx", tensor.View{DType: tensor.I32, Shape: tensor.Shape{64}, Data: []byte(strings.Repeat("\x02\x00\x00\x00", 64))}}), "want groups that have scales"},
		"gptq twice":     {`{"quant_method":"gptq","bits":4}`, gptq(stored("x.weight", tensor.F16, 32, 64)), "as stored and in packed form"},
		"awq gemv":       {`{"quant_method":"awq","version":"GEMV"}`, nil, "version: want gemm, got gemv"},
		"marlin 24":      {`{"quant_method":"compressed-tensors","format":"marlin-24"}`, nil, "a dense format"},
		"packed width":   {`{"quant_method":"compressed-tensors","config_groups":{"g":{"weights":{"num_bits":4}}}}`, []Stored{stored("x.weight_packed", tensor.I32, 2, 2), stored("x.weight_shape", tensor.I32, 2)}, "two sides, got [0 0]"},
		"fp8 blocks":     {`{"quant_method":"fp8","weight_block_size":[32,32]}`, []Stored{stored("x.weight", tensor.F8E4M3, 64, 64), stored("x.weight_scale_inv", tensor.F32, 2, 3)}, "one factor for each block of [32 32] of 64 by 64 values"},
		"not an object":  {`[]`, nil, "want an object"},
		"no scales":      {`{"quant_method":"fp8"}`, []Stored{stored("x.weight", tensor.F8E4M3, 64, 64)}, ""},
		"unknown method": {`{"quant_method":"hqq"}`, nil, ""},
	} {
		f, err := Read([]byte(c.how), "float16", "", c.stored)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if name == "unknown method" && f != nil {
				t.Errorf("%s is read", name)
			}
			continue
		}
		if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
