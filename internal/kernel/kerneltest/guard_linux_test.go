package kerneltest_test

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"atenia/internal/kernel"
	"atenia/internal/kernel/kerneltest"
)

// guarded returns n bytes whose end is the end of readable memory.
func guarded(t *testing.T, n int) []byte {
	page := unix.Getpagesize()
	size := (n + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	if err := unix.Mprotect(b[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return b[size-n : size : size]
}

// Weights and cached rows at the end of a mapped file are read without touching
// the page after it; a mistake crashes the test.
func TestGuard(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	defer func(v string) { _ = kernel.SetVariant(v) }(kernel.Variant())
	for _, v := range kernel.Variants() {
		if err := kernel.SetVariant(v); err != nil {
			t.Fatal(err)
		}
		for _, d := range kerneltest.DTypes() {
			values, _ := d.Block()
			for _, blocks := range []int{1, 2, 3, 7, 9} {
				cols := values * blocks
				w := kerneltest.Matrix(r, d, 5, cols)
				g := guarded(t, len(w.Data))
				copy(g, w.Data)
				w.Data = g
				x, dst := kerneltest.Floats(r, 5*cols), make([]float32, 25)
				form := kernel.FormOf(d)
				p := guarded(t, 5*form.RowBytes(cols))
				for i := range 5 {
					form.Prepare(p[i*form.RowBytes(cols):], x[i*cols:(i+1)*cols])
				}
				if size := kernel.PackedBytes(d, w.Rows, cols); size > 0 {
					packed := *w
					packed.Tiles = guarded(t, size)
					w.Pack(packed.Tiles, 0, w.Rows)
					for _, rows := range []int{1, 5} {
						kernel.MatMulQ(dst, 5, &packed, 0, 5, p[:rows*form.RowBytes(cols)], rows)
					}
				}
				for _, rows := range []int{1, 5} {
					kernel.MatMul(dst, 5, w, 0, 5, x, cols, rows)
					kernel.MatMulQ(dst, 5, w, 0, 5, p[:rows*form.RowBytes(cols)], rows)
				}
				kernel.LoadRow(x[:cols], d, g[len(g)-len(g)/5:])
			}
		}
		for _, d := range kerneltest.RowTypes {
			for _, dim := range []int{32, 64, 72, 96, 160} {
				size, err := d.RowBytes(dim)
				if err != nil {
					continue // no whole blocks
				}
				const page, span = 16, kernel.AttentionSpan
				rows := kernel.Rows{DType: d, Pages: [][]byte{guarded(t, page*size), guarded(t, page*size)}, PageRows: page, Dim: dim}
				q, p := kerneltest.Floats(r, 5*dim), make([]float32, 5*span)
				for _, n := range []int{1, 5} {
					for _, hi := range []int{16, 17, 32} {
						kernel.Scores(p, q, n, &rows, 0, hi, 1)
						kernel.Weighted(q, p, n, &rows, 0, hi)
					}
				}
			}
		}
	}
}
