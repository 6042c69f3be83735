package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/model/file"
)

// TestLeftoversOfWriters: what a killed writer of models left is removed by the next of
// that kind in the folder, whatever its file is called, and other files are not.
func TestLeftoversOfWriters(t *testing.T) {
	dir := t.TempDir()
	gone, kept := filepath.Join(dir, ".other.gguf.tmp-0000beef"), filepath.Join(dir, ".other.txt.tmp-0000beef")
	for _, path := range []string{gone, kept} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = file.WriteGGUF(filepath.Join(dir, "m.gguf"), file.Metadata{}, nil)
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("%s: %v", gone, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
