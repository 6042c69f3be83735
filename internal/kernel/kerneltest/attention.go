package kerneltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/kernel"
	"atenia/tensor"
)

// RowTypes are the element types of cached rows.
var RowTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0}

// cached stores n random rows with a gap between them, and returns their
// values as stored.
func cached(r *rand.Rand, d tensor.DType, n, dim int) (kernel.Rows, []float32) {
	size, err := d.RowBytes(dim)
	if err != nil {
		panic(err)
	}
	stride := size + 2*r.IntN(40)
	rows := kernel.Rows{DType: d, Data: make([]byte, max(0, n-1)*stride+size), Stride: stride, N: n, Dim: dim}
	values := make([]float32, n*dim)
	for j := range n {
		kernel.StoreRow(rows.Data[j*stride:], d, Floats(r, dim))
		kernel.LoadRow(values[j*dim:(j+1)*dim], d, rows.Data[j*stride:])
	}
	return rows, values
}

// Attention checks stores, scores and weighted sums of cached rows.
func Attention(t *testing.T) {
	for _, d := range RowTypes {
		t.Run(d.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, uint64(d)))
			dims := []int{32, 64, 96, 128, 256, 320}
			if !d.Quantised() {
				dims = append(dims, 1, 13, 20, 80, 112)
			}
			for _, dim := range dims {
				for _, heads := range []int{1, 2, 3, 4, 7, 9} {
					checkAttention(t, r, d, dim, heads, 1+r.IntN(40))
				}
			}
		})
	}
	t.Run("StoreRow", storeRow)
}

func checkAttention(t testing.TB, r *rand.Rand, d tensor.DType, dim, heads, n int) {
	t.Helper()
	what := fmt.Sprintf("dim %d, %d heads, %d rows", dim, heads, n)
	k, values := cached(r, d, n, dim)
	q, stride := Floats(r, heads*dim), n+r.IntN(5)
	dst, out := make([]float32, heads*stride), Floats(r, heads*dim)
	start := append([]float32(nil), out...)
	kernel.Scores(dst, stride, q, heads, k, 0.25)
	p := Floats(r, heads*stride)
	kernel.Weighted(out, p, stride, heads, k)

	for h := range heads {
		sums, abs := make([]float64, dim), make([]float64, dim)
		for j := range n {
			var want, mag float64
			for c := range dim {
				v := float64(values[j*dim+c])
				want += 0.25 * float64(q[h*dim+c]) * v
				mag += math.Abs(0.25 * float64(q[h*dim+c]) * v)
				sums[c] += float64(p[h*stride+j]) * v
				abs[c] += math.Abs(float64(p[h*stride+j]) * v)
			}
			near(t, "Scores, "+what, dst[h*stride+j], want, 1e-6*mag)
		}
		for c := range dim {
			near(t, "Weighted, "+what, out[h*dim+c], float64(start[h*dim+c])+sums[c], 4e-6*(abs[c]+1))
		}
	}
	portably(t, func() {
		wantDst, wantOut := make([]float32, len(dst)), append([]float32(nil), start...)
		kernel.Scores(wantDst, stride, q, heads, k, 0.25)
		kernel.Weighted(wantOut, p, stride, heads, k)
		same(t, "Scores, "+what, dst, wantDst)
		same(t, "Weighted, "+what, out, wantOut)
	})
	// A run cut in two, and one head alone.
	cut := r.IntN(n)
	first, last := k, k
	first.N = cut
	last.N, last.Data = n-cut, k.Data[cut*k.Stride:]
	parts, partDst := append([]float32(nil), start...), make([]float32, len(dst))
	for h := range heads {
		qh, oh := q[h*dim:(h+1)*dim], parts[h*dim:(h+1)*dim]
		if cut > 0 {
			kernel.Scores(partDst[h*stride:], stride, qh, 1, first, 0.25)
			kernel.Weighted(oh, p[h*stride:], stride, 1, first)
		}
		kernel.Scores(partDst[h*stride+cut:], stride, qh, 1, last, 0.25)
		kernel.Weighted(oh, p[h*stride+cut:], stride, 1, last)
	}
	same(t, "Scores in parts, "+what, partDst, dst)
	same(t, "Weighted in parts, "+what, parts, out)
}

func storeRow(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, d := range RowTypes {
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
