package exec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
)

// TestForeignFile runs cases from files that llama.cpp's convert_hf_to_gguf.py
// --outtype f32 wrote of them (of llama_cpp_python 0.3.36, changed as docs/models.md
// says). Logits and vectors are those of transformers; a case without a fixture of its
// own is that of the same name in the family of parity. ATENIA_FOREIGN names a folder
// with other files, NAME.gguf, to run in their place.
func TestForeignFile(t *testing.T) {
	if dir := os.Getenv("ATENIA_FOREIGN"); dir != "" {
		files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s (%v)", dir, err)
		}
		for _, path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".gguf")
			t.Run(name, func(t *testing.T) { foreignFile(t, filepath.Join(golden.Family(t, "parity"), name), path) })
		}
		return
	}
	dir := golden.Family(t, "foreign")
	for _, name := range golden.Dirs(t, dir) {
		folder := filepath.Join(dir, name)
		t.Run(name, func(t *testing.T) { foreignFile(t, folder, filepath.Join(folder, "model.gguf")) })
	}
}

func foreignFile(t *testing.T, folder, path string) {
	if _, err := os.Stat(filepath.Join(folder, "fixture.json")); err != nil {
		folder = filepath.Join(golden.Family(t, "parity"), filepath.Base(folder))
	}
	var f fixture
	golden.JSON(t, filepath.Join(folder, "fixture.json"), &f)
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	parity(t, load(t, d, exactly), folder, &f, 3)
}
