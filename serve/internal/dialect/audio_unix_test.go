//go:build unix

package dialect

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestSoundHasNoName: the copy of a client's file is in no folder while it is used, so a
// server that is killed leaves none.
func TestSoundHasNoName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := keep(strings.NewReader("samples"))
	if err != nil {
		t.Fatal(err)
	}
	defer drop(f)
	if es, err := os.ReadDir(dir); err != nil || len(es) != 0 {
		t.Error(es, err)
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "samples" {
		t.Errorf("%q, %v", b, err)
	}
}
