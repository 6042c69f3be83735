package network

import (
	"errors"
	"math"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/internal/weights"
)

// someResult is a network, its average and a teacher with random weights.
func someResult[F grad.Float](dim, hidden int, teacher bool) *DistillResult[F] {
	r := &DistillResult[F]{Net: NewConsistencyNet[F](dim, hidden, weights.Stream{Seed: 1}), EMA: NewConsistencyNet[F](dim, hidden, weights.Stream{Seed: 2}), SigmaD: .7}
	for i, n := range []*ConsistencyNet[F]{r.Net, r.EMA} {
		for j, v := range n.tensors() {
			fill(v, .4, weights.Stream{Seed: 3, Neuron: uint32(4*i + j)})
		}
	}
	if teacher {
		r.Teacher = newTeacher[F](dim, 3*dim, r.SigmaD, weights.Stream{Seed: 5})
		fill(r.Teacher.w[4], .2, weights.Stream{Seed: 6})
	}
	return r
}

func empty[F grad.Float](n *ConsistencyNet[F]) *ConsistencyNet[F] {
	e := n.clone()
	for _, v := range e.tensors() {
		clear(v)
	}
	return e
}

// TestAuxiliary checks the gradient against central differences, in float64, and
// that it is added to what is there.
func TestAuxiliary(t *testing.T) {
	const dim, hidden, batch, share, h = 5, 7, 12, .3, 1e-5
	for _, teacher := range []bool{true, false} {
		r := someResult[float64](dim, hidden, teacher)
		a, err := NewAuxiliary(r, DistillOptions{Batch: batch, Seed: 9}, share)
		if err != nil {
			t.Fatal(err)
		}
		clean := make([]float64, batch*dim)
		fill(clean, .7, weights.Stream{Seed: 8})
		sums := empty(r.Net)
		for _, v := range sums.tensors() {
			for i := range v {
				v[i] = 1
			}
		}
		first, err := a.Add(sums, clean, 4)
		if err != nil || !(first > 0) {
			t.Fatalf("the loss is %v, %v", first, err)
		}
		unused := empty(r.Net)
		loss := func() float64 {
			v, err := a.Add(unused, clean, 4)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		var worst, most float64
		for i, w := range r.Net.tensors() {
			for j, kept := range w {
				w[j] = kept + h
				up := loss()
				w[j] = kept - h
				down := loss()
				w[j] = kept
				want, got := share*(up-down)/(2*h), sums.tensors()[i][j]-1
				worst, most = math.Max(worst, math.Abs(got-want)), math.Max(most, math.Abs(want))
			}
		}
		if !(worst <= 1e-6*most) {
			t.Errorf("teacher %v: the gradient is off by %.2g of %.2g", teacher, worst, most)
		}
		if again, other := loss(), first; again != other {
			t.Errorf("teacher %v: the same step has a loss of %v, then of %v", teacher, other, again)
		}
		if other, err := a.Add(unused, clean, 5); err != nil || other == first {
			t.Errorf("teacher %v: step 5 has the loss of step 4, %v", teacher, err)
		}
	}
}

// TestAuxiliaryLearns checks that steps on the loss alone, with an average that
// follows, lower it at a distilled network that was disturbed.
func TestAuxiliaryLearns(t *testing.T) {
	v := vectors[float32](100, 6)
	r, err := Distill(t.Context(), v, DistillOptions{Steps: 300, TeacherSteps: 300, Batch: 64, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range r.Net.tensors() {
		off := make([]float32, len(w))
		fill(off, .2, weights.Stream{Seed: 7, Neuron: uint32(i)})
		for j := range w {
			w[j] += off[j]
		}
	}
	a, err := NewAuxiliary(r, DistillOptions{Batch: 50, Seed: 3}, AuxiliaryShare)
	if err != nil {
		t.Fatal(err)
	}
	clean := make([]float32, 0, 300)
	for _, x := range v[:50] {
		clean = append(clean, x...)
	}
	average, value := r.EMA.W1[0], r.Net.W1[0]
	a.Follow(.75)
	if got, want := r.EMA.W1[0], .75*average+.25*value; math.Abs(float64(got-want)) > 1e-6 {
		t.Errorf("the average goes from %v to %v, want %v", average, got, want)
	}
	var first, last float64
	for step := range 400 {
		sums := empty(r.Net)
		loss, err := a.Add(sums, clean, uint64(step))
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range r.Net.tensors() {
			for j, g := range sums.tensors()[i] {
				w[j] -= .5 * g
			}
		}
		a.Follow(.99)
		switch {
		case step < 20:
			first += loss / 20
		case step >= 380:
			last += loss / 20
		}
	}
	if !(last < .7*first) {
		t.Errorf("the loss goes from %.4f to %.4f", first, last)
	}
}

// TestAuxiliaryFaults checks the errors of operands and options.
func TestAuxiliaryFaults(t *testing.T) {
	good := func() *DistillResult[float32] { return someResult[float32](4, 8, true) }
	for i, f := range []func(r *DistillResult[float32]) (DistillOptions, float64){
		func(r *DistillResult[float32]) (DistillOptions, float64) { r.Net.B1 = nil; return DistillOptions{}, .1 },
		func(r *DistillResult[float32]) (DistillOptions, float64) { r.EMA.W2 = nil; return DistillOptions{}, .1 },
		func(r *DistillResult[float32]) (DistillOptions, float64) {
			*r.EMA = *NewConsistencyNet[float32](3, 8, weights.Stream{})
			return DistillOptions{}, .1
		},
		func(r *DistillResult[float32]) (DistillOptions, float64) {
			r.Teacher.Dim = 5
			return DistillOptions{}, .1
		},
		func(r *DistillResult[float32]) (DistillOptions, float64) {
			r.SigmaD = math.NaN()
			return DistillOptions{}, .1
		},
		func(r *DistillResult[float32]) (DistillOptions, float64) { return DistillOptions{}, 0 },
		func(r *DistillResult[float32]) (DistillOptions, float64) { return DistillOptions{Points: 1}, .1 },
		func(r *DistillResult[float32]) (DistillOptions, float64) { return DistillOptions{Batch: 1 << 18}, .1 },
	} {
		r := good()
		o, share := f(r)
		if _, err := NewAuxiliary(r, o, share); !errors.Is(err, errConsistencyShape) {
			t.Errorf("%d: got %v, want an error about a shape", i, err)
		}
	}
	r := good()
	a, err := NewAuxiliary(r, DistillOptions{Batch: 3}, .1)
	if err != nil {
		t.Fatal(err)
	}
	broken := empty(r.Net)
	broken.B2 = nil
	_, short := a.Add(empty(r.Net), make([]float32, 11), 0)
	_, partial := a.Add(broken, make([]float32, 12), 0)
	_, other := a.Add(NewConsistencyNet[float32](4, 9, weights.Stream{}), make([]float32, 12), 0)
	for i, err := range []error{short, partial, other} {
		if !errors.Is(err, errConsistencyShape) {
			t.Errorf("operand %d: got %v, want an error about a shape", i, err)
		}
	}
}

// TestAuxiliaryAllocates checks that a step allocates nothing.
func TestAuxiliaryAllocates(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("counts allocations")
	}
	r := someResult[float32](16, 32, true)
	a, err := NewAuxiliary(r, DistillOptions{Batch: 8}, AuxiliaryShare)
	if err != nil {
		t.Fatal(err)
	}
	sums, clean, step := empty(r.Net), make([]float32, 8*16), uint64(0)
	if n := await.Allocs(20, func() {
		if _, err := a.Add(sums, clean, step); err != nil {
			t.Error(err)
		}
		a.Follow(.99)
		step++
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
