package offload

import (
	"math"
	"math/rand/v2"
	"testing"

	"atenia/grad"
)

// AdamW in memory is bit for bit the one that is computed in files.
func TestAdamWIsTheTiers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	params := []*grad.Param[float32]{
		{Shape: []int{40, 50}, Value: make([]float32, 2000), Grad: make([]float32, 2000)},
		{Shape: []int{77}, Value: make([]float32, 77), Grad: make([]float32, 77)},
	}
	for _, p := range params {
		for k := range p.Value {
			p.Value[k], p.Grad[k] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
		}
	}
	init := func(layer, offset int, dst []float32) error {
		copy(dst, params[layer].Value[offset:])
		return nil
	}
	layers := []Layer{{Name: "a", Elements: 2000}, {Name: "b", Elements: 77, NoDecay: true}}
	s, err := New(layers, Config{Optimizer: Optimizer{Beta2: 0.95, Decay: 0.1}}, init)
	if err != nil {
		t.Fatal(err)
	}
	o, err := grad.NewOptimizer(grad.AdamW{Beta2: float64(float32(0.95)), Decay: float64(float32(0.1))}, params, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 4 {
		lr, scale := float32(0.01)/float32(k+1), float32(0.3)
		_, err := s.Step(t.Context(), func(yield func(Gradient, error) bool) {
			for i, p := range params {
				if !yield(Gradient{Layer: i, Values: p.Grad}, nil) {
					return
				}
			}
		}, Update{LR: lr, Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		o.Step(float64(lr), float64(scale))
	}
	for got, err := range s.Params(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range params[got.Layer].Value {
			// Round to nearest, ties to even: the upper half of float32.
			b := math.Float32bits(w)
			b += 0x7fff + b>>16&1
			if want := uint16(b >> 16); want != uint16(got.Values[2*i])|uint16(got.Values[2*i+1])<<8 {
				t.Fatalf("layer %d element %d differs", got.Layer, i)
			}
		}
	}
}
