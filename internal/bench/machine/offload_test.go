package machine

import (
	"errors"
	"testing"

	"atenia"
)

func TestOffload(t *testing.T) {
	t.Parallel()
	r, err := RunOffload(t.Context(), OffloadConfig{
		Layers: 3, Width: 64, Tokens: 8, Steps: 2, Batches: 2, Threads: 2, Dir: t.TempDir(), ChunkBytes: 1 << 14,
	})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3 * 64 * 64
	if !r.Equal || r.Parameters != n || r.StateBytes != 14*n || r.InMemory <= 0 || r.Offloaded <= 0 {
		t.Errorf("%+v", r)
	}
	// Gradients of the first batch are written, too, and read with the state.
	if r.WrittenBytes != (14+4)*n || r.ReadBytes != (12+4)*n {
		t.Errorf("read %d, written %d bytes for %d parameters", r.ReadBytes, r.WrittenBytes, n)
	}
	if _, err := RunOffload(t.Context(), OffloadConfig{Width: 33, Steps: -1}); err == nil {
		t.Error("no error")
	} else if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
		t.Error(err)
	}
}
