package place

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"atenia/internal/kernel"
	"atenia/tensor"
)

// A Product is how weights are multiplied with a row: their type, their form in memory,
// and whether with float32 alone. Where memory is fast, that is slower than reading them.
type Product struct {
	Type            tensor.DType
	Packed, Precise bool
	Cols            int // values of a row, about: short rows take longer; 0 = 2048
}

const usualCols = 2048

// ColsOf returns the values of a row that stand for rows of so many: few kinds of products
// are measured.
func ColsOf(mean float64) int {
	n := 256
	for n < 2*usualCols && mean > 1.5*float64(n) {
		n *= 2
	}
	return n
}

// String names a product, such as "q8_0 packed of 512".
func (p Product) String() string {
	s := strings.ToLower(p.Type.String())
	if p.Packed {
		s += " packed"
	}
	if p.Precise {
		s += " precise"
	}
	if p.Cols != 0 && p.Cols != usualCols {
		s += fmt.Sprintf(" of %d", p.Cols)
	}
	return s
}

// A ProductRate is how fast products of a kind are: how many times as long one with one row
// takes as reading weights by the rate of memory, and operations a second of those with few
// rows and with many. 0 = not measured.
type ProductRate struct {
	Effort float64 `json:"effort"`
	Few    float64 `json:"few_rows_flop_per_s"`
	Many   float64 `json:"many_rows_flop_per_s"`
}

func (r *ProductRate) sound() bool {
	const most = 1e18
	return r.Effort > 0 && r.Effort <= mostRatio && r.Few > 0 && r.Few <= most && r.Many > 0 && r.Many <= most
}

// The numbers of rows that products are measured with, and up to how many they are few: of
// sequences that are decoded together.
const (
	fewRows  = 8
	manyRows = 128
	mostFew  = 32
)

// productWindow is how long a product is measured at a time: many megabytes.
const productWindow = 2 * time.Millisecond

// A reading is how a thread passes over memory: so many bytes at a time.
type reading struct {
	step int
	read func(b []byte)
}

// plainly reads memory and does nothing else.
func plainly() reading { return reading{1 << 20, kernel.Read} }

// reading multiplies what memory has, as if it was weights, with some rows; values are the
// weights of a step, 0 if there are no such products.
func (p Product) reading(n int) (r reading, values int) {
	const about = 256 << 10
	cols := cmp.Or(p.Cols, usualCols)
	size, err := p.Type.RowBytes(cols)
	if err != nil || !kernel.Supports(p.Type) || p.Packed && kernel.PackedBytes(p.Type, kernel.TileRows, cols) == 0 {
		return r, 0
	}
	rows := max(1, about/size/kernel.TileRows) * kernel.TileRows
	w := kernel.Matrix{DType: p.Type, Rows: rows, Cols: cols}
	dst, form, plain := make([]float32, n*rows), kernel.FormOf(p.Type), make([]float32, n*cols)
	x := make([]byte, n*form.RowBytes(cols))
	for i := range n {
		form.Prepare(x[i*form.RowBytes(cols):], plain[i*cols:][:cols])
	}
	if r.step = rows * size; p.Packed {
		r.step = kernel.PackedBytes(p.Type, rows, cols)
	}
	r.read = func(b []byte) {
		if w.Data, w.Tiles = b, nil; p.Packed {
			w.Data, w.Tiles = nil, b
		}
		if p.Precise && p.Type.Quantized() {
			w.Data = b[:rows*size]
			kernel.MatMul(dst, rows, &w, 0, rows, plain, cols, n)
			return
		}
		kernel.MatMulQ(dst, rows, &w, 0, rows, x, n)
	}
	return r, rows * cols
}

// products measures products by the best of some turns: other programs slow them down by
// chance, and reading alike in the long run.
func (l *load) products(all []Product) map[string]ProductRate {
	const turns = 2
	alone, best := 0.0, map[string]ProductRate{}
	for range turns {
		alone = max(alone, l.rateOf(plainly))
		for _, p := range all {
			r, values := p.reading(1)
			if values == 0 {
				continue
			}
			rate := func(rows int) float64 { return l.rateOf(func() reading { r, _ := p.reading(rows); return r }) }
			of := func(rows int) float64 { return rate(rows) * 2 * float64(values*rows) / float64(r.step) }
			was := best[p.String()]
			best[p.String()] = ProductRate{max(was.Effort, rate(1)), max(was.Few, of(fewRows)), max(was.Many, of(manyRows))}
		}
	}
	for name, b := range best {
		if b.Effort = min(productShare*alone/b.Effort, mostRatio); !b.sound() { // more is a thread that had no processor
			delete(best, name)
			continue
		}
		best[name] = b
	}
	return best
}

// rateOf returns the bytes a second that all threads pass over.
func (l *load) rateOf(how func() reading) float64 {
	l.start(how)
	time.Sleep(productWindow)
	return l.stop()
}
