package index_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"atenia/quila/internal/index"
)

// image is that of n vectors.
func image(t testing.TB, n, dim int, c index.GraphConfig) []byte {
	t.Helper()
	var b bytes.Buffer
	x := built(t, clustered(4, n, dim), c)
	size := x.ImageBytes()
	if got, err := x.Write(&b); err != nil || got != size || int64(b.Len()) != size {
		t.Fatalf("%d and %d bytes of %d, %v", got, b.Len(), size, err)
	}
	return b.Bytes()
}

func read(b []byte, c index.GraphConfig) (*index.Graph, error) {
	return index.ReadGraph(bytes.NewReader(b), int64(len(b)), c)
}

// TestImage: what was read is written as the same bytes, finds the same, and can
// be changed.
func TestImage(t *testing.T) {
	for _, n := range []int{0, 1, 2, 33, 700} {
		b := image(t, n, 24, index.GraphConfig{M: 6})
		x, err := read(b, index.GraphConfig{Dim: 24})
		if err != nil {
			t.Fatalf("%d entries: %v", n, err)
		}
		var again bytes.Buffer
		if _, err := x.Write(&again); err != nil || !bytes.Equal(b, again.Bytes()) {
			t.Fatalf("%d entries: other bytes, %v", n, err)
		}
		data := clustered(4, n, 24)
		was := built(t, data, index.GraphConfig{M: 6})
		for _, q := range clustered(9, 20, 24).rows {
			a, _ := x.Search(nil, q, 10, 0)
			if b, _ := was.Search(nil, q, 10, 0); !slices.Equal(a, b) {
				t.Fatalf("found %v, before %v", a, b)
			}
		}
		for i, v := range clustered(5, 200, 24).rows {
			if err := x.Add(uint64(1000+i), v); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 && i/2 < n {
				if err := x.Delete(uint64(i / 2)); err != nil {
					t.Fatal(err)
				}
			}
		}
		check(t, x)
	}
}

// flat is the image of a small library as the reference writes it: every node
// linked to the first 32 others.
func flat(s set) []byte {
	n, per, le := len(s.rows), 4+128+4*s.dim+8, binary.LittleEndian
	var b []byte
	for _, v := range []int{0, n, n, per, per - 8, 132, 0, 16, 32, 16} {
		b = le.AppendUint64(b, uint64(v))
	}
	b = le.AppendUint64(b, math.Float64bits(1/math.Log(16)))
	b = le.AppendUint64(b, 200)
	for i, row := range s.rows {
		var links []uint32
		for j := range n {
			if j != i && len(links) < 32 {
				links = append(links, uint32(j))
			}
		}
		b = le.AppendUint32(b, uint32(len(links)))
		b, _ = binary.Append(b, le, append(links, make([]uint32, 32-len(links))...))
		b, _ = binary.Append(b, le, row)
		b = le.AppendUint64(b, uint64(i))
	}
	return append(b, make([]byte, 4*n)...)
}

// TestFlat reads images of the reference; most nodes of a large one cannot be
// reached until it is changed.
func TestFlat(t *testing.T) {
	for _, n := range []int{1, 20, 33, 64, 300} {
		s := gaussian(2, n, 16)
		b := flat(s)
		x, err := read(b, index.GraphConfig{Dim: 16, ExactBelow: 2000})
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if _, err := x.Write(&again); err != nil || !bytes.Equal(b, again.Bytes()) {
			t.Fatalf("%d entries: other bytes, %v", n, err)
		}
		if x, err = read(b, index.GraphConfig{}); err != nil {
			t.Fatal(err)
		}
		for i, v := range gaussian(3, 10, 16).rows {
			if err := x.Add(uint64(1000+i), v); err != nil {
				t.Fatal(err)
			}
		}
		check(t, x)
	}
}

// TestTombstonesOfAnImage are swept out when it is read.
func TestTombstonesOfAnImage(t *testing.T) {
	b := image(t, 300, 16, index.GraphConfig{})
	per := 4 + 128 + 64 + 8
	for id := range 300 {
		if id%3 > 0 {
			b[96+id*per+2] = 1
		}
	}
	x, err := read(b, index.GraphConfig{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, x)
	if s := x.Stats(); s.Entries != 100 || s.Tombstones != 0 {
		t.Errorf("%+v", s)
	}
	for i, q := range clustered(4, 300, 16).rows {
		if hits, err := x.Search(nil, q, 1, 100); err != nil || hits[0].Label%3 != 0 || i%3 == 0 && hits[0].Label != uint64(i) {
			t.Fatalf("entry %d: %v, %v", i, hits, err)
		}
	}
}

// TestImageRefuses: each fault of the structure is an error with its place.
func TestImageRefuses(t *testing.T) {
	good := image(t, 40, 16, index.GraphConfig{M: 2})
	const per = 4 + 16 + 64 + 8
	tail := 96 + 40*per
	u32, u64 := binary.LittleEndian.PutUint32, binary.LittleEndian.PutUint64
	for what, spoil := range map[string]func(b []byte) []byte{
		"count":      func(b []byte) []byte { u64(b[16:], 41); return b },
		"huge count": func(b []byte) []byte { u64(b[16:], 1<<60); u64(b[8:], 1<<60); return b },
		"capacity":   func(b []byte) []byte { u64(b[8:], 39); return b },
		"record":     func(b []byte) []byte { u64(b[24:], 1<<63); return b },
		"M":          func(b []byte) []byte { u64(b[72:], 1<<40); return b },
		"level":      func(b []byte) []byte { u32(b[48:], 30); return b },
		"entry":      func(b []byte) []byte { u32(b[52:], 40); return b },
		"mult":       func(b []byte) []byte { u64(b[80:], math.Float64bits(math.NaN())); return b },
		"degree":     func(b []byte) []byte { b[96] = 5; return b },
		"flags":      func(b []byte) []byte { b[98] = 2; return b },
		"link":       func(b []byte) []byte { u32(b[100:], 40); return b },
		"self":       func(b []byte) []byte { u32(b[100:], 0); return b },
		"twice":      func(b []byte) []byte { copy(b[104:108], b[100:104]); return b },
		"infinite":   func(b []byte) []byte { u32(b[96+20:], 0x7f800000); return b },
		"label":      func(b []byte) []byte { copy(b[96+per-8:96+per], b[96+2*per-8:96+2*per]); return b },
		"length":     func(b []byte) []byte { u32(b[tail:], 1); return b },
		"long":       func(b []byte) []byte { u32(b[tail:], 12<<20); return b },
		"more":       func(b []byte) []byte { return append(b, 0) },
		"less":       func(b []byte) []byte { return b[:len(b)-1] },
		"header":     func(b []byte) []byte { return b[:95] },
		"none":       func(b []byte) []byte { return nil },
	} {
		_, err := read(spoil(bytes.Clone(good)), index.GraphConfig{})
		var e *index.GraphError
		if !errors.Is(err, index.ErrGraphFormat) || !errors.As(err, &e) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := read(good, index.GraphConfig{Dim: 17}); !errors.Is(err, index.ErrGraphFormat) {
		t.Errorf("other dimensions: %v", err)
	}
}

// FuzzRead: an image that is read can be searched, changed and written.
func FuzzReadGraph(f *testing.F) {
	f.Add(image(f, 12, 2, index.GraphConfig{M: 2}))
	f.Add(image(f, 0, 2, index.GraphConfig{}))
	f.Add(flat(gaussian(2, 5, 3)))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := read(b, index.GraphConfig{})
		if err != nil {
			if !errors.Is(err, index.ErrGraphFormat) {
				t.Fatal(err)
			}
			return
		}
		n, dim := x.Len(), x.Config().Dim
		q := make([]float32, dim)
		if hits, err := x.Search(nil, q, 3, 0); err != nil || len(hits) > n {
			t.Fatal(hits, err)
		}
		label := uint64(0)
		for x.Add(label, q) != nil {
			label++
		}
		if x.Len() != n+1 {
			t.Fatalf("%d entries after %d", x.Len(), n)
		}
		if s := x.Stats(); s.Reached != n+1 {
			t.Fatalf("%+v", s)
		}
		if err := x.Delete(label); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := x.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := read(out.Bytes(), index.GraphConfig{}); err != nil {
			t.Fatal(err)
		}
	})
}
