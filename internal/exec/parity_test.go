package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/model/compile"
	"atenia/internal/model/convert"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/internal/plan"
	"atenia/tensor"
)

// A fixture is the manifest of one parity case.
type fixture struct {
	Kind      string
	Inputs    map[string]string
	Sequences []struct {
		Name      string
		Tokens    []int32
		Prompt    int
		Logits    string
		Decode    string
		Hidden    string
		Encoder   string
		Whole     bool
		Types     []int32
		Vectors   map[string]string // by pooling, or "model": as the model's own modules pool and project
		Mean      string            `json:"mean_pooled"`
		MeanUnit  string            `json:"mean_pooled_l2"`
		First     string            `json:"cls"`
		Last      string
		MinPrefix int `json:"min_prefix"`

		ImageEmbeds            string `json:"image_embeds"`
		Deepstack0, Deepstack1 string
	}
	Tolerance struct {
		MaxAbs float64 `json:"max_abs"`
	}
}

// notYet are the parity cases with unsupported opcodes or inputs, by their error. A listed
// case that begins to pass fails the test, so that the list only shrinks.
var notYet = map[string]bool{}

// exactly is for comparisons with PyTorch: weights in blocks are multiplied as the
// values they stand for, and the cache rounds nothing.
var exactly = compile.Options{KVType: tensor.F32}

// others run the cases of other kinds than text decoders.
var others = map[string]func(t *testing.T, m *model, folder string, f *fixture){
	"whisper": paritySound, "encoder": encoderParity,
}

// TestGoldenParity runs every case from its Hugging Face folder, with both
// spellings of the configuration, and from a GGUF file, and compares each row of logits with
// PyTorch's: prefill of several prefixes, the rest token by token.
func TestGoldenParity(t *testing.T) {
	dir := golden.Family(t, "parity")
	for _, name := range golden.Dirs(t, dir) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(dir, name)
			var f fixture
			golden.JSON(t, filepath.Join(folder, "fixture.json"), &f)
			if unsupported(t, name, folder) {
				return
			}
			// The forms of a model have one plan: of the others than the first a prompt is enough.
			prompts := 3
			for _, config := range []string{"config.json", "config.v5.json"} {
				if _, err := os.Stat(filepath.Join(folder, config)); err != nil {
					continue
				}
				t.Run(config, func(t *testing.T) {
					d, err := file.Open(folder, file.ConfigName(config))
					if err != nil {
						t.Fatal(err)
					}
					defer d.Close()
					parity(t, load(t, d, exactly), folder, &f, prompts)
				})
				if !await.Long() {
					prompts = 1
				}
			}
			t.Run("gguf", func(t *testing.T) {
				d := converted(t, folder)
				defer d.Close()
				parity(t, load(t, d, exactly), folder, &f, prompts)
			})
		})
	}
}

// converted opens the folder's model as the GGUF file of F32 that the quantize
// command writes of it.
func converted(t *testing.T, folder string) *file.Description {
	from, err := file.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	mix, err := quant.ParseMix("f32")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if _, err := convert.Convert(t.Context(), from, path, convert.Options{Mix: mix}); err != nil {
		t.Fatal(err)
	}
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// unsupported reports whether a case is rejected as a whole. Cases in the notYet table must
// be rejected with its error; others must not.
func unsupported(t *testing.T, name, folder string) bool {
	d, err := file.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = compile.Compile(d, compile.Options{})
	switch {
	case err != nil && notYet[name]:
		t.Logf("not yet: %v", err)
		return true
	case err != nil:
		t.Fatal(err)
	case notYet[name]:
		t.Errorf("%s compiles now: take it out of the table of cases not built yet", name)
	}
	return false
}

// parity computes the sequences of a case, each with at most so many different prompts.
func parity(t *testing.T, m *model, folder string, f *fixture, prompts int) {
	if run := others[f.Kind]; run != nil {
		run(t, m, folder, f)
		return
	}
	for _, s := range f.Sequences {
		want := golden.NPY(t, filepath.Join(folder, s.Logits))
		prefixes := []int{s.Prompt, 1, 1 + rand.New(rand.NewPCG(7, uint64(len(s.Tokens)))).IntN(len(s.Tokens))}
		if s.Whole {
			prefixes = []int{len(s.Tokens)}
		}
		prefixes = slices.DeleteFunc(prefixes, func(n int) bool { return n < s.MinPrefix || n > len(s.Tokens) })
		for _, n := range prefixes[:min(prompts, len(prefixes))] {
			l := m.lane(t, exec.Config{Threads: 2, MaxLogits: 512, Context: 512, Precise: true})
			got := l.all(s.Tokens, n, 1)
			if err := compare(got, want, f.Tolerance.MaxAbs); err != nil {
				t.Errorf("%s, prefill of %d: %v%s", s.Name, n, err, firstBadLayer(t, m, folder, s.Hidden, s.Tokens, f.Tolerance.MaxAbs))
				return
			}
		}
	}
}

// compare checks rows against the reference: every value within tol, and the
// same largest one wherever the reference's best two are further apart than
// ten tolerances.
func compare(got [][]float32, want *golden.Array, tol float64) error {
	if len(got) != want.Shape[0] {
		return fmt.Errorf("%d rows, want %d", len(got), want.Shape[0])
	}
	for r, row := range got {
		ref := want.Row(r)
		if len(row) != len(ref) {
			return fmt.Errorf("row %d has %d values, want %d", r, len(row), len(ref))
		}
		for i := range row {
			if d := math.Abs(float64(row[i]) - float64(ref[i])); !(d <= tol) {
				return fmt.Errorf("row %d, value %d: got %g, want %g, off by %.3g with a tolerance of %.3g", r, i, row[i], ref[i], d, tol)
			}
		}
		if best, gap := top(ref); gap > 10*tol {
			if b, _ := top(row); b != best {
				return fmt.Errorf("row %d: token %d is most likely, want %d", r, b, best)
			}
		}
	}
	return nil
}

func top(row []float32) (best int, gap float64) {
	second := math.Inf(-1)
	for i, v := range row {
		switch {
		case v > row[best]:
			second, best = float64(row[best]), i
		case i != best && float64(v) > second:
			second = float64(v)
		}
	}
	return best, float64(row[best]) - second
}

// firstBadLayer finds the first layer whose residual stream differs from the reference's.
func firstBadLayer(t *testing.T, m *model, folder, path string, tokens []int32, tol float64) string {
	if path == "" {
		return ""
	}
	want := golden.NPY(t, filepath.Join(folder, path)) // [layers+1, tokens, hidden]
	per := want.Shape[1] * want.Shape[2]
	last := map[int16][]float32{}
	s := &exec.Step{Trace: func(_ int, ins *plan.Instruction, j int, values []float32, _ int) {
		if j == 0 && ins.Layer >= 0 {
			last[ins.Layer] = append([]float32(nil), values...)
		}
	}}
	l := m.lane(t, exec.Config{MaxLogits: 512, Context: 512})
	l.run(s, feed{l.sequence(len(tokens)), tokens})
	for layer := range want.Shape[0] - 2 {
		ref := want.F32[(layer+1)*per : (layer+2)*per]
		for i, v := range last[int16(layer)] {
			if i < len(ref) && math.Abs(float64(v-ref[i])) > 100*tol {
				return fmt.Sprintf("; the output of layer %d differs first (got %g, want %g)", layer, v, ref[i])
			}
		}
	}
	return ""
}
