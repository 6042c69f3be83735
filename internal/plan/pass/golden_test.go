package pass

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/plan"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The plans of the toy models, as text. They are the structural regression
// test of the steps and the examples that the tests of package plan read.
func TestPlanGolden(t *testing.T) {
	for _, g := range []struct {
		name, model string
		mode        plan.Mode
		layers      int
		opt         Options
	}{
		{"llama.prefill", "llama", plan.ModePrefill, 3, Options{}},
		{"llama.decode", "llama", plan.ModeDecode, 6, Options{}},
		{"llama.decode.unfused", "llama", plan.ModeDecode, 6, Options{NoFuse: true}},
		{"gemma.prefill", "gemma", plan.ModePrefill, 9, Options{}},
		{"bert.prefill", "bert", plan.ModePrefill, 3, Options{}},
		{"parallel.prefill", "parallel", plan.ModePrefill, 3, Options{}},
		{"hybrid.decode", "hybrid", plan.ModeDecode, 13, Options{}},
		{"mla.prefill", "mla", plan.ModePrefill, 3, Options{}},
	} {
		t.Run(g.name, func(t *testing.T) {
			golden(t, filepath.Join("..", "testdata", "plans", g.name+".plan"), compile(t, g.model, g.mode, g.layers, g.opt).String())
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and read the diff\n%s", file, got)
	}
}
