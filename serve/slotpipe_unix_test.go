//go:build unix

package serve

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestSlotPipe: a pipe in the folder of slots is refused and not waited for.
func TestSlotPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	_, s := newServer(t, Config{SlotSavePath: dir})
	if status, out := post(t, s.URL+"/slots/0?action=restore", `{"filename": "pipe"}`); status != 400 {
		t.Error(status, out)
	}
}
