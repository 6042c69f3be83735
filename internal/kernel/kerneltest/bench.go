package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"atenia/internal/kernel"
	"atenia/internal/kernel/roof"
	"atenia/tensor"
)

// roofs caches the measured roofs by number of threads.
var roofs sync.Map

func roofOf(b *testing.B, threads int) roof.Roofs {
	if r, ok := roofs.Load(threads); ok {
		return r.(roof.Roofs)
	}
	r, err := roof.Measure(threads)
	if err != nil {
		b.Fatal(err)
	}
	roofs.Store(threads, r)
	return r
}

// bench runs every benchmark with one and with two threads. Decoding reports
// GB/s and the share of the measured memory bandwidth; it cycles through a set
// of matrices larger than the caches, so that weights come from memory, and an
// operation is one pass over the set. Prefill reports GFLOP/s and the share of
// the measured arithmetic roof.
func bench(b *testing.B) {
	for _, d := range dTypes() {
		if kernel.PackedBytes(d, 1, 256) == 0 {
			continue
		}
		for _, threads := range []int{1, 2} {
			name := fmt.Sprintf("2048x5632/%s/threads=%d", strings.ToLower(d.String()), threads)
			b.Run("matmul/decode/"+name, func(b *testing.B) { benchMatMul(b, d, 2048, 5632, 1, threads, true) })
			b.Run("matmul/batch8/"+name, func(b *testing.B) { benchMatMul(b, d, 2048, 5632, 8, threads, true) })
			b.Run("matmul/prefill/"+strings.Replace(name, "2048x5632", "5632x2048", 1), func(b *testing.B) { benchMatMul(b, d, 5632, 2048, 512, threads, true) })
			b.Run("matmul/decode/unpacked/"+name, func(b *testing.B) { benchMatMul(b, d, 2048, 5632, 1, threads, false) })
		}
	}
	for _, d := range dTypes() {
		b.Run("matmul/cached/128x5632/"+strings.ToLower(d.String()), func(b *testing.B) { benchCached(b, d) })
	}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("pairs/5632x2048/threads=%d", threads), func(b *testing.B) { benchPairs(b, threads) })
	}
	benchOthers(b)
}

// benchPairs times a product of pairs, whose roof is twice that of multiply-adds.
func benchPairs(b *testing.B, threads int) {
	const outs, cols, rows = 5632, 2048, 512
	r := rand.New(rand.NewPCG(1, 1))
	w := matrix(r, tensor.BF16, outs, cols)
	size := kernel.FormBF16.RowBytes(cols)
	x, dst, rf := alignedBytes(rows*size), make([]float32, rows*outs), roofOf(b, threads)
	for i := range rows {
		kernel.FormBF16.Prepare(x[i*size:], Floats(r, cols))
	}
	for b.Loop() {
		var wg sync.WaitGroup
		for t := range threads {
			wg.Go(func() { kernel.MatMulPairs(dst, outs, w, outs*t/threads, outs*(t+1)/threads, x, rows) })
		}
		wg.Wait()
	}
	rate := 2 * float64(rows*outs*cols) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(100*rate/(2*rf.FMA), "%pairs")
}

// benchCached times decoding with weights in L2, where only the instructions
// count.
func benchCached(b *testing.B, d tensor.DType) {
	r := rand.New(rand.NewPCG(1, 1))
	const outs, cols = 128, 5632
	w, form := matrix(r, d, outs, cols), kernel.FormOf(d)
	x, dst := make([]byte, form.RowBytes(cols)), make([]float32, outs)
	form.Prepare(x, Floats(r, cols))
	for b.Loop() {
		kernel.MatMulQ(dst, outs, w, 0, outs, x, 1)
	}
	per := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(len(w.Data))/per/1e9, "GB/s")
	b.ReportMetric(outs*cols/per/1e9, "Gvalue/s")
}

func benchMatMul(b *testing.B, d tensor.DType, outs, cols, rows, threads int, pack bool) {
	r := rand.New(rand.NewPCG(1, 1))
	w := matrix(r, d, outs, cols)
	if pack {
		w.Tiles = alignedBytes(kernel.PackedBytes(d, outs, cols))
		w.Pack(w.Tiles, 0, outs)
		w.Data = nil
	}
	total := len(w.Data) + len(w.Tiles)
	set := []*kernel.Matrix{w}
	if rows <= 8 { // enough copies to exceed the caches
		for len(set)*total < 512<<20 {
			c := *w
			c.Data = append([]byte(nil), w.Data...)
			if pack {
				c.Tiles = alignedBytes(len(w.Tiles))
				copy(c.Tiles, w.Tiles)
			}
			set = append(set, &c)
		}
	}
	form := kernel.FormOf(d)
	x := alignedBytes(rows * form.RowBytes(cols))
	for i := range rows {
		form.Prepare(x[i*form.RowBytes(cols):], Floats(r, cols))
	}
	dst := make([]float32, rows*outs)
	rf := roofOf(b, threads)
	share := func(t int) {
		for _, w := range set {
			kernel.MatMulQ(dst, outs, w, outs*t/threads, outs*(t+1)/threads, x, rows)
		}
	}
	b.ResetTimer()
	for b.Loop() { // threads synchronize after each set, a layer's worth of matrices or more
		var wg sync.WaitGroup
		for t := 1; t < threads; t++ {
			wg.Go(func() { share(t) })
		}
		share(0)
		wg.Wait()
	}
	per := b.Elapsed().Seconds() / float64(b.N*len(set))
	if rows <= 8 {
		rate := float64(total) / per
		b.ReportMetric(rate/1e9, "GB/s")
		b.ReportMetric(100*rate/rf.Memory, "%bandwidth")
		return
	}
	rate := 2 * float64(rows) * float64(outs) * float64(cols) / per
	b.ReportMetric(rate/1e9, "GFLOP/s")
	if d.Quantized() {
		b.ReportMetric(100*rate/rf.Dot, "%dot")
	} else {
		b.ReportMetric(100*rate/rf.FMA, "%fma")
	}
}

// benchOthers times the functions that are not products.
func benchOthers(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y, z := Floats(r, 5632), Floats(r, 5632), make([]float32, 5632)
	each := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/5632, "ns/value")
		})
	}
	form := kernel.FormQ8
	prepared := make([]byte, form.RowBytes(5632))
	each("prepare/q8/5632", func() { form.Prepare(prepared, x) })
	each("rmsnorm/5632", func() { kernel.RMSNorm(z, x, y, 1e-5, 0) })
	each("silumul/5632", func() { kernel.SiLUMul(z, x, y) })
	each("gelutanhmul/5632", func() { kernel.GELUTanhMul(z, x, y) })
	each("softmax/5632", func() {
		copy(z, x)
		for i := 0; i < len(z); i += kernel.AttentionSpan {
			kernel.SoftmaxSpan(z[i:], 0, kernel.AttentionSpan)
		}
	})
	each("add/5632", func() { kernel.Add(z, x, y, 0.5) })

	benchAttention(b)
}

// benchAttention times one token, and a block of prompt rows, of 32 heads over 4
// cached ones at depth 2048: 22 layers, so that a token's keys and values do not
// fit in L2.
func benchAttention(b *testing.B) {
	const group, kv, layers, dim, depth, page, span = 8, 4, 22, 64, 2048, 16, kernel.AttentionSpan
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range rowTypes {
		cache := matrix(r, d, layers*kv*depth, dim)
		size, _ := d.RowBytes(dim)
		rows := kernel.Rows{DType: d, PageRows: page, Dim: dim}
		for p := 0; p < len(cache.Data); p += page * size {
			rows.Pages = append(rows.Pages, cache.Data[p:p+page*size])
		}
		for _, rowsAtOnce := range []int{1, 8} {
			n := rowsAtOnce * group
			q, out, p := Floats(r, n*dim), make([]float32, n*dim), make([]float32, n*span)
			run := func(name string, f func(pos int)) {
				b.Run(fmt.Sprintf("attention/%s/rows=%d/depth=%d/%s", name, rowsAtOnce, depth, strings.ToLower(d.String())), func(b *testing.B) {
					for b.Loop() {
						for pos := 0; pos < layers*kv*depth; pos += span {
							f(pos)
						}
					}
					per := b.Elapsed().Seconds() / float64(b.N)
					b.ReportMetric(float64(len(cache.Data))/per/1e9, "GB/s")
					b.ReportMetric(2*float64(n*layers*kv*depth*dim)/per/1e9, "GFLOP/s")
				})
			}
			run("scores", func(pos int) { kernel.Scores(p, q, n, &rows, pos, pos+span, 0.125) })
			run("weighted", func(pos int) { kernel.Weighted(out, p, n, &rows, pos, pos+span) })
		}
	}
}
