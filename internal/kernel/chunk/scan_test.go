package chunk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/kernel/dense"
)

// A problem is rows of a recurrence with a matrix as its state.
type problem struct {
	rows, chunk, n, p int
	decay             []float64 // λ of each row
	x, b, c           []float32 // [rows, p], [rows, n], [rows, n]
}

func newProblem(seed uint64, rows, chunk, n, p int, fall float64) *problem {
	rng := rand.New(rand.NewPCG(seed, 5))
	q := &problem{rows: rows, chunk: chunk, n: n, p: p}
	draw := func(k int) []float32 {
		v := make([]float32, k)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	q.x, q.b, q.c = draw(rows*p), draw(rows*n), draw(rows*n)
	for range rows {
		q.decay = append(q.decay, -fall*rng.ExpFloat64())
	}
	return q
}

// magnitudes returns the largest output of the recurrence with every number positive:
// what rounding is in proportion to where the terms of a sum cancel.
func (q *problem) magnitudes() float64 {
	a := *q
	for _, v := range []*[]float32{&a.x, &a.b, &a.c} {
		*v = slices.Clone(*v)
		for i, f := range *v {
			(*v)[i] = max(f, -f)
		}
	}
	return slices.Max(a.recurrence())
}

// recurrence computes the outputs row by row, in float64.
func (q *problem) recurrence() []float64 {
	s, y := make([]float64, q.n*q.p), make([]float64, q.rows*q.p)
	for t := range q.rows {
		e := math.Exp(q.decay[t])
		for i := range q.n {
			for j := range q.p {
				v := &s[i*q.p+j]
				*v = e**v + float64(q.b[t*q.n+i])*float64(q.x[t*q.p+j])
				y[t*q.p+j] += float64(q.c[t*q.n+i]) * *v
			}
		}
	}
	return y
}

// run computes them in steps of the given sizes, the last repeating, and returns the
// state as well.
func (q *problem) run(sizes ...int) (y, state []float32) {
	y, state = make([]float32, q.rows*q.p), make([]float32, q.n*q.p)
	x, b, sums := make([]float32, q.chunk*q.p), make([]float32, q.chunk*q.n), make([]float64, q.chunk)
	var w Work[float32]
	for t := 0; t < q.rows; {
		at := t % q.chunk
		m := min(sizes[0], q.rows-t, q.chunk-at)
		if len(sizes) > 1 {
			sizes = sizes[1:]
		}
		for r := range m {
			copy(x[(at+r)*q.p:], q.x[(t+r)*q.p:(t+r+1)*q.p])
			for i, v := range q.b[(t+r)*q.n : (t+r+1)*q.n] {
				b[i*q.chunk+at+r] = v
			}
			sums[at+r] = q.decay[t+r]
		}
		cb := dense.Part[float32]{V: make([]float32, m*q.chunk), Stride: q.chunk}
		c := Scan[float32]{
			At: at, Rows: at + m, N: q.n, P: q.p, Decay: sums[:at+m], X: x,
			B: dense.Part[float32]{V: b, Stride: q.chunk}, C: dense.Part[float32]{V: q.c[t*q.n:], Stride: q.n}, CB: cb, State: state,
		}
		Accumulate(c.Decay, at)
		Scores(&w, cb, c.C, c.B, at, at+m, q.n)
		c.Outputs(&w, dense.Part[float32]{V: y[t*q.p:], Stride: q.p})
		if at+m == q.chunk {
			c.Advance(&w)
		}
		t += m
	}
	return y, state
}

// Chunks compute what the recurrence does, within float32 rounding, also where the
// state is forgotten within a chunk.
func TestScanIsTheRecurrence(t *testing.T) {
	for _, chunk := range []int{1, 8, 64, 256} {
		for _, fall := range []float64{0.001, 0.1, 3, 40} {
			q := newProblem(uint64(chunk), 300, chunk, 32, 24, fall)
			want := q.recurrence()
			got, _ := q.run(q.rows)
			top := 0.0
			for _, v := range want {
				top = max(top, math.Abs(v))
			}
			for i, v := range got {
				if d := math.Abs(float64(v) - want[i]); !(d <= 3e-6*top) {
					t.Fatalf("chunk %d, decay %g: row %d is off by %g of %g", chunk, fall, i/q.p, d, top)
				}
			}
		}
	}
}

// A row's bits do not depend on how rows are divided into steps.
func TestScanSplits(t *testing.T) {
	for _, chunk := range []int{8, 64, 128} {
		t.Run(fmt.Sprint(chunk), func(t *testing.T) {
			q := newProblem(2, 270, chunk, 48, 20, 0.2)
			want, state := q.run(q.rows)
			for _, sizes := range [][]int{{1}, {2}, {3, 1, 60, 7, 1, 1, 64}, {63, 2, 1}, {17}} {
				y, s := q.run(sizes...)
				if !slices.Equal(y, want) || !slices.Equal(s, state) {
					t.Errorf("steps of %v give other bits", sizes)
				}
			}
		})
	}
}

func FuzzScan(f *testing.F) {
	f.Add(uint64(1), uint8(40), uint8(8), uint8(16), uint8(16), uint8(3))
	f.Add(uint64(2), uint8(200), uint8(64), uint8(5), uint8(33), uint8(70))
	f.Fuzz(func(t *testing.T, seed uint64, rows, chunk, n, p, step uint8) {
		if rows == 0 || chunk == 0 || n == 0 || p == 0 || step == 0 {
			return
		}
		q := newProblem(seed, int(rows), int(chunk), int(n), int(p), 0.3)
		want, _ := q.run(q.rows)
		if got, _ := q.run(int(step)); !slices.Equal(got, want) {
			t.Error("steps give other bits")
		}
		exact, top := q.recurrence(), q.magnitudes()
		for i, v := range want {
			if d := math.Abs(float64(v) - exact[i]); !(d <= 3e-6*top) {
				t.Fatalf("row %d is off by %g of terms of %g", i/q.p, d, top)
			}
		}
	})
}

// The rate is that of the arithmetic of the formulas, without the multiplications by
// zero of later rows.
func BenchmarkScan(b *testing.B) {
	for _, chunk := range []int{32, 64, 128, 256} {
		b.Run(fmt.Sprintf("%d", chunk), func(b *testing.B) {
			const n, p = 128, 64
			q := newProblem(1, chunk, chunk, n, p, 0.05)
			bs := make([]float32, n*chunk)
			for t := range chunk {
				for i := range n {
					bs[i*chunk+t] = q.b[t*n+i]
				}
			}
			Accumulate(q.decay, 0)
			var w Work[float32]
			y, state, cb := make([]float32, chunk*p), make([]float32, n*p), make([]float32, chunk*chunk)
			c := Scan[float32]{
				Rows: chunk, N: n, P: p, Decay: q.decay, X: q.x,
				B: dense.Part[float32]{V: bs, Stride: chunk}, C: dense.Part[float32]{V: q.c, Stride: n}, CB: dense.Part[float32]{V: cb, Stride: chunk}, State: state,
			}
			Scores(&w, c.CB, c.C, c.B, 0, chunk, n)
			for b.Loop() {
				c.Outputs(&w, dense.Part[float32]{V: y, Stride: p})
				c.Advance(&w)
			}
			flops := 2 * (2*chunk*n*p + chunk*(chunk+1)/2*p)
			b.ReportMetric(float64(flops)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(chunk)*1e9, "ns/row")
		})
	}
	b.Run("product", func(b *testing.B) { // what a large product reaches, on one thread
		const m = 512
		w := dense.New[float32](nil)
		x, y, z := make([]float32, m*m), make([]float32, m*m), make([]float32, m*m)
		for b.Loop() {
			w.Mul(z, x, y, m, m, m)
		}
		b.ReportMetric(2*m*m*m*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}
