package ring

import (
	"atenia/internal/memory/lane"
	"atenia/internal/store/blob"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// weights returns n bytes that codecs make smaller, bfloat16 numbers with few
// exponents.
func weights(rng *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, rng.Uint64()&0x01ff_01ff_01ff_01ff|0x3c00_3c00_3c00_3c00)
	}
	return b[:n]
}

// codedCycle returns units of which most are coded too, and the coded file.
func codedCycle(t *testing.T, rng *rand.Rand, m *memory, path string) ([]Unit, *memory) {
	t.Helper()
	dir := t.TempDir()
	raw := filepath.Join(dir, "raw")
	if err := os.WriteFile(raw, m.data, 0o600); err != nil {
		t.Fatal(err)
	}
	var units []Unit
	var sources []CodedSource
	for at := int64(rng.IntN(9000)); len(units) < 2+rng.IntN(8); {
		var u Unit
		for range 1 + rng.IntN(2) {
			n := 2 * (1 + rng.IntN(400_000))
			if at+int64(n) > int64(len(m.data)) {
				break
			}
			u = append(u, Span{Offset: at, Bytes: n, Align: 2})
			if rng.IntN(4) > 0 {
				c := []blob.Codec{blob.PlaneHuff, blob.PlaneZstd}[rng.IntN(2)]
				sources = append(sources, CodedSource{Name: name(at), File: raw, Offset: at, Bytes: int64(n), Codec: c})
			}
			at += int64(n + rng.IntN(300))
		}
		if len(u) == 0 {
			break
		}
		units = append(units, u)
	}
	id := CodedID(sha256.Sum256([]byte(raw)))
	if err := WriteCoded(t.Context(), path, id, sources); err != nil {
		t.Fatal(err)
	}
	f, err := OpenCoded(path, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range units {
		for k := range u {
			u[k].Coded = f.Weights[name(u[k].Offset)]
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return units, &memory{data: b}
}

func name(at int64) string {
	return string(rune('a'+at%26)) + string(rune('a'+at/26%26)) + string(rune(0x100+at))
}

// TestCoded: units that are decoded hold the bytes of the model's file, for any
// memory, order and load, also where the coded file is damaged, cut or cannot
// be read.
func TestCoded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 8))
		m := &memory{data: weights(rng, 3<<20)}
		units, codes := codedCycle(t, rng, m, filepath.Join(t.TempDir(), "coded"))
		spoiled := seed % 4
		switch spoiled {
		case 1: // a bit in every hundredth page
			for at := rng.IntN(PageBytes); at < len(codes.data); at += 100 * PageBytes {
				codes.data[at] ^= 16
			}
		case 2:
			codes.data = codes.data[:len(codes.data)/2/PageBytes*PageBytes]
		case 3:
			codes.fail.Store(3)
		}
		x := lane.New(lane.Config{Readers: 1 + rng.IntN(4), Movers: 1 + rng.IntN(3), Computers: -1, Window: 1 + rng.IntN(300)})
		var damaged atomic.Int64
		c := Config{Files: []Source{m}, Codes: []Source{codes}, Units: units, Lanes: x, Damaged: func(error) { damaged.Add(1) }}
		c.Bytes, c.Stages = Floor(c.Units)+rng.IntN(4<<20), rng.IntN(5<<20)
		r := open(t, c)
		for range 3 {
			pass(t, r, &c, never)
			pass(t, r, &c, func(int) bool { return rng.IntN(3) == 0 })
		}
		r.Close()
		x.Close()
		if n := damaged.Load(); n > 1 || spoiled == 0 && n > 0 {
			t.Errorf("seed %d: damage was told %d times", seed, n)
		}
	}
}

// TestCodedError: damage is an error if the model's file cannot be read either,
// and the next pass is not affected.
func TestCodedError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	m := &memory{data: weights(rng, 3<<20)}
	units, codes := codedCycle(t, rng, m, filepath.Join(t.TempDir(), "coded"))
	clear(codes.data)
	c := Config{Files: []Source{m}, Codes: []Source{codes}, Units: units, Bytes: Floor(units)}
	m.fail.Store(-1) // one read that fails may be for the next pass, which reads again
	r := open(t, c)
	if err := failing(r, len(units)); !errors.Is(err, syscall.EIO) {
		t.Errorf("neither file can be read: %v", err)
	}
	m.fail.Store(0)
	pass(t, r, &c, never)
}
