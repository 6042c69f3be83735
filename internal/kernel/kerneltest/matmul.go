package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"atenia/internal/kernel"
	"atenia/tensor"
)

// dTypes returns the element types of weights that the kernels support.
func dTypes() (list []tensor.DType) {
	for d := range tensor.DType(tensor.NumDTypes) {
		if kernel.Supports(d) {
			list = append(list, d)
		}
	}
	return list
}

// eachVariant runs f as a subtest under each variant but the portable one, or under
// the forced one alone, and then restores the variant.
func eachVariant(t *testing.T, f func(t *testing.T)) {
	defer use(t, kernel.Variant())
	for _, v := range variants() {
		t.Run(v, func(t *testing.T) {
			use(t, v)
			f(t)
		})
	}
}

func use(t testing.TB, variant string) {
	t.Helper()
	if err := kernel.SetVariant(variant); err != nil {
		t.Fatal(err)
	}
}

// portably runs f under the portable variant.
func portably(t testing.TB, f func()) {
	now := kernel.Variant()
	use(t, "portable")
	defer use(t, now)
	f()
}

// compared runs f, which compares results with those of the portable variant,
// unless they are its own.
func compared(t testing.TB, f func()) {
	if kernel.Variant() != "portable" {
		portably(t, f)
	}
}

// matrix returns random weights whose values are small numbers.
func matrix(r *rand.Rand, d tensor.DType, rows, cols int) *kernel.Matrix {
	size, err := d.RowBytes(cols)
	if err != nil {
		panic(err)
	}
	m := &kernel.Matrix{DType: d, Rows: rows, Cols: cols, Data: make([]byte, rows*size)}
	values, bytes := d.Block()
	if !d.Quantized() {
		for i := range rows * cols {
			putFloat(m.Data[i*bytes:], d, float32(r.NormFloat64())*0.05)
		}
		return m
	}
	for i := range m.Data {
		m.Data[i] = byte(r.Uint32())
	}
	for i := range rows * cols / values {
		setScales(r, m.Data[i*bytes:(i+1)*bytes], d)
	}
	return m
}

func putFloat(b []byte, d tensor.DType, v float32) {
	le := func(u uint64, n int) {
		for i := range n {
			b[i] = byte(u >> (8 * i))
		}
	}
	switch d {
	case tensor.F32:
		le(uint64(math.Float32bits(v)), 4)
	case tensor.F16:
		le(uint64(tensor.F32ToF16(v)), 2)
	case tensor.BF16:
		le(uint64(tensor.F32ToBF16(v)), 2)
	case tensor.F64:
		le(math.Float64bits(float64(v)), 8)
	}
}

// setScales overwrites the float scales of a random block.
func setScales(r *rand.Rand, b []byte, d tensor.DType) {
	h := func(at int) { putFloat(b[at:], tensor.F16, float32(r.NormFloat64())*0.01) }
	switch d {
	case tensor.Q8_K:
		putFloat(b, tensor.F32, float32(r.NormFloat64())*0.01)
	case tensor.Q2_K:
		h(80)
		h(82)
	case tensor.Q3_K:
		h(108)
	case tensor.Q6_K:
		h(208)
	case tensor.MXFP4:
		b[0] = byte(115 + r.IntN(6))
	case tensor.Q4_1, tensor.Q5_1, tensor.Q4_K, tensor.Q5_K:
		h(0)
		h(2)
	default:
		h(0)
	}
}

// Floats returns n normal random numbers.
func Floats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// same fails unless the two are equal bit for bit; all NaN count as equal.
func same(t testing.TB, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s, %s: value %d is %g (%08x), portable %g (%08x)", what, kernel.Variant(), i,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// near fails unless |got-want| ≤ tol·scale.
func near(t testing.TB, what string, got float32, want, tol float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= tol) {
		t.Fatalf("%s, %s: got %g, want %g within %g", what, kernel.Variant(), got, want, tol)
	}
}

type product func(dst []float32, stride int, w *kernel.Matrix, lo, hi int, x []float32, rows int)

func matMul(dst []float32, stride int, w *kernel.Matrix, lo, hi int, x []float32, rows int) {
	kernel.MatMul(dst, stride, w, lo, hi, x, w.Cols, rows)
}

func matMulQ(dst []float32, stride int, w *kernel.Matrix, lo, hi int, x []float32, rows int) {
	form := kernel.FormOf(w.DType)
	size := form.RowBytes(w.Cols)
	p := make([]byte, rows*size)
	for r := range rows {
		form.Prepare(p[r*size:(r+1)*size], x[r*w.Cols:(r+1)*w.Cols])
	}
	kernel.MatMulQ(dst, stride, w, lo, hi, p, rows)
}

// packed is MatMulQ with only the packed form of the weights.
func packed(dst []float32, stride int, w *kernel.Matrix, lo, hi int, x []float32, rows int) {
	p := *w
	p.Tiles = alignedBytes(kernel.PackedBytes(w.DType, w.Rows, w.Cols))
	w.Pack(p.Tiles, 0, w.Rows)
	p.Data = nil
	matMulQ(dst, stride, &p, lo, hi, x, rows)
}

// alignedBytes returns n bytes aligned to a cache line.
func alignedBytes(n int) []byte {
	b := make([]byte, n+64)
	return b[-uintptr(unsafe.Pointer(&b[0]))&63:][:n]
}

// products returns the functions that multiply matrices of a type.
func products(d tensor.DType) map[string]product {
	m := map[string]product{"MatMul": matMul, "MatMulQ": matMulQ}
	if kernel.PackedBytes(d, 1, 256) > 0 {
		m["packed"] = packed
	}
	return m
}

// testProducts checks MatMul and MatMulQ for every type: the values against float64,
// and that each output depends only on its own two rows.
func testProducts(t *testing.T) {
	for _, d := range dTypes() {
		for name, f := range products(d) {
			t.Run(fmt.Sprintf("%s/%v", name, d), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(d), 7))
				values, _ := d.Block()
				rounded := name != "MatMul" && d.Quantized()
				for _, cols := range []int{values, 3 * values, 1280 + values} {
					testProduct(t, r, f, d, 7, cols, 6, rounded)
				}
				testProduct(t, r, f, d, 7, 5*values, 9, rounded)
				testProduct(t, r, f, d, 37, 2304+values, 19, rounded)
				if values == 1 {
					for _, cols := range []int{15, 17, 100, 1027} {
						testProduct(t, r, f, d, 7, cols, 6, false)
					}
				}
			})
		}
	}
}

func testProduct(t *testing.T, r *rand.Rand, f product, d tensor.DType, outs, cols, rows int, rounded bool) {
	w, x := matrix(r, d, outs, cols), Floats(r, rows*cols)
	dst := make([]float32, rows*outs)
	f(dst, outs, w, 0, outs, x, rows)
	row := make([]float32, cols)
	size := len(w.Data) / outs
	for j := range outs {
		kernel.LoadRow(row, d, w.Data[j*size:(j+1)*size])
		for i := range rows {
			var want, abs, norm float64
			for c, v := range row {
				p := float64(v) * float64(x[i*cols+c])
				want, abs, norm = want+p, abs+math.Abs(p), norm+float64(v)*float64(v)
			}
			tol := abs * 1e-6
			if rounded { // each activation is off by at most half a step
				tol += math.Sqrt(norm) * 4.5 / 254 * 4
			}
			near(t, fmt.Sprintf("%d columns, row %d, output %d", cols, i, j), dst[i*outs+j], want, tol)
		}
	}
	// One row and one output at a time.
	for i := range rows {
		for lo := 0; lo < outs; lo += 3 + outs/3 {
			hi := min(lo+3+outs/3, outs)
			one := make([]float32, outs)
			f(one, outs, w, lo, hi, x[i*cols:(i+1)*cols], 1)
			same(t, "one row alone", one[lo:hi], dst[i*outs+lo:i*outs+hi])
		}
	}
	compared(t, func() {
		want := make([]float32, rows*outs)
		f(want, outs, w, 0, outs, x, rows)
		same(t, "products", dst, want)
	})
}
