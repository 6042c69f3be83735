package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel"
	"atenia/tensor"
)

// run checks every function of package kernel under every variant.
func run(t *testing.T) {
	t.Run("portable", func(t *testing.T) {
		if v := os.Getenv(envVar); v != "" && v != "portable" {
			t.Skip(envVar, " is ", v)
		}
		if testing.Short() && len(kernel.Variants()) > 1 {
			t.Skip("the other variants are compared with it")
		}
		defer use(t, kernel.Variant())
		use(t, "portable")
		suite(t)
	})
	eachVariant(t, suite)
	t.Run("floats", floatProducts)
	t.Run("variants", func(t *testing.T) {
		if err := kernel.SetVariant("abacus"); err == nil {
			t.Error("an unknown variant was accepted")
		}
	})
}

func suite(t *testing.T) {
	t.Run("products", testProducts)
	t.Run("pairs", pairs)
	t.Run("vectors", vectors)
	t.Run("attention", attention)
	t.Run("allocations", allocations)
}

// allocations checks that no function allocates.
func allocations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	none := func(name string, f func()) {
		if n := await.Allocs(3, f); n != 0 {
			t.Errorf("%s, %s: %v allocations", name, kernel.Variant(), n)
		}
	}
	const cols, rows = 512, 70
	x, dst := Floats(r, rows*cols), make([]float32, rows*8)
	for _, d := range dTypes() {
		w, form := matrix(r, d, 8, cols), kernel.FormOf(d)
		p := make([]byte, rows*form.RowBytes(cols))
		none("Prepare", func() { form.Prepare(p, x[:cols]) })
		for _, n := range []int{1, 5, rows} {
			if kernel.Variant() == "portable" && n == rows {
				continue
			}
			none(fmt.Sprintf("MatMul %v, %d rows", d, n), func() { kernel.MatMul(dst, 8, w, 0, 7, x, cols, n) })
			none(fmt.Sprintf("MatMulQ %v, %d rows", d, n), func() { kernel.MatMulQ(dst, 8, w, 0, 7, p[:n*form.RowBytes(cols)], n) })
		}
		if size := kernel.PackedBytes(d, 8, cols); size > 0 {
			w.Tiles = alignedBytes(size)
			none("Pack", func() { w.Pack(w.Tiles, 0, 8) })
			for _, n := range []int{1, 5, rows} {
				if kernel.Variant() == "portable" && n == rows {
					continue
				}
				none(fmt.Sprintf("MatMulQ of packed %v, %d rows", d, n), func() { kernel.MatMulQ(dst, 8, w, 0, 7, p[:n*form.RowBytes(cols)], n) })
			}
		}
		none("LoadRow", func() { kernel.LoadRow(x[:cols], d, w.Data) })
	}
	for _, f := range vectorFuncs {
		if f.name != "Prepare" { // whose wrapper here allocates a row
			none(f.name, func() { f.f(dst[:100], x[:100], x[100:200], x[200:300]) })
		}
	}
	for _, d := range rowTypes {
		k, v, _ := cached(r, d, 0, 20, 64, 16)
		p := make([]float32, 7*kernel.AttentionSpan)
		none("Scores", func() { kernel.Scores(p, x, 7, k, 0, 20, 1) })
		none("Weighted", func() { kernel.Weighted(dst, p, 7, v, 3, 20) })
		none("StoreKey", func() { k.StoreKey(19, x) })
		none("StoreValue", func() { v.StoreValue(19, x) })
	}
}

// fuzzProducts compares products under every variant with portable ones, for
// weights of arbitrary bits at any address.
func fuzzProducts(f *testing.F) {
	types := dTypes()
	for i := range types {
		f.Add(uint8(i), uint8(3), uint8(5), uint8(2), uint64(i), false)
		f.Add(uint8(i), uint8(40), uint8(2), uint8(1), uint64(i), true)
		f.Add(uint8(i), uint8(9), uint8(17), uint8(16), uint64(i), true)
	}
	f.Fuzz(func(t *testing.T, kind, blocks, outs, rows uint8, seed uint64, wild bool) {
		d := types[int(kind)%len(types)]
		values, _ := d.Block()
		cols := values * (1 + int(blocks)%(1+2500/values))
		n, m := 1+int(outs)%40, 1+int(rows)%30
		r := rand.New(rand.NewPCG(seed, 1))
		w, x := matrix(r, d, n, cols), Floats(r, m*cols)
		shift := make([]byte, len(w.Data)+int(seed%13))
		copy(shift[seed%13:], w.Data)
		w.Data = shift[seed%13:]
		if wild { // arbitrary bits, including infinities and NaN
			for i := range w.Data {
				w.Data[i] = byte(r.Uint32())
			}
			x[r.IntN(len(x))] = odd[r.IntN(len(odd))]
			x[r.IntN(len(x))] = odd[r.IntN(len(odd))]
		}
		for name, p := range products(d) {
			want := make([]float32, m*n)
			portably(t, func() { p(want, n, w, 0, n, x, m) })
			lo := int(seed/16) % n
			for _, v := range variants() {
				use(t, v)
				got := make([]float32, m*n)
				p(got, n, w, 0, n, x, m)
				same(t, fmt.Sprintf("%s %v %d×%d×%d", name, d, n, cols, m), got, want)
				p(got, n, w, lo, lo+(n-lo+1)/2, x, m)
				same(t, fmt.Sprintf("%s %v %d×%d×%d again from %d", name, d, n, cols, m, lo), got, want)
			}
			if name == "packed" {
				got := make([]float32, m*n)
				matMulQ(got, n, w, 0, n, x, m)
				same(t, fmt.Sprintf("%v %d×%d×%d, not packed", d, n, cols, m), got, want)
			}
		}
	})
}

// fuzzVectors compares the elementwise functions, for arbitrary bits.
func fuzzVectors(f *testing.F) {
	for i := range vectorFuncs {
		f.Add(uint8(i), []byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"))
	}
	f.Fuzz(func(t *testing.T, kind uint8, bits []byte) {
		fn := vectorFuncs[int(kind)%len(vectorFuncs)]
		n := min(len(bits)/12, 400)
		var abc [3][]float32
		for k := range abc {
			for i := range n {
				b := bits[4*(k*n+i):]
				v := math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
				abc[k] = append(abc[k], v)
			}
		}
		for _, v := range variants() {
			use(t, v)
			checkVector(t, fn, abc[0], abc[1], abc[2])
		}
	})
}

// fuzzAttention compares scores and weighted sums.
func fuzzAttention(f *testing.F) {
	f.Add(uint8(0), uint8(64), uint8(4), uint16(16), uint16(0), uint64(1))
	f.Add(uint8(1), uint8(80), uint8(7), uint16(250), uint16(5), uint64(2))
	f.Add(uint8(2), uint8(3), uint8(1), uint16(33), uint16(513), uint64(3))
	f.Add(uint8(0), uint8(71), uint8(18), uint16(255), uint16(0), uint64(4))
	f.Fuzz(func(t *testing.T, kind, dim, queries uint8, count, lo uint16, seed uint64) {
		d := rowTypes[int(kind)%len(rowTypes)]
		width := 1 + int(dim)
		if d == tensor.Q8_0 {
			width = 32 * (1 + int(dim)%10)
		}
		page := []int{16, 32, 64, 8, 48}[seed%5]
		for _, v := range variants() {
			use(t, v)
			checkAttention(t, rand.New(rand.NewPCG(seed, 2)), d, width, 1+int(queries)%20, int(lo)%1000, 1+int(count)%300, page)
		}
	})
}
