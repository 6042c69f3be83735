package exec_test

import (
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
)

// encode runs texts in one step and returns the requested rows: all for pooling
// "none", one for each text otherwise.
func (l *lane) encode(pool string, texts [][]int32, types ...[]int32) [][]float32 {
	l.t.Helper()
	s := &exec.Step{}
	for i, tokens := range texts {
		s.Runs = append(s.Runs, exec.Run{First: len(s.Tokens), Len: len(tokens), Span: len(tokens)})
		rows := exec.Pooled(&s.Runs[i], pool)
		for r := rows.Lo; r < rows.Hi; r++ {
			s.Requested = append(s.Requested, int32(r))
		}
		s.Tokens = append(s.Tokens, tokens...)
	}
	if len(types) > 0 {
		s.Types = slices.Concat(types...)
	}
	if err := l.x.Step(s); err != nil {
		l.t.Fatal(err)
	}
	var out [][]float32
	for i := range s.Requested {
		out = append(out, slices.Clone(l.x.Logits(s, i)))
	}
	return out
}

// encoderParity compares the rows of every text, and its vectors, with PyTorch's:
// each text alone, and all of them in one step.
func encoderParity(t *testing.T, m *model, folder string, f *fixture) {
	var texts [][]int32
	var types [][]int32
	for _, s := range f.Sequences {
		texts = append(texts, s.Tokens)
		if s.Types != nil {
			types = append(types, s.Types)
		}
	}
	as := func(name string, opt compile.Options, file func(i int) string) {
		if file(0) == "" {
			return
		}
		own := load(t, m.files, opt)
		l := own.lane(t, exec.Config{Threads: 2, MaxLogits: 256, MaxTokens: 256, Context: own.Config.Context})
		pool := own.Config.Encoder.Pool
		together := l.encode(pool, texts, types...)
		for i, tokens := range texts {
			want := golden.NPY(t, filepath.Join(folder, file(i)))
			if len(want.Shape) == 1 {
				want.Shape = []int{1, want.Shape[0]}
			}
			var kinds [][]int32
			if types != nil {
				kinds = types[i : i+1]
			}
			alone := l.encode(pool, [][]int32{tokens}, kinds...)
			if err := compare(alone, want, f.Tolerance.MaxAbs); err != nil {
				t.Errorf("%s of %s: %v", name, f.Sequences[i].Name, err)
			}
			if n := len(alone); !equalRows(alone, together[:n]) {
				t.Errorf("%s of %s: other bits in a step with other texts", name, f.Sequences[i].Name)
			}
			together = together[len(alone):]
		}
	}
	raw := func(pool string) compile.Options { return compile.Options{Pool: pool, Normalize: compile.Absent} }
	as("rows", raw("none"), func(i int) string { return f.Sequences[i].Logits })
	as("mean", raw("mean"), func(i int) string { return f.Sequences[i].Mean })
	as("unit mean", compile.Options{Pool: "mean", Normalize: compile.Present}, func(i int) string { return f.Sequences[i].MeanUnit })
	as("first", raw("cls"), func(i int) string { return f.Sequences[i].First })
	as("last", raw("last"), func(i int) string { return f.Sequences[i].Last })
	as("the model's own vector", compile.Options{}, func(i int) string { return f.Sequences[i].Vectors["model"] })
}

func equalRows(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool { return slices.Equal(x, y) })
}
