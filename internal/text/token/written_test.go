package token

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"atenia/internal/golden"
)

// TestWritten: the text of random tokens is what they write, one after another.
func TestWritten(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(golden.Family(t, "tokenizers"), "*.json"))
	tried := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".ref.json") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tk, err := Load(b)
		if err != nil {
			continue // texts and other tables
		}
		tokens, trims, err := tk.Written()
		if err != nil {
			t.Logf("%s: %v", filepath.Base(file), err)
			continue
		}
		tried++
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			var ids []int32
			var text []byte
			for range 1 + r.IntN(5) {
				id := int32(r.IntN(len(tokens)))
				ids, text = append(ids, id), append(text, tokens[id]...)
			}
			if !utf8.Valid(text) {
				continue // a matcher never lets it happen
			}
			want := string(text)
			if trims {
				want = strings.TrimPrefix(want, " ")
			}
			if got := tk.Decode(ids, true); got != want {
				t.Fatalf("%s: tokens %v: %q, want %q", filepath.Base(file), ids, want, got)
			}
		}
	}
	if tried < 2 {
		t.Fatalf("%d tokenizers in %d files", tried, len(files))
	}
}
