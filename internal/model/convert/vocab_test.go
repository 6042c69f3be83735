package convert

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
	"atenia/internal/text"
)

// TestTokenizers puts every kind of tokenizer into a GGUF header, padded to a
// larger table, and requires the same ids and texts after reading it back.
func TestTokenizers(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	refs, err := filepath.Glob(filepath.Join(dir, "*.ref.json"))
	if err != nil || len(refs) == 0 {
		t.Fatal(refs, err)
	}
	var texts []string
	golden.JSON(t, filepath.Join(dir, "texts.json"), &texts)
	for _, ref := range refs {
		kind := strings.TrimSuffix(filepath.Base(ref), ".ref.json")
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join(dir, kind+".json"))
			if err != nil {
				t.Fatal(err)
			}
			d := &file.Description{Format: file.HuggingFace, Files: map[string][]byte{"tokenizer.json": data}}
			want, err := text.Load(d)
			if err != nil {
				t.Fatal(err)
			}
			j := &job{d: d}
			if err := j.setText(want, want.Tokenizer.VocabSize()+7); err != nil {
				t.Fatal(err)
			}
			got, err := text.Load(&file.Description{Format: file.GGUF, Meta: j.meta})
			if err != nil {
				t.Fatal(err)
			}
			if g, w := got.Tokenizer.VocabSize(), want.Tokenizer.VocabSize(); g != w {
				t.Errorf("%d tokens, want %d", g, w)
			}
			if !slices.Equal(got.Stop, want.Stop) {
				t.Errorf("stop tokens %v, want %v", got.Stop, want.Stop)
			}
			for _, s := range texts {
				for _, special := range []bool{false, true} {
					g, w := got.Tokenizer.Encode(s, special), want.Tokenizer.Encode(s, special)
					if !slices.Equal(g, w) {
						t.Errorf("%.60q:\n got %v\nwant %v", s, g, w)
					}
					if g, w := got.Tokenizer.Decode(w, special), want.Tokenizer.Decode(w, special); g != w {
						t.Errorf("%.60q decodes to %.60q, want %.60q", s, g, w)
					}
				}
			}
			_, whole := j.meta.Get(text.KeyTokenizer)
			t.Logf("kept whole: %v; %q", whole, j.report.Warnings)
		})
	}
}
