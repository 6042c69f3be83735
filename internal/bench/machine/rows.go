package machine

import (
	"fmt"

	"atenia/internal/kernel"
	"atenia/internal/machine/cpu"
)

// rows adds the operations on rows of activations, which come from half of L2.
func (b *bench) rows() {
	cos, sin := make([]float32, benchDim/2), make([]float32, benchDim/2)
	kernel.RopeTable(cos, sin, wave(benchDim/2), 7, 1)
	ones := wave(benchVocab)
	for _, k := range []struct {
		use     string
		format  string
		width   int
		traffic int // number of transfers of a row from or to the cache
		kernel  func() func(row []float32)
	}{
		{"norm", "f32", benchWidth, 1, func() func([]float32) {
			dst := make([]float32, benchWidth)
			return func(row []float32) { kernel.RMSNorm(dst, row, ones[:benchWidth], 1e-5, 0) }
		}},
		{"quantise", "q8", benchWidth, 1, func() func([]float32) {
			dst := make([]byte, kernel.FormQ8.RowBytes(benchWidth))
			return func(row []float32) { kernel.FormQ8.Prepare(dst, row) }
		}},
		{"add", "f32", benchWidth, 2, func() func([]float32) {
			return func(row []float32) { kernel.Add(row, row, ones[:benchWidth], 0) }
		}},
		{"rope", "f32", benchDim, 2, func() func([]float32) { return func(row []float32) { kernel.Rope(row, cos, sin, false) } }},
		{"silu", "f32", benchFFN, 1, func() func([]float32) {
			dst := make([]float32, benchFFN)
			return func(row []float32) { kernel.SiLUMul(dst, row, ones[:benchFFN]) }
		}},
		{"softmax", "f32", kernel.AttentionSpan, 2, func() func([]float32) {
			return func(row []float32) { kernel.SoftmaxSpan(row, 0, len(row)) }
		}},
		{"argmax", "f32", benchVocab, 1, func() func([]float32) { return func(row []float32) { kernel.ArgMax(row) } }},
	} {
		r := Rate{Use: k.use, Format: k.format, Shape: fmt.Sprint(k.width), Bound: "cache"}
		if !b.wanted(&r) {
			continue
		}
		b.measure(r, func(int) work {
			n := max(1, 16*benchWidth/k.width) // rows per piece
			size := n * k.width
			memory := wave(max(cpu.Detect().L2/8/size, 1) * size)
			run := k.kernel()
			return work{k.traffic * 4 * size, 0, func(i int) {
				for x := part(memory, size, i); len(x) > 0; x = x[k.width:] {
					run(x[:k.width])
				}
			}}
		})
	}
}
