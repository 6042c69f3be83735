package blob

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"atenia/internal/machine/ledger"
)

func TestReader(t *testing.T) {
	s, r := NewStore(t.TempDir(), nil), newReader(3)
	mem, err := ledger.NewBlock(ledger.Process, ledger.Scratch, 4*chunkBytes)
	must(t, err)
	t.Cleanup(mem.Release)
	data := make([]byte, 2*chunkBytes+777)
	for i := range data {
		data[i] = byte(i >> 10)
	}
	for _, c := range Codecs {
		path, m, err := s.Write("t", data, c)
		must(t, err)
		got, err := r.Read(t.Context(), path, m, mem.Bytes)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%v: %d bytes, %v", c, len(got), err)
		}
		if c != None {
			continue
		}
		if _, err := r.Read(t.Context(), path, m, mem.Bytes[:chunkBytes]); err == nil {
			t.Error("read into too small a buffer")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Read(ctx, path, m, mem.Bytes); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		broken := bytes.Clone(data)
		broken[chunkBytes+5] ^= 8
		must(t, os.WriteFile(path, broken, 0o600))
		if _, err := r.Read(t.Context(), path, m, mem.Bytes); !errors.Is(err, ErrInvalid) {
			t.Errorf("a flipped bit: %v", err)
		}
		must(t, os.WriteFile(path, broken[:chunkBytes], 0o600))
		if _, err := r.Read(t.Context(), path, m, mem.Bytes); !errors.Is(err, ErrInvalid) {
			t.Errorf("cut: %v", err)
		}
	}
}
