package exec_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// ggufNotYet are the GGUF cases whose opcodes are not built.
var ggufNotYet = map[string]bool{}

// A ggufCase is the manifest of one GGUF case.
type ggufCase struct {
	Tokens    []int32
	Logits    [][]float32
	Tolerance struct {
		MaxAbs float64 `json:"max_abs"`
		RMS    float64 `json:"rms"`
	}
}

// TestGoldenGGUF compares every GGUF case with the logits of its dequantized
// weights: the default arithmetic within the case's tolerance, the precise one
// within 1e-4 of the largest logit.
func TestGoldenGGUF(t *testing.T) {
	dir := golden.Family(t, "gguf/models")
	files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s (%v)", dir, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".gguf")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c ggufCase
			golden.JSON(t, strings.TrimSuffix(path, ".gguf")+".json", &c)
			d, err := file.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if ggufNotYet[name] {
				if _, err := compile.Compile(d, compile.Options{}); err == nil {
					t.Error("compiles now: take it out of the table of cases not built yet")
				} else {
					t.Logf("not yet: %v", err)
				}
				return
			}
			m := load(t, d, compile.Options{})
			largest := 0.0
			for _, row := range c.Logits {
				for _, v := range row {
					largest = max(largest, math.Abs(float64(v)))
				}
			}
			for _, chunks := range [][]int{{len(c.Tokens)}, {7, 1}} {
				l := m.lane(t, exec.Config{Threads: 2, MaxLogits: 512, Context: 512})
				worst, rms := distance(l.all(c.Tokens, chunks...), c.Logits)
				if worst > c.Tolerance.MaxAbs || rms > c.Tolerance.RMS {
					t.Errorf("chunks %v: off by %.3g (rms %.3g), tolerance %.3g (%.3g)", chunks, worst, rms, c.Tolerance.MaxAbs, c.Tolerance.RMS)
				}
			}
			exact := load(t, d, compile.Options{KVType: kvF32})
			l := exact.lane(t, exec.Config{Threads: 2, MaxLogits: 512, Context: 512, Precise: true})
			if worst, _ := distance(l.all(c.Tokens, len(c.Tokens)), c.Logits); worst > 1e-4*largest {
				t.Errorf("precise: off by %.3g, want within 1e-4 of %.3g", worst, largest)
			}
		})
	}
}

func distance(got, want [][]float32) (worst, rms float64) {
	n := 0
	for r := range want {
		for i := range want[r] {
			d := math.Abs(float64(got[r][i]) - float64(want[r][i]))
			if !(d <= worst) {
				worst = d
			}
			rms += d * d
			n++
		}
	}
	return worst, math.Sqrt(rms / float64(n))
}
