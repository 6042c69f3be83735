package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A few samples of the embedded model and the loss on two texts: all figures
// are printed, and the same ones the second time.
func TestMeasure(t *testing.T) {
	t.Parallel()
	texts := filepath.Join(t.TempDir(), "texts.jsonl")
	const lines = `{"kind": "story", "text": "Once upon a time there was a fox."}` + "\n" + `{"kind": "chat", "text": "Hello!"}` + "\n"
	if err := os.WriteFile(texts, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	var got [2]string
	for i := range got {
		var b bytes.Buffer
		if err := measure(t.Context(), &b, "", texts, options{samples: 2, show: 1, seed: 1, temperature: 0.8}); err != nil {
			t.Fatal(err)
		}
		got[i] = b.String()
	}
	for _, want := range []string{"hero     ", "request  ", " of 1 ", "ended    ", "heldout  all: ", "heldout  chat: ", "(1 texts, "} {
		if !strings.Contains(got[0], want) {
			t.Errorf("no %q in\n%s", want, got[0])
		}
	}
	if got[0] != got[1] {
		t.Errorf("%s\nthen\n%s", got[0], got[1])
	}
	if err := os.WriteFile(texts, []byte("{\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := measure(t.Context(), &bytes.Buffer{}, "", texts, options{}); err == nil || !strings.Contains(err.Error(), "texts.jsonl:1") {
		t.Errorf("a bad line: %v", err)
	}
}
