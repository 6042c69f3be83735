package atenia_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"atenia"
	"atenia/internal/model/convert"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
)

// The products that read the first norm get what the norm of the tokens'
// embeddings is.
func TestMeasureImportance(t *testing.T) {
	const folder, text = "internal/model/quant/testdata/gptq4", "abcdefghij abcd"
	out := filepath.Join(t.TempDir(), "m.gguf")
	windows := 0
	r, err := atenia.MeasureImportance(t.Context(), folder, out, text, nil, atenia.ImportanceOptions{Window: 4, Dataset: "x", Progress: func(int, int) { windows++ }})
	if err != nil {
		t.Fatal(err)
	}
	if windows != r.Windows || r.Tensors != 7 {
		t.Errorf("%+v after %d windows", *r, windows)
	}
	d, err := file.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	values := func(name string) []float32 {
		x, ok := d.Tensor(name)
		if !ok {
			t.Fatal(name)
		}
		n, _ := x.View.Shape.Size()
		out := make([]float32, n)
		if err := quant.Dequantize(out, x.View.DType, x.View.Data); err != nil {
			t.Fatal(err)
		}
		return out
	}
	embed, norm := values("model.embed_tokens.weight"), values("model.layers.0.input_layernorm.weight")
	tok, err := atenia.OpenTokenizer(folder)
	if err != nil {
		t.Fatal(err)
	}
	ids := tok.Encode(text, true)[:r.Tokens]
	want := make([]float64, len(norm))
	for _, id := range ids {
		row, square := embed[int(id)*len(norm):][:len(norm)], 0.0
		for _, x := range row {
			square += float64(x) * float64(x) / float64(len(norm))
		}
		for i, x := range row {
			y := float64(x) / math.Sqrt(square+1e-5) * float64(norm[i])
			want[i] += y * y / float64(len(ids))
		}
	}
	m, err := convert.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"} {
		got, err := m.Of(name, 0, 1, len(norm))
		if err != nil || got == nil {
			t.Fatal(name, got, err)
		}
		for i := range got {
			if math.Abs(float64(got[i])-want[i]) > 1e-5*want[i] {
				t.Fatalf("%s, column %d: got %v, want %v", name, i, got[i], want[i])
			}
		}
	}
	// Errors of important columns shrink.
	loss := func(importance string) (sum float64) {
		mix, _ := atenia.ParseMix("q4_0")
		path := filepath.Join(t.TempDir(), "q.gguf")
		if _, err := atenia.Quantize(t.Context(), "internal/model/quant/testdata/fp8_row", path, atenia.QuantizeOptions{Mix: mix, Importance: importance}); err != nil {
			t.Fatal(err)
		}
		q, err := file.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		o, err := file.Open("internal/model/quant/testdata/fp8_row")
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		a, _ := q.Tensor("blk.0.attn_v.weight")
		b, _ := o.Tensor("model.layers.0.self_attn.v_proj.weight")
		n, _ := a.View.Shape.Size()
		x, y := make([]float32, n), make([]float32, n)
		if err := errors.Join(quant.Dequantize(x, a.View.DType, a.View.Data), quant.Dequantize(y, b.View.DType, b.Read().Data)); err != nil {
			t.Fatal(err)
		}
		for i := range x {
			e := float64(x[i] - y[i])
			sum += e * e * want[i%len(want)]
		}
		return sum
	}
	if with, without := loss(out), loss(""); !(with < without) {
		t.Errorf("weighted error %v with the matrix, %v without", with, without)
	}
}

func TestImportanceErrors(t *testing.T) {
	var bad *atenia.ConfigError
	for text, o := range map[string]atenia.ImportanceOptions{"": {}, "Once upon a time": {Window: 1}} {
		if _, err := atenia.MeasureImportance(t.Context(), "", filepath.Join(t.TempDir(), "m"), text, nil, o); !errors.As(err, &bad) {
			t.Errorf("%q: %v", text, err)
		}
	}
	path := filepath.Join(t.TempDir(), "m.dat")
	if err := os.WriteFile(path, []byte("no matrix"), 0o666); err != nil {
		t.Fatal(err)
	}
	var format *file.FormatError
	if _, err := atenia.Quantize(t.Context(), "", filepath.Join(t.TempDir(), "q.gguf"), atenia.QuantizeOptions{Importance: path}); !errors.As(err, &format) {
		t.Errorf("a text: %v", err)
	}
}
