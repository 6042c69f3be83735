package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
	"atenia/tensor"
)

// A floatCase is a product with float32 activations: any range of outputs, rows
// with gaps between them, weights packed or not.
type floatCase struct {
	d          tensor.DType
	outs, cols int
	lo, hi     int
	rows       int
	seed       uint64
	wild       bool // weights and activations of arbitrary bits
}

// floatTypes are the weight types of products with float32 activations.
var floatTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64}

// check compares all variants, packed and not, with the portable one.
func (c floatCase) check(t testing.TB) {
	t.Helper()
	r := rand.New(rand.NewPCG(c.seed, 3))
	w := matrix(r, c.d, c.outs, c.cols)
	xStride, dstStride := c.cols+r.IntN(20), c.outs+r.IntN(20)
	x := Floats(r, c.rows*xStride)
	if c.wild {
		for i := range w.Data {
			w.Data[i] = byte(r.Uint32())
		}
		for i := range x {
			if x[i] = math.Float32frombits(r.Uint32()); r.IntN(4) == 0 {
				x[i] = odd[r.IntN(len(odd))]
			}
		}
	}
	shift := make([]byte, len(w.Data)+int(c.seed%13))[c.seed%13:]
	copy(shift, w.Data)
	w.Data = shift

	outside := Floats(r, (c.rows-1)*dstStride+c.hi)
	product := func(w *kernel.Matrix) []float32 {
		dst := append([]float32(nil), outside...)
		kernel.MatMul(dst, dstStride, w, c.lo, c.hi, x, xStride, c.rows)
		return dst
	}
	var want []float32
	portably(t, func() { want = product(w) })
	for _, v := range append(variants(), "portable") {
		use(t, v)
		if v != "portable" {
			same(t, fmt.Sprintf("%+v", c), product(w), want)
		}
		if n := kernel.PackedBytes(c.d, c.outs, c.cols); n > 0 {
			p := *w
			p.Tiles, p.Data = alignedBytes(n), nil
			w.Pack(p.Tiles, 0, w.Rows)
			same(t, fmt.Sprintf("packed %+v", c), product(&p), want)
		}
	}
}

// floatProducts checks shapes around the tiles and blocks of assembly.
func floatProducts(t *testing.T) {
	now := kernel.Variant()
	defer use(t, now)
	seed := uint64(0)
	for _, d := range floatTypes {
		for _, cols := range []int{1, 7, 8, 255, 256, 264, 513} {
			for _, rows := range []int{1, 2, 3, 6, 8, 9, 13, 25, 50} {
				for _, outs := range []int{1, 15, 16, 33, 64, 117} {
					seed++
					lo := int(seed) * 7 % outs
					if (rows > 3 || cols > 264) && outs > 40 && seed%4 > 0 {
						continue // portable products take most of the time
					}
					floatCase{d, outs, cols, 0, outs, rows, seed, false}.check(t)
					floatCase{d, outs, cols, lo, outs, 1, seed, true}.check(t)
				}
			}
		}
	}
}

// fuzzFloats compares products of floats of arbitrary bits, packed and not.
func fuzzFloats(f *testing.F) {
	for i := range floatTypes {
		f.Add(uint8(i), uint16(300), uint8(70), uint8(0), uint8(70), uint8(2), uint64(i), false)
		f.Add(uint8(i), uint16(77), uint8(40), uint8(3), uint8(9), uint8(52), uint64(i), true)
	}
	f.Fuzz(func(t *testing.T, kind uint8, cols uint16, outs, lo, n, rows uint8, seed uint64, wild bool) {
		c := floatCase{
			d: floatTypes[int(kind)%len(floatTypes)], outs: 1 + int(outs)%140, cols: 1 + int(cols)%800,
			rows: 1 + int(rows)%60, seed: seed, wild: wild,
		}
		c.lo = int(lo) % c.outs
		c.hi = c.lo + 1 + int(n)%(c.outs-c.lo)
		now := kernel.Variant()
		defer use(t, now)
		c.check(t)
	})
}
