package ring_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/memory/ring"
	"atenia/internal/store/durable"
)

// TestNoRoom: codes that no disk can hold are refused before a weight is read.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	err := ring.WriteCoded(t.Context(), filepath.Join(dir, "m.coded"), ring.CodedID{}, []ring.CodedSource{{Name: "w", File: "none", Bytes: 1 << 55}})
	if !errors.Is(err, durable.ErrSpace) {
		t.Error(err)
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) != 0 {
		t.Error(es, err)
	}
}
