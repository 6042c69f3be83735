package tape_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// TestGoldenQuantized records models of quantized files: their parameters are
// the dequantized values, and gradients are those of these values. One file of
// each family suffices.
func TestGoldenQuantized(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Family(t, "gguf/models"), "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatal("no models", err)
	}
	var seen []string // families
	for _, path := range files {
		d, err := file.Open(path)
		if err != nil {
			continue // what cannot be read is tested where it is
		}
		t.Cleanup(func() { d.Close() })
		m, err := compile.Compile(d, compile.Options{})
		if err != nil || slices.Contains(seen, m.Family) || !slices.ContainsFunc(d.Tensors, func(x file.Tensor) bool { return x.View.DType.Quantized() }) {
			continue
		}
		seen = append(seen, m.Family)
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			r := open[float64](t, m, finder(d), nil)
			r.batch = randomBatch(m.Config.Vocab)
			_, g := r.gradients()
			p := &probe[float64]{r: r, g: g, rng: rand.New(rand.NewPCG(5, 6))}
			p.along("all parameters", false, r.params.All()...)
			if p.worst > tolerance {
				t.Errorf("off by %.3g at %s", p.worst, p.where)
			}
		})
	}
	if len(seen) == 0 {
		t.Error("none is quantized")
	}
}
