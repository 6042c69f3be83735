package atenia_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"atenia"
	"atenia/internal/model/embedded"
	"atenia/internal/model/file"
	"atenia/internal/sample"
)

// TestNaN: a model whose weights give NaN has an error in place of logits, whichever way
// they are asked for.
func TestNaN(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	d, err := file.OpenBytes(embedded.Name, embedded.Story())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	norm, ok := d.Tensor("output_norm.weight")
	if !ok {
		t.Fatal("no norm")
	}
	b := append([]byte{}, embedded.Story()...)
	nan := math.Float32bits(float32(math.NaN()))
	for i := range 4 {
		b[int(norm.Offset)+4*7+i] = byte(nan >> (8 * i))
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := atenia.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	check := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*sample.LogitsError](err); !ok || e.Value == e.Value {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, o := range []atenia.LogitsOptions{{}, {All: true}, {Step: 1}} {
		rows, err := m.Logits(t.Context(), []int32{1, 2, 3}, o)
		check("logits", err)
		if len(rows) != 0 {
			t.Errorf("%d rows", len(rows))
		}
	}
	check("generation", readAll(t, m, 4, nil))
}
