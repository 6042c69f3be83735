package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
	"atenia/tensor"
)

// rowTypes are the element types of cached rows.
var rowTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0}

// cached stores n random rows of a head from position first on, once as keys and
// once as values, and returns the stored values. Pages before the first position
// are missing, as behind an attention window, and unwritten positions hold
// arbitrary bits.
func cached(r *rand.Rand, d tensor.DType, first, n, dim, pageRows int) (k, v *kernel.Rows, values []float32) {
	size, err := d.RowBytes(dim)
	if err != nil {
		panic(err)
	}
	off := 2 * r.IntN(40)
	pages := make([][]byte, (first+n-1)/pageRows+1)
	for i := first / pageRows; i < len(pages); i++ {
		pages[i] = make([]byte, off+2*pageRows*size)
		for j := range pages[i] {
			pages[i][j] = byte(r.Uint32())
		}
	}
	k = &kernel.Rows{DType: d, Pages: pages, Off: off, PageRows: pageRows, Dim: dim}
	v = &kernel.Rows{DType: d, Pages: pages, Off: off + pageRows*size, PageRows: pageRows, Dim: dim}
	values = make([]float32, n*dim)
	row := make([]byte, size)
	for j := range n {
		x := Floats(r, dim)
		k.StoreKey(first+j, x)
		v.StoreValue(first+j, x)
		kernel.StoreRow(row, d, x)
		kernel.LoadRow(values[j*dim:(j+1)*dim], d, row)
	}
	return k, v, values
}

// attention checks storing, scores and weighted sums of cached rows.
func attention(t *testing.T) {
	for _, d := range rowTypes {
		t.Run(d.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, uint64(d)))
			dims := []int{32, 64, 96, 128, 256, 320}
			if !d.Quantized() {
				dims = append(dims, 1, 8, 13, 20, 31, 72, 80, 88, 112)
			}
			for _, dim := range dims {
				for n := range 18 {
					page := []int{16, 16, 32, 64, 1, 24}[r.IntN(6)]
					checkAttention(t, r, d, dim, 1+n, r.IntN(600), 1+r.IntN(70), page)
				}
			}
		})
	}
	t.Run("StoreRow", storeRow)
	t.Run("softmax", softmax)
}

// checkAttention checks n queries against the keys and values of positions
// [lo, lo+count), cut where a span ends.
func checkAttention(t testing.TB, r *rand.Rand, d tensor.DType, dim, n, lo, count, pageRows int) {
	t.Helper()
	const span = kernel.AttentionSpan
	count = min(count, span-lo%span)
	hi := lo + count
	what := fmt.Sprintf("dim %d, %d queries, positions %d to %d in pages of %d", dim, n, lo, hi, pageRows)
	k, v, values := cached(r, d, lo, count, dim, pageRows)
	q := Floats(r, n*dim)
	scores := func(n, lo, hi int, q []float32) []float32 {
		dst := make([]float32, n*span)
		kernel.Scores(dst, q, n, k, lo, hi, 0.25)
		for i := range n { // the others may be overwritten
			clear(dst[i*span : i*span+lo%span])
			clear(dst[i*span+(hi-1)%span+1 : (i+1)*span])
		}
		return dst
	}
	dst, out, p := scores(n, lo, hi, q), Floats(r, n*dim), Floats(r, n*span)
	start := append([]float32(nil), out...)
	kernel.Weighted(out, p, n, v, lo, hi)

	for i := range n {
		sums, abs := make([]float64, dim), make([]float64, dim)
		for j := range count {
			var want, mag float64
			at := i*span + (lo+j)%span
			for c := range dim {
				v := float64(values[j*dim+c])
				want += 0.25 * float64(q[i*dim+c]) * v
				mag += math.Abs(0.25 * float64(q[i*dim+c]) * v)
				sums[c] += float64(p[at]) * v
				abs[c] += math.Abs(float64(p[at]) * v)
			}
			near(t, "Scores, "+what, dst[at], want, 4e-6*mag)
		}
		for c := range dim {
			near(t, "Weighted, "+what, out[i*dim+c], float64(start[i*dim+c])+sums[c], 4e-6*(abs[c]+1))
		}
	}
	compared(t, func() {
		wantOut := append([]float32(nil), start...)
		kernel.Weighted(wantOut, p, n, v, lo, hi)
		same(t, "Scores, "+what, dst, scores(n, lo, hi, q))
		same(t, "Weighted, "+what, out, wantOut)
	})
	// A range split in two, and a single query.
	cut := lo + r.IntN(count)
	parts, alone := append([]float32(nil), start...), make([]float32, n*span)
	for i := range n {
		first := []float32(nil)
		if cut > lo {
			first = scores(1, lo, cut, q[i*dim:(i+1)*dim])
		}
		copy(alone[i*span:], scores(1, cut, hi, q[i*dim:(i+1)*dim]))
		for j := lo; j < cut; j++ {
			alone[i*span+j%span] = first[j%span]
		}
		kernel.Weighted(parts[i*dim:(i+1)*dim], p[i*span:], 1, v, lo, cut)
		kernel.Weighted(parts[i*dim:(i+1)*dim], p[i*span:], 1, v, cut, hi)
	}
	same(t, "Scores in parts, "+what, alone, dst)
	same(t, "Weighted in parts, "+what, parts, out)
}

// softmax compares the merged sums of spans with one softmax over all of them.
func softmax(t *testing.T) {
	const span, spans, n, dim = kernel.AttentionSpan, 3, 5, 8
	r := rand.New(rand.NewPCG(10, 10))
	scores, values := Floats(r, n*span*spans), Floats(r, span*spans*dim)
	for i := range span { // a fully masked span, first and last
		scores[i], scores[(spans*n-1)*span+i] = float32(math.Inf(-1)), float32(math.Inf(-1))
	}
	sums, part := newSums(n, dim), newSums(n, dim)
	whole := func() []float32 {
		sums.Reset()
		for k := range spans {
			for i := range n {
				line := append([]float32(nil), scores[(i*spans+k)*span:][:span]...)
				from, to := 3*i, span-7*i
				part.Top[i], part.Sum[i] = kernel.SoftmaxSpan(line, from, to)
				acc := part.Acc[i*dim : (i+1)*dim]
				clear(acc)
				for j := from; j < to; j++ {
					for c := range acc {
						acc[c] += line[j] * values[(k*span+j)*dim+c]
					}
				}
				for j := from &^ 15; j < (to+15)&^15; j++ {
					if j < from || j >= to {
						near(t, "beyond", line[j], 0, 0)
					}
				}
			}
			sums.Merge(part, 0, n)
		}
		out := make([]float32, n*dim)
		for i := range n {
			if i == 2 {
				sums.Sink(i, 1.5)
			}
			sums.Result(out[i*dim:(i+1)*dim], i)
		}
		return out
	}
	out := whole()
	for i := range n {
		var sum float64
		want := make([]float64, dim)
		if i == 2 {
			sum = math.Exp(1.5)
		}
		for k := range spans {
			for j := 3 * i; j < span-7*i; j++ {
				e := math.Exp(float64(scores[(i*spans+k)*span+j]))
				sum += e
				for c := range want {
					want[c] += e * float64(values[(k*span+j)*dim+c])
				}
			}
		}
		for c := range want {
			near(t, fmt.Sprintf("query %d", i), out[i*dim+c], want[c]/sum, 2e-6)
		}
	}
	compared(t, func() { same(t, "softmax", out, whole()) })
}

func newSums(n, dim int) *kernel.Sums {
	return &kernel.Sums{Top: make([]float32, n), Sum: make([]float32, n), Acc: make([]float32, n*dim), Dim: dim}
}

func storeRow(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, d := range rowTypes {
		for _, n := range []int{32, 64, 96, 320} {
			x := Floats(r, n)
			if n == 96 {
				clear(x[:32])
				x[40] = 1e-30
			}
			size, _ := d.RowBytes(n)
			got, want, y := make([]byte, size), make([]byte, size), make([]float32, n)
			kernel.StoreRow(got, d, x)
			portably(t, func() { kernel.StoreRow(want, d, x) })
			if string(got) != string(want) {
				t.Fatalf("%v: bytes differ from portable ones", d)
			}
			kernel.LoadRow(y, d, got)
			for i, v := range x {
				tol := 0.0
				switch d {
				case tensor.F16:
					tol = math.Abs(float64(v))*0x1p-11 + 0x1p-25
				case tensor.Q8_0:
					tol = 4.5/254 + 1e-3
				}
				near(t, d.String(), y[i], float64(v), tol)
			}
		}
	}
}
