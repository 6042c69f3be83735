package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/golden/await"
)

// TestCompanions: vocabularies are read when they are used and not before, and one that
// is larger than any is refused without being read.
func TestCompanions(t *testing.T) {
	dir := t.TempDir()
	const big = 200 << 20
	for name, n := range map[string]int64{"config.json": 0, "tokenizer.json": big, "vocab.json": big, "merges.txt": 100, "tokenizer_config.json": 0} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o666), os.Truncate(path, max(n, 2))); err != nil { // sparse
			t.Fatal(err)
		}
	}
	open := func() (d *Description, err error) {
		if n := await.Bytes(func() { d, err = Open(dir, HeaderOnly()) }); n > 1<<20 {
			t.Errorf("opening allocates %d bytes", n)
		}
		return d, err
	}
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if b, ok := d.Files["tokenizer.json"]; !ok || b != nil || string(d.Files["tokenizer_config.json"]) != "{}" {
		t.Errorf("tokenizer.json %t of %d bytes, tokenizer_config.json %q", ok, len(b), d.Files["tokenizer_config.json"])
	}
	if err := d.ReadVocabularies("merges.txt"); err != nil || len(d.Files["merges.txt"]) != 100 || d.Files["vocab.json"] != nil {
		t.Errorf("merges.txt: %d bytes, %v", len(d.Files["merges.txt"]), err)
	}
	if err := d.ReadVocabularies("tokenizer.json"); err != nil || len(d.Files["tokenizer.json"]) != big || d.Files["vocab.json"] != nil {
		t.Errorf("tokenizer.json: %d bytes, %v", len(d.Files["tokenizer.json"]), err)
	}
	if err := os.Truncate(filepath.Join(dir, "vocab.json"), MostVocabulary+1); err != nil {
		t.Fatal(err)
	}
	_, err = open()
	if e, ok := errors.AsType[*FormatError](err); !ok || e.File != filepath.Join(dir, "vocab.json") {
		t.Errorf("a larger one: %v", err)
	}
}
