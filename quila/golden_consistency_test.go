package quila_test

import (
	"fmt"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/internal/network"
)

func init() { topics["cm_step"] = goldenConsistency }

func goldenConsistency(t *testing.T, path string) {
	var file struct {
		Params map[string]any
		Karras []float64 `json:"karras_18"`
		Cases  []struct {
			T      float64
			SigmaD float64 `json:"sigma_d"`
			X, Y   [][]float64
			F      [][]float64
		}
	}
	golden.JSON(t, path, &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	near(t, "Karras points", network.Karras(len(file.Karras), .002, 80), file.Karras, 1e-12, 0)
	w1, b1 := flat(t, file.Params["cm.f.1.w"]), flat(t, file.Params["cm.f.1.b"])
	w2, b2 := flat(t, file.Params["cm.f.2.w"]), flat(t, file.Params["cm.f.2.b"])
	net := &network.ConsistencyNet[float64]{Dim: len(b2), Hidden: len(b1), W1: w1, B1: b1, W2: w2, B2: b2}
	net32 := &network.ConsistencyNet[float32]{Dim: len(b2), Hidden: len(b1), W1: narrow(w1), B1: narrow(b1), W2: narrow(w2), B2: narrow(b2)}
	var s network.Scratch[float64]
	var s32 network.Scratch[float32]
	for i, c := range file.Cases {
		name := fmt.Sprintf("case %d, t = %v: ", i, c.T)
		var x, want, wantF, times []float64
		for k := range c.X {
			x, want, wantF, times = append(x, c.X[k]...), append(want, c.Y[k]...), append(wantF, c.F[k]...), append(times, c.T)
		}
		got := make([]float64, len(x))
		if err := net.Eval(got, x, times, &s); err != nil {
			t.Fatal(err)
		}
		near(t, name+"F", got, wantF, 1e-10, 0)
		if err := network.Apply(net, got, x, times, c.SigmaD, network.Song, &s); err != nil {
			t.Fatal(err)
		}
		near(t, name+"f", got, want, 1e-10, 0)
		got32 := narrow(x)
		if err := network.Apply(net32, got32, got32, narrow(times), c.SigmaD, network.Song, &s32); err != nil {
			t.Fatal(err)
		}
		near(t, name+"f in float32", got32, want, 5e-5, 0)
	}
}
