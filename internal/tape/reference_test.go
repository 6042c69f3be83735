package tape_test

import (
	"math"
	"path/filepath"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/tape"
)

// TestReferenceGradients compares losses of encoders, and gradients of a low-rank pair,
// with those that torch computes in float64 (tools/torch/contrast.py).
func TestReferenceGradients(t *testing.T) {
	const near = 1e-6 // the fixtures' norms have constants in float32
	var cases []struct {
		Name, Module string
		Lens         []int
		Tokens       []int32
		Types        []int32
		Answers      []int32
		Targets      []float32
		Rank         int
		Scale        float64
		Loss         float64
		Met          int
		A, B         []float64
		AGrad        []float64 `json:"a_grad"`
		BGrad        []float64 `json:"b_grad"`
	}
	golden.JSON(t, filepath.Join("testdata", "encoders.json"), &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", c.Name))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		m, err := compile.Compile(d, compile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		half := func(name string, x []float64, rows int) *tape.Param[float64] {
			return &tape.Param[float64]{Name: name, Shape: []int{rows, len(x) / rows}, Value: x, Grad: make([]float64, len(x))}
		}
		a, b := half("a", c.A, c.Rank), half("b", c.B, len(c.B)/c.Rank)
		r := open(t, m, finder(d), func(p *tape.Params[float64]) {
			p.Train(func(*tape.Param[float64]) bool { return false })
			if err := p.Attach(c.Module+".weight", tape.LoRA[float64]{A: a, B: b, Scale: c.Scale}); err != nil {
				t.Fatal(err)
			}
		})
		r.batch = &tape.Batch{Tokens: c.Tokens, Lens: c.Lens, Types: c.Types, Answers: c.Answers, Targets: c.Targets, Labels: make([]int32, len(c.Tokens))}
		loss, _ := r.gradients()
		if !(math.Abs(loss-c.Loss) <= near*math.Abs(c.Loss)) {
			t.Errorf("%s: loss %v, torch has %v", c.Name, loss, c.Loss)
		}
		if met, ok := r.m.Met(); met != c.Met || !ok {
			t.Errorf("%s: %d goals are met, torch says %d", c.Name, met, c.Met)
		}
		for _, x := range []struct {
			name      string
			got, want []float64
		}{{"A", a.Grad, c.AGrad}, {"B", b.Grad, c.BGrad}} {
			diff, norm := 0.0, 0.0
			for i, w := range x.want {
				diff, norm = diff+(x.got[i]-w)*(x.got[i]-w), norm+w*w
			}
			t.Logf("%s %s: relative distance %.2g", c.Name, x.name, math.Sqrt(diff/norm))
			if !(len(x.got) == len(x.want) && diff <= near*near*norm) {
				t.Errorf("%s: the gradient of %s is %v from torch's, of length %v", c.Name, x.name, math.Sqrt(diff), math.Sqrt(norm))
			}
		}
	}
}
