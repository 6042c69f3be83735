package kerneltest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel"
	"atenia/tensor"
)

// pairs checks MatMulPairs: the values against float64, that an output depends on
// its own two rows alone, and each variant against the portable one, bit for bit.
func pairs(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	for _, n := range [][3]int{{1, 2, 1}, {7, 30, 3}, {16, 512, 12}, {37, 514, 13}, {70, 1152, 26}, {33, 1030, 49}} {
		checkPairs(t, r, n[0], n[1], n[2], false)
	}
	w, x, dst := matrix(r, tensor.BF16, 8, 64), make([]byte, 70*128), make([]float32, 70*8)
	if n := await.Allocs(3, func() { kernel.MatMulPairs(dst, 8, w, 0, 7, x, 70) }); n != 0 {
		t.Errorf("MatMulPairs, %s: %v allocations", kernel.Variant(), n)
	}
}

// fuzzPairs compares products of pairs under every variant with portable ones.
func fuzzPairs(f *testing.F) {
	f.Add(uint8(3), uint16(400), uint8(2), uint64(1), false)
	f.Add(uint8(3), uint16(3), uint8(20), uint64(1), true)
	f.Add(uint8(3), uint16(3), uint8(20), uint64(3), true)
	f.Add(uint8(40), uint16(300), uint8(14), uint64(2), true)
	f.Fuzz(func(t *testing.T, outs uint8, cols uint16, rows uint8, seed uint64, wild bool) {
		r := rand.New(rand.NewPCG(seed, 2))
		for _, v := range variants() {
			use(t, v)
			checkPairs(t, r, 1+int(outs)%70, 2+int(cols)%700*2, 1+int(rows)%30, wild)
		}
	})
}

// checkPairs compares the product of random matrices; wild ones have almost
// arbitrary bits.
func checkPairs(t *testing.T, r *rand.Rand, outs, cols, rows int, wild bool) {
	w, x := matrix(r, tensor.BF16, outs, cols), Floats(r, rows*cols)
	size := kernel.FormBF16.RowBytes(cols)
	p := make([]byte, rows*size)
	for i := range rows {
		kernel.FormBF16.PrepareCols(p[i*size:(i+1)*size], x[i*cols:(i+1)*cols], 0, cols/2)
		kernel.FormBF16.PrepareCols(p[i*size:(i+1)*size], x[i*cols:(i+1)*cols], cols/2, cols)
	}
	if wild {
		for i := range x {
			x[i] = math.Float32frombits(r.Uint32())
		}
		x[r.IntN(len(x))] = float32(math.NaN())
	}
	rounded, want16 := make([]byte, 2*len(x)), make([]byte, 2*len(x))
	kernel.FormBF16.Prepare(rounded, x)
	portably(t, func() { kernel.FormBF16.Prepare(want16, x) })
	if !bytes.Equal(rounded, want16) {
		t.Fatalf("rounding %d values, %s: other bits", len(x), kernel.Variant())
	}
	if wild {
		tiny := r.IntN(2) > 0 // products are about the end of the normal range
		for _, b := range [][]byte{w.Data, p} {
			for i := range b {
				b[i] = byte(r.Uint32())
				switch {
				case i%2 == 0:
				case tiny:
					b[i] = b[i]&0x80 | byte(0x1e+r.IntN(4))
				case r.IntN(len(b)) > 0:
					b[i] &^= 0x40 // at most 2
				}
			}
		}
	}
	what := fmt.Sprintf("MatMulPairs %d×%d×%d", outs, cols, rows)
	got, want := make([]float32, rows*outs), make([]float32, rows*outs)
	kernel.MatMulPairs(got, outs, w, 0, outs, p, rows)
	portably(t, func() { kernel.MatMulPairs(want, outs, w, 0, outs, p, rows) })
	same(t, what, got, want)
	i, lo := r.IntN(rows), r.IntN(outs)
	kernel.MatMulPairs(got[i*outs:], outs, w, lo, outs, p[i*size:], 1)
	same(t, what+", one row", got, want)
	if wild {
		return
	}
	a, b := make([]float32, cols), make([]float32, cols)
	for j := range outs {
		kernel.LoadRow(a, tensor.BF16, w.Data[j*size:(j+1)*size])
		for i := range rows {
			kernel.LoadRow(b, tensor.BF16, p[i*size:(i+1)*size])
			sum, scale := 0.0, 0.0
			for k := range a {
				sum += float64(a[k]) * float64(b[k])
				scale += math.Abs(float64(a[k]) * float64(b[k]))
			}
			near(t, what, got[i*outs+j], sum, scale*1e-5)
		}
	}
}
