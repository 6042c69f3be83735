package exec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
)

// TestForeignTower runs cases with images whose tower is in a file that llama.cpp's
// convert_hf_to_gguf.py --mmproj --outtype f32 wrote (of llama_cpp_python 0.3.36),
// as it is and with the names of feed-forward layers that older converters gave.
// ATENIA_MMPROJ names a folder with more files, which are named as their cases are.
func TestForeignTower(t *testing.T) {
	dir := os.Getenv("ATENIA_MMPROJ")
	if dir == "" {
		dir = golden.Family(t, "mmproj")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no towers in %s (%v)", dir, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".gguf")
		t.Run(name, func(t *testing.T) { foreignTower(t, name, path) })
		if strings.HasPrefix(name, "qwen2") { // later ones have no such files
			t.Run(name+" of old", func(t *testing.T) { foreignTower(t, name, oldTower(t, path)) })
		}
	}
}

func foreignTower(t *testing.T, name, path string) {
	folder := filepath.Join(golden.Family(t, "parity"), name)
	var f fixture
	golden.JSON(t, filepath.Join(folder, "fixture.json"), &f)
	from, err := file.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	whole := load(t, from, exactly)
	own := converted(t, folder)
	own.Close()
	d, err := file.Open(own.Path, file.Tower(path))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, ours := d.Meta.Get("atenia.vision"); ours {
		t.Fatal("the tower's file is our own")
	}
	m := load(t, d, exactly)
	// Cases have another vocabulary than the names of these tokens are of.
	m.Config.Vision.ImageToken, m.Config.Vision.VideoToken = whole.Config.Vision.ImageToken, whole.Config.Vision.VideoToken
	parity(t, m, folder, &f, 3)
}

// oldTower writes a tower's file as converters did whose ffn_down is the first
// product and which left the width of feed-forward layers out.
func oldTower(t *testing.T, path string) string {
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var meta file.Metadata
	for key, v := range d.Meta.All() {
		if key != "clip.vision.feed_forward_length" {
			meta.Set(key, v)
		}
	}
	exchange := strings.NewReplacer("ffn_up", "ffn_down", "ffn_down", "ffn_up")
	var tensors []file.TensorSource
	for i := range d.Tensors {
		tensors = append(tensors, file.SourceOf(exchange.Replace(d.Tensors[i].Name), d.Tensors[i].View))
	}
	out := filepath.Join(t.TempDir(), "old.gguf")
	if err := file.WriteGGUF(out, meta, tensors); err != nil {
		t.Fatal(err)
	}
	return out
}
