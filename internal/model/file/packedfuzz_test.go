package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/model/quant"
	"atenia/tensor"
)

// FuzzPacked reads any tensors as quantized by any method: matrices that are
// accepted can be made.
func FuzzPacked(f *testing.F) {
	for name := range packedCases {
		dir := filepath.Join("..", "quant", "testdata", name)
		config, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			f.Fatal(err)
		}
		weights, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
		if err != nil {
			f.Fatal(err)
		}
		how, _ := quantization(config)
		f.Add(how, weights)
	}
	f.Fuzz(func(t *testing.T, how, weights []byte) {
		ts, _, _, err := parseSafetensors("x", weights)
		if err != nil {
			return
		}
		makeAll(t, how, ts)
	})
}

// makeAll makes every matrix of a folder.
func makeAll(t *testing.T, how []byte, ts []Tensor) {
	stored := make([]quant.Stored, len(ts))
	for i := range ts {
		stored[i] = quant.Stored{Name: ts[i].Name, View: ts[i].View}
	}
	d, err := quant.Read(how, "bfloat16", "", stored)
	if err != nil || d == nil {
		return
	}
	for _, x := range d.Tensors {
		n, err := x.Shape.Bytes(x.DType)
		if err != nil || n > 1<<24 {
			if err != nil {
				t.Fatalf("%s %v %v: %v", x.Name, x.DType, x.Shape, err)
			}
			continue
		}
		if x.Rows != nil {
			x.Rows(make([]byte, n), 0, x.Shape.Rows())
		}
	}
}

// FuzzPackedShapes changes types, shapes and names of a folder's tensors, whose
// bytes always suffice: what a file that the parser accepts may have.
func FuzzPackedShapes(f *testing.F) {
	kinds := []tensor.DType{tensor.U8, tensor.I8, tensor.I32, tensor.F16, tensor.BF16, tensor.F32, tensor.F8E4M3, tensor.I64}
	methods := quant.Methods()
	names := strings.Fields("qweight qzeros scales g_idx weight weight_packed weight_scale weight_zero_point weight_shape weight_g_idx" +
		" weight_scale_inv weight_scale_2 weight_global_scale SCB weight.absmax weight.quant_map weight.nested_absmax weight.nested_quant_map" +
		" weight.quant_state.bitsandbytes__nf4 x_blocks x_scales")
	f.Add([]byte{6, 4, 2, 32, 0, 2, 2, 2, 8, 64, 1, 2, 2, 2, 2, 2, 3, 2, 2, 64, 1})
	f.Add([]byte{3, 4, 2, 32, 5, 2, 2, 64, 8, 1, 8, 7, 1, 2, 0, 64, 0, 6, 3, 2, 64, 2, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		next := func() int {
			if len(b) == 0 {
				return 0
			}
			x := int(b[0])
			b = b[1:]
			return x
		}
		how := []byte(`{"quant_method":"` + methods[next()%len(methods)] + `","bits":` + string(rune('1'+next()%9)) +
			`,"group_size":` + []string{"-1", "16", "32", "64"}[next()%4] + `,"packing_format":"auto_gptq","weight_block_size":[32,40],` +
			`"config_groups":{"a":{"weights":{"num_bits":4}},"b":{"weights":{"num_bits":3}}}}`)
		data := make([]byte, 1<<16)
		for i := range data {
			data[i] = byte(i * 37)
		}
		copy(data, `{"blocksize":64,"dtype":"bfloat16","shape":[32,64],"nested_blocksize":256,"nested_offset":0.5}`)
		var ts []Tensor
		for len(b) > 4 && len(ts) < 12 {
			x := Tensor{Name: "m." + names[next()%len(names)], View: tensor.View{DType: kinds[next()%len(kinds)]}}
			for range next() % 4 {
				x.View.Shape = append(x.View.Shape, next())
			}
			n, err := x.View.Shape.Bytes(x.View.DType)
			if err != nil || n > len(data) {
				continue
			}
			x.View.Data = data[:n]
			ts = append(ts, x)
		}
		makeAll(t, how, ts)
	})
}
