package file

import (
	"bytes"
	"fmt"
	"testing"

	"atenia/tensor"
)

// large is the header of a model with a vocabulary of 128k and 300 tensors.
func large(b *testing.B) []byte {
	tokens := make([]string, 128_000)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("token%d", i)
	}
	var m Metadata
	m.Set("tokenizer.ggml.tokens", ArrayOf(tokens))
	m.Set("tokenizer.ggml.merges", ArrayOf(append(tokens, tokens...)))
	m.Set("tokenizer.ggml.token_type", ArrayOf(make([]int32, len(tokens))))
	var ts []TensorSource
	for i := range 300 {
		ts = append(ts, SourceOf(fmt.Sprintf("blk.%d.weight", i), tensor.FromF32(tensor.Shape{8}, make([]float32, 8))))
	}
	var w bytes.Buffer
	if err := EncodeGGUF(&w, m, ts); err != nil {
		b.Fatal(err)
	}
	return w.Bytes()
}

func BenchmarkOpenBytes(b *testing.B) {
	file := large(b)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := OpenBytes("large", file); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStrings(b *testing.B) {
	d, err := OpenBytes("large", large(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok, err := d.Meta.Strings("tokenizer.ggml.tokens"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
