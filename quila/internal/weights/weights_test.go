package weights_test

import (
	"math"
	"testing"

	"atenia/quila/config"
	"atenia/quila/internal/weights"
)

// TestInventory: names are there once, and the tensors of the count of the
// specification add up to it.
func TestInventory(t *testing.T) {
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.Training()
	g := weights.Initial(&c)
	seen := map[string]bool{}
	var trained int
	for _, s := range weights.Inventory(&c, g.Edges()) {
		if seen[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.Name] = true
		if s.Trained {
			trained += s.Size()
		}
	}
	t.Logf("%d tensors, %d trained weights", len(seen), trained)
}

// TestInit: first values are finite, the same for one seed, other for another,
// and those with rules are what the rules say.
func TestInit(t *testing.T) {
	c, _ := config.Profile("nano")
	c.Training()
	e := weights.Initial(&c).Edges()
	a, b, other := weights.Init(&c, e, 1), weights.Init(&c, e, 1), weights.Init(&c, e, 2)
	differ := 0
	for i, s := range a.Specs {
		for k, x := range a.At(i) {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) || x != b.At(i)[k] {
				t.Fatalf("%s[%d] is %v, and %v again", s.Name, k, x, b.At(i)[k])
			}
			if x != other.At(i)[k] {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("seeds make the same values")
	}
	r := a.Of("port.thinker.0.wmq.r1")
	for i := range c.D {
		for j := range c.D {
			var dot float64
			for k := range c.D {
				dot += float64(r[i*c.D+k]) * float64(r[j*c.D+k])
			}
			want := 0.0
			if i == j {
				want = 1
			}
			if math.Abs(dot-want) > 1e-5 {
				t.Fatalf("rows %d and %d of r1 have the product %v", i, j, dot)
			}
		}
	}
	var norm float64
	for _, x := range a.Rows("codebook.text", 7) {
		norm += float64(x) * float64(x)
	}
	if math.Abs(norm-64) > 1e-3 {
		t.Errorf("a code has the norm %v", math.Sqrt(norm))
	}
}
