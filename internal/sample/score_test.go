package sample

import (
	"math"
	"testing"
)

func TestLogProb(t *testing.T) {
	if got := TokenLogProb([]float32{1000, 1000}, 1); math.Abs(got+math.Ln2) > 1e-12 {
		t.Errorf("got %v", got)
	}
	x := []float32{0.5, -1, 2}
	sum := 0.0
	for i := range x {
		sum += math.Exp(TokenLogProb(x, int32(i)))
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("probabilities add to %v", sum)
	}
}

func TestSum(t *testing.T) {
	var s Sum
	if s.Mean() != 0 || s.Error() != 0 {
		t.Error("of nothing")
	}
	for _, x := range []float64{1, 2, 3, 4} {
		s.Add(x)
	}
	if want := math.Sqrt(5. / 3 / 4); s.Mean() != 2.5 || math.Abs(s.Error()-want) > 1e-12 {
		t.Errorf("%v ± %v, want 2.5 ± %v", s.Mean(), s.Error(), want)
	}
}

func TestDivergence(t *testing.T) {
	var d Divergence
	// p = (1/2, 1/2), q = (3/4, 1/4): KL = log(2/√3)
	d.Add([]float32{0, 0}, []float32{float32(math.Log(3)), 0}, 1)
	d.Add([]float32{1, 2}, []float32{1, 2}, 0)
	want := math.Log(2 / math.Sqrt(3))
	if got := d.Quantile(1); math.Abs(got-want) > 1e-7 {
		t.Errorf("KL %v, want %v", got, want)
	}
	if d.SameTop() != 1 || math.Abs(d.ChangeRMS()-0.25/math.Sqrt2) > 1e-7 || d.Quantile(0) != 0 {
		t.Errorf("same %v, change %v, least %v", d.SameTop(), d.ChangeRMS(), d.Quantile(0))
	}
	d.Add([]float32{1, 2}, []float32{2, 1}, 0)
	if got := d.SameTop(); math.Abs(got-2./3) > 1e-12 {
		t.Errorf("same %v", got)
	}
}
