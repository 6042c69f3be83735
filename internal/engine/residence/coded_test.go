package residence_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"atenia/internal/engine/residence"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/ring"
	"atenia/internal/store/blob"
)

// For every placement, weights that are streamed in coded form have the bytes
// of the mapped file.
func TestSameBytesCoded(t *testing.T) {
	for _, name := range []string{"parity/llama3", "parity/llama_bf16_sharded"} {
		t.Run(name, func(t *testing.T) {
			s := open(t, casePath(t, name))
			path := filepath.Join(t.TempDir(), "m.coded")
			floats := residence.Floats(s.model, s.desc)
			for i := range floats {
				if i%2 == 0 {
					floats[i].Codec = blob.PlaneZstd
				}
			}
			if err := ring.WriteCoded(t.Context(), path, ring.CodedID{1}, floats); err != nil {
				t.Fatal(err)
			}
			f, err := ring.OpenCoded(path, ring.CodedID{1})
			if err != nil {
				t.Fatal(err)
			}
			least, most := s.bounds(t)
			rng := rand.New(rand.NewPCG(11, 13))
			used := int64(0)
			for range 12 {
				p := s.place(t, least+rng.Int64N(most-least))
				p.Ring.Size *= 2 // rings of few small units have no room for a chunk beside them
				lc := lane.Config{Computers: -1}
				residence.Lanes(&lc, p, true)
				x := lane.New(lc)
				r, err := residence.Open(t.Context(), s.model, s.desc, p, &residence.Config{Lanes: x, Coded: f, Damaged: func(err error) { t.Error(err) }})
				if err != nil {
					t.Fatal(err)
				}
				s.check(t, r, p)
				used += r.Coded
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				x.Close()
			}
			if used == 0 {
				t.Error("no weight was decoded")
			}
		})
	}
}
