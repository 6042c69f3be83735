package sxlm

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// TestEncoders: an encoder that is used again writes the bytes of a new one,
// also after a frame that was given up.
func TestEncoders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 200_000)
	for i := range text { // repeats from near and far
		if text[i] = byte(r.IntN(4)); i > 1<<16 && r.IntN(8) > 0 {
			text[i] = text[i-1<<16]
		}
	}
	encode := func(z io.WriteCloser, raw []byte) {
		t.Helper()
		if _, err := z.Write(raw); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for level, kind := range map[int]int{3: 0, 19: bestEffort} {
		for i, n := range []int{len(text), 100_000, len(text), 150_000, 100, 1024, 1025, 100} {
			k := kind
			if n <= 1024 {
				k |= oneSegment
			}
			var want, got, other bytes.Buffer
			e, err := newEncoder(k)
			if err != nil {
				t.Fatal(err)
			}
			e.ResetContentSize(&want, int64(n))
			encode(e, text[:n])
			z, err := Zstd.Encoder(1, level, &got, int64(n))
			if err != nil {
				t.Fatal(err)
			}
			if i == 2 { // half a frame
				if _, err := z.Write(text[:n/2]); err != nil {
					t.Fatal(err)
				}
				if err := z.Close(); err == nil {
					t.Error("half a frame is complete")
				}
				continue
			}
			z2, err := Zstd.Encoder(1, level, &other, int64(n)) // at the same time
			if err != nil {
				t.Fatal(err)
			}
			encode(z, text[:n])
			encode(z2, text[:n])
			if err := z.Close(); err != nil {
				t.Error("closed twice:", err)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) || !bytes.Equal(other.Bytes(), want.Bytes()) {
				t.Errorf("%d bytes at level %d are not those of a new encoder", n, level)
			}
		}
	}
}
