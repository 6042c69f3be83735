package atenia_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/memory/place"
	"atenia/internal/model/file"
)

// TestAdviseLeavesTheCache: asking how fast a model runs leaves its file in the page cache,
// for the run that follows; of one that is not there the advice says that it is waited for.
func TestAdviseLeavesTheCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.safetensors")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil { // pages that are written cannot be dropped before
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := place.DropCache(path); err != nil {
		t.Fatal(err)
	}
	if file.Uncached(path) == 0 {
		t.Skip("this file system has no cache that can be told or dropped")
	}
	slow := &atenia.Config{Placement: place.Rules{Rates: place.KeptRates{SSD: 1e3, RAM: 1e10, FLOPS: 1e11}}}
	a, err := atenia.Advise(t.Context(), dir, slow)
	if err != nil {
		t.Fatal(err)
	}
	const waits = "of its files are not in memory yet: the first answer waits for the disk, "
	if all := strings.Join(a.Notes, "; "); !strings.Contains(all, waits) {
		t.Errorf("nothing is in the cache, and the notes are %q", all)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = atenia.Advise(t.Context(), dir, &atenia.Config{}); err != nil {
		t.Fatal(err)
	}
	if n := file.Uncached(path); n > int64(len(b))/2 {
		t.Errorf("%d of %d bytes left the cache while they were measured; notes: %q", n, len(b), a.Notes)
	}
}
