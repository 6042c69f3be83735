package atenia_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"atenia"
)

// The embedded model is written in 8 bits, and the file tells a story too.
func ExampleQuantize() {
	dir, err := os.MkdirTemp("", "atenia")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "story-q8.gguf")

	mix, _ := atenia.ParseMix("q8_0")
	r, err := atenia.Quantize(context.Background(), "", out, atenia.QuantizeOptions{Mix: mix})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range r.Types {
		fmt.Println(t.Tensors, "tensors in", t.DType)
	}
	// Output:
	// 30 tensors in Q8_0
	// 9 tensors in F32
}

func TestQuantizeErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := atenia.Quantize(t.Context(), filepath.Join(dir, "none"), filepath.Join(dir, "out"), atenia.QuantizeOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no input: %v", err)
	}
	if _, err := atenia.Quantize(t.Context(), "", filepath.Join(dir, "none", "out"), atenia.QuantizeOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder for the output: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := atenia.Quantize(ctx, "", filepath.Join(dir, "out"), atenia.QuantizeOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := atenia.ParseMix("q9"); err == nil {
		t.Error("q9 is a mix")
	}
}
