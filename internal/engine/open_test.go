package engine

import (
	"log/slog"
	"path/filepath"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/file"
)

// opened opens a reference model, and returns a function that closes it.
func opened(t *testing.T, name string, c Config) (e *Engine, d *file.Description, end func()) {
	t.Helper()
	d, err := OpenFiles(filepath.Join(golden.Family(t, "parity"), name), "")
	if err != nil {
		t.Fatal(err)
	}
	c.Logger = slog.New(slog.DiscardHandler)
	p, err := Compile(d, c)
	if err != nil {
		t.Fatal(err)
	}
	if e, err = Open(t.Context(), p, d); err != nil {
		t.Fatal(err)
	}
	return e, d, func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
