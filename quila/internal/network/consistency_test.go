package network

import (
	"context"
	"errors"
	"math"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/internal/weights"
)

// vectors are n vectors about two centres.
func vectors[F grad.Float](n, dim int) [][]F {
	x := make([]float64, n*dim)
	weights.Stream{Seed: 4}.Normal(x)
	out := make([][]F, n)
	for i := range out {
		out[i] = make([]F, dim)
		for d := range dim {
			out[i][d] = F(float64(i%2*2-1) + .2*x[i*dim+d])
		}
	}
	return out
}

// TestThreads checks that a result does not depend on the number of threads, in
// either float type.
func TestThreads(t *testing.T) {
	o := DistillOptions{Steps: 30, TeacherSteps: 30, Batch: 64, Seed: 2}
	check(t, o, vectors[float32](100, 6))
	check(t, o, vectors[float64](100, 6))
}

func check[F grad.Float](t *testing.T, o DistillOptions, v [][]F) {
	t.Helper()
	a, err := Distill(t.Context(), v, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Threads = grad.NewThreads(3)
	defer o.Threads.Close()
	b, err := Distill(t.Context(), v, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range a.EMA.tensors() {
		for j, x := range w {
			if y := b.EMA.tensors()[i][j]; x != y {
				t.Fatalf("tensor %d [%d] is %v with one thread, %v with three", i, j, x, y)
			}
		}
	}
}

// TestHeun checks that a step has the second order: half the step, a quarter of
// the error or less. The teacher is that of a point, whose trajectories are
// straight lines in x/σ, so its network is replaced by a bent one.
func TestHeun(t *testing.T) {
	const dim = 3
	teacher := newTeacher[float64](dim, 8, 1, weights.Stream{Seed: 6})
	fill(teacher.w[4], .2, weights.Stream{Seed: 7})
	x := []float64{.4, -1, 2}
	scratch := make([]float64, 2*dim)
	solve := func(steps int) []float64 {
		here, next := append([]float64(nil), x...), make([]float64, dim)
		for k := range steps {
			from, to := 2-float64(k)/float64(steps), 2-float64(k+1)/float64(steps)
			if err := teacher.Heun(next, here, []float64{from}, []float64{to}, scratch); err != nil {
				t.Fatal(err)
			}
			copy(here, next)
		}
		return here
	}
	off := func(steps int) (e float64) {
		for i, v := range solve(2048) {
			e = math.Max(e, math.Abs(v-solve(steps)[i]))
		}
		return e
	}
	if a, b := off(8), off(16); !(b < a/3) || a == 0 {
		t.Errorf("the error goes from %.3g to %.3g at half the step", a, b)
	}
}

// TestIdentity checks t = 0 in both forms, and that half-way the form is Song's.
func TestIdentity(t *testing.T) {
	n := NewConsistencyNet[float32](4, 8, weights.Stream{})
	fill(n.W2, 1, weights.Stream{Seed: 1})
	x := []float32{float32(math.Copysign(0, -1)), 1e-40, 3e38, -1}
	var s Scratch[float32]
	for _, form := range []Form{Song, Residual} {
		y := make([]float32, 4)
		if err := Apply(n, y, x, []float32{0}, .7, form, &s); err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			if math.Float32bits(y[i]) != math.Float32bits(v) {
				t.Errorf("%s: %v becomes %v at t = 0", form, v, y[i])
			}
		}
	}
	zero := NewConsistencyNet[float32](4, 8, weights.Stream{}) // F = 0
	y := make([]float32, 4)
	if err := Apply(zero, y, []float32{1, 2, 3, 4}, []float32{.5}, .7, Song, &s); err != nil {
		t.Fatal(err)
	}
	for i, v := range y { // σ = σ_d
		if want := float32(i+1) / 2; math.Abs(float64(v-want)) > 1e-6 {
			t.Errorf("c_skip·%d is %v, want %v", i+1, v, want)
		}
	}
}

// TestFaults checks the errors of operands and options.
func TestFaults(t *testing.T) {
	n := NewConsistencyNet[float32](4, 8, weights.Stream{})
	var s Scratch[float32]
	x := make([]float32, 8)
	two := []float32{.1, .2}
	broken := *n
	broken.B1 = broken.B1[:3]
	teacher := newTeacher[float32](4, 8, 1, weights.Stream{})
	for i, err := range []error{
		Apply(n, x, x[:7], two, 1, Song, &s), Apply(n, x[:4], x, two, 1, Song, &s), Apply(n, x, x, two, 1, "other", &s), Apply(n, x, x, two, 0, Song, &s),
		Apply(n, x, x, two, math.NaN(), Song, &s), Apply(&broken, x, x, two, 1, Song, &s), n.Eval(x, x, two[:1], &s), broken.Eval(x, x, two, &s),
		Twice(n, x, x, two, x[:3], .1, 1, &s), teacher.Denoise(x, x, []float64{1}), teacher.Solve(x, x[:7], 1, 18), teacher.Solve(x, x, 1, 1),
	} {
		if !errors.Is(err, errConsistencyShape) {
			t.Errorf("%d: got %v, want an error about a shape", i, err)
		}
	}
	good := vectors[float32](4, 3)
	nan := vectors[float32](4, 3)
	nan[2][1] = float32(math.NaN())
	for i, c := range []struct {
		v [][]float32
		o DistillOptions
	}{{nil, DistillOptions{}}, {[][]float32{{}}, DistillOptions{}}, {[][]float32{{1}, {1, 2}}, DistillOptions{}}, {[][]float32{{0, 0}}, DistillOptions{}}, {nan, DistillOptions{}},
		{good, DistillOptions{Steps: -1}}, {good, DistillOptions{Batch: 1 << 30}}, {good, DistillOptions{EMALow: 2}}, {good, DistillOptions{Points: 1}}, {good, DistillOptions{Steps: 5, Warm: 5}}} {
		if _, err := Distill(t.Context(), c.v, c.o); !errors.Is(err, errConsistencyShape) {
			t.Errorf("%d: got %v, want an error about a shape", i, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Distill(ctx, good, DistillOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run returns %v", err)
	}
}

// TestApplyAllocates checks that applying the function allocates nothing.
func TestApplyAllocates(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("counts allocations")
	}
	n := NewConsistencyNet[float32](16, 32, weights.Stream{})
	var s Scratch[float32]
	x, times := make([]float32, 8*16), make([]float32, 8)
	if a := await.Allocs(20, func() {
		if Apply(n, x, x, times, 1, Song, &s) != nil || Twice(n, x, x, times, x, .1, 1, &s) != nil {
			t.Error("an error")
		}
	}); a > 0 {
		t.Errorf("%v allocations", a)
	}
}

// BenchmarkApply removes noise from the vectors of 32 sessions of 8 neurons.
func BenchmarkApply(b *testing.B) {
	n := NewConsistencyNet[float32](64, 128, weights.Stream{})
	var s Scratch[float32]
	x, times := make([]float32, 256*64), make([]float32, 256)
	for i := range times {
		times[i] = .5
	}
	for b.Loop() {
		if err := Apply(n, x, x, times, 1, Song, &s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*256*128*(65+64)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
