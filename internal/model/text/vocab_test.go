package text

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
)

// vocabularySeparator stands between the texts of a .inp file, in the form of
// the vocabularies that llama.cpp ships.
const vocabularySeparator = "\n__ggml_vocab_test__\n"

// composed is why Qwen's vocabularies may differ: llama.cpp made the ids with its
// own program, which does not compose text.
const composed = "Qwen's tokenizer.json composes text (NFC) first"

// explained lists the texts, by vocabulary and number, whose ids should differ
// from those of llama.cpp.
var explained = map[string]map[int]string{"ggml-vocab-qwen35": {46: composed, 47: composed, 48: composed}}

// TestGoldenVocabularies reads GGUF files that hold a vocabulary alone: each
// text of NAME.gguf.inp has the ids of the same line of NAME.gguf.out. A
// vocabulary without texts is only read. docs/tokenizers.md says how to run it
// over the files of llama.cpp, and with what result.
func TestGoldenVocabularies(t *testing.T) {
	dir := golden.Family(t, "vocabularies")
	files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vocabularies in %s: %v", dir, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".gguf")
		t.Run(name, func(t *testing.T) {
			d, err := file.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			txt, err := Load(d)
			if err != nil {
				t.Fatal(err)
			}
			if txt.Tokenizer == nil {
				t.Fatal("no tokenizer")
			}
			inp, err := os.ReadFile(path + ".inp")
			if os.IsNotExist(err) {
				t.Log("no texts: read only")
				return
			}
			out, err2 := os.ReadFile(path + ".out")
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			texts := strings.Split(strings.TrimSuffix(string(inp), vocabularySeparator), vocabularySeparator)
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(texts) != len(lines) {
				t.Fatalf("%d texts, %d lists of ids", len(texts), len(lines))
			}
			for i, s := range texts {
				var want []int32
				for _, f := range strings.Fields(lines[i]) {
					id, err := strconv.ParseInt(f, 10, 32)
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, int32(id))
				}
				got := txt.Tokenizer.Encode(s, false)
				why := explained[name][i]
				switch same := slices.Equal(got, want); {
				case same && why != "":
					t.Errorf("text %d %.80q: as in llama.cpp, although it should differ: %s", i, s, why)
				case !same && why == "":
					t.Errorf("text %d %.80q:\n got %v\nwant %v", i, s, got, want)
				}
			}
			t.Logf("%d texts", len(texts))
		})
	}
}
