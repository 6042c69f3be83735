package pack

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/kernel"
)

// weights are two matrices of known bytes.
func weights() []kernel.Matrix {
	rng := rand.New(rand.NewPCG(3, 4))
	fill := func(int) byte { return byte(rng.Uint32()) & 0x3f }
	return []kernel.Matrix{matrixOf(40, 512, fill), matrixOf(16, 256, fill)}
}

func diskStore(ws []kernel.Matrix, d Disk) (*Store, []*Matrix) {
	s := New(Config{Mode: OnDisk, Disk: d})
	var ms []*Matrix
	for i, w := range ws {
		ms = append(ms, s.Add(string(rune('a'+i)), w))
	}
	s.Open(0)
	return s, ms
}

// sameTiles checks that matrices are packed as in memory.
func sameTiles(t *testing.T, ws []kernel.Matrix, ms []*Matrix) {
	t.Helper()
	for i, w := range ws {
		want := make([]byte, kernel.PackedBytes(w.DType, w.Rows, w.Cols))
		w.Pack(want, 0, w.Rows)
		if got := ms[i].Range(0, w.Rows); !bytes.Equal(got.Tiles, want) {
			t.Errorf("matrix %d is packed otherwise", i)
		}
	}
}

// A file is made once and mapped from then on.
func TestDisk(t *testing.T) {
	ws := weights()
	d := Disk{Paths: []string{filepath.Join(t.TempDir(), "sub", "m.packed")}, Source: sum{1}}
	for i, wrote := range []bool{true, false, false} {
		d.Verify = i == 2
		s, ms := diskStore(ws, d)
		if got := s.Decision(); got.Mode != OnDisk || got.Wrote != wrote || got.Fault != nil || got.Path != d.Paths[0] {
			t.Errorf("start %d: %+v", i, got)
		}
		sameTiles(t, ws, ms)
		s.Close()
		s.Close()
	}
}

// A file that does not fit the model is reported and rewritten.
func TestDiskStale(t *testing.T) {
	for _, c := range []struct {
		name  string
		field string
		spoil func(b []byte, d *Disk, ws []kernel.Matrix) []byte
	}{
		{"other files", "source", func(b []byte, d *Disk, _ []kernel.Matrix) []byte { d.Source[0]++; return b }},
		{"other weights", "sample", func(b []byte, _ *Disk, ws []kernel.Matrix) []byte { ws[1].Data[9]++; return b }},
		{"cut", "end", func(b []byte, _ *Disk, _ []kernel.Matrix) []byte { return b[:len(b)-1] }},
		{"empty", "magic", func([]byte, *Disk, []kernel.Matrix) []byte { return nil }},
		{"another version", "version", func(b []byte, _ *Disk, _ []kernel.Matrix) []byte { b[8]++; return b }},
		{"damaged index", "index", func(b []byte, _ *Disk, _ []kernel.Matrix) []byte { b[len(b)-trailerBytes-3]++; return b }},
		{"damaged weights", "a", func(b []byte, d *Disk, _ []kernel.Matrix) []byte { b[dataStart+5]++; d.Verify = true; return b }},
		{"weights changed in the middle", "a", func(b []byte, d *Disk, ws []kernel.Matrix) []byte {
			ws[0].Data[len(ws[0].Data)/2]++
			d.Verify = true
			return b
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws := weights()
			d := Disk{Paths: []string{filepath.Join(t.TempDir(), "m.packed")}}
			s, _ := diskStore(ws, d)
			s.Close()
			b, err := os.ReadFile(d.Paths[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(d.Paths[0], c.spoil(b, &d, ws), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, wrote := range []bool{true, false} {
				s, ms := diskStore(ws, d)
				got := s.Decision()
				e, ok := errors.AsType[*fileError](got.Fault)
				if got.Mode != OnDisk || got.Wrote != wrote || ok != wrote || ok && (e.Field != c.field || e.Path != d.Paths[0]) {
					t.Errorf("%+v", got)
				}
				sameTiles(t, ws, ms)
				s.Close()
			}
		})
	}
}

// Opening verifies the ends of matrices; the rest is verified on request.
func TestSampleIsOfTheEnds(t *testing.T) {
	w := matrixOf(64, 512, func(int) byte { return 1 })
	m := []*Matrix{{source: w}}
	before := sampleOf(m)
	w.Data[len(w.Data)/2]++
	if sampleOf(m) != before {
		t.Error("the middle is sampled")
	}
	w.Data[0]++
	if sampleOf(m) == before {
		t.Error("the start is not sampled")
	}
}

// If a path is not writable the next one is used, and memory at last.
func TestDiskPlaces(t *testing.T) {
	ws := weights()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad, good := filepath.Join(file, "m.packed"), filepath.Join(dir, "m.packed")
	s, ms := diskStore(ws, Disk{Paths: []string{bad, good}})
	if d := s.Decision(); d.Mode != OnDisk || d.Path != good || d.Fault == nil {
		t.Errorf("%+v", d)
	}
	sameTiles(t, ws, ms)
	s.Close()
	s, ms = diskStore(ws, Disk{Paths: []string{bad}})
	if d := s.Decision(); d.Mode != InMemory || d.Asked != OnDisk || d.Fault == nil || !strings.HasPrefix(d.Because, "disk cannot") {
		t.Errorf("%+v", d)
	}
	sameTiles(t, ws, ms)
	s.Close()
	s, ms = diskStore(ws, Disk{})
	if d := s.Decision(); d.Mode != InMemory || d.Fault == nil {
		t.Errorf("no path: %+v", d)
	}
	sameTiles(t, ws, ms)
	s.Close()
}

// childVar names the folder of the file that the child process of TestKill
// makes.
const childVar = "ATENIA_PACK_CHILD"

// A process that is killed while it writes a file leaves none, or a complete one.
func TestKill(t *testing.T) {
	large := func() []kernel.Matrix {
		return slices.Repeat([]kernel.Matrix{matrixOf(1600, 2048, func(int) byte { return 7 })}, 3)
	}
	if dir := os.Getenv(childVar); dir != "" {
		d := Disk{Paths: []string{filepath.Join(dir, "m.packed")}}
		for ws := large(); ; d.Source[0]++ { // each time stale
			fmt.Println("begin")
			s, _ := diskStore(ws, d)
			s.Close()
			fmt.Println("end")
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "m.packed")
	inside := 0
	for i := range 6 {
		cmd := exec.Command(self, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), childVar+"="+dir)
		lines := await.Kill(t, cmd, await.Nth(1+i/2, "begin"))
		if lines[len(lines)-1] == "begin" {
			inside++
		}
		b, err := os.ReadFile(path)
		if i < 2 && errors.Is(err, fs.ErrNotExist) {
			continue // killed in the first write
		}
		if err != nil {
			t.Fatal(err)
		}
		_, es, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if sha256.Sum256(b[e.offset:][:e.bytes]) != e.packed {
				t.Fatalf("%s is torn", e.name)
			}
		}
	}
	if inside == 0 {
		t.Error("no kill met a write")
	}
}

func FuzzParse(f *testing.F) {
	id := &identity{source: sum{1}}
	e := entry{name: "blk.0.attn_q", dtype: "Q8_0", rows: 16, cols: 32, offset: dataStart, bytes: 64}
	head := append([]byte(fileMagic), fileVersion, 0, 0, 0)
	file := func(es ...entry) []byte {
		b := append(slices.Clone(head), make([]byte, dataStart+64-len(head))...)
		return appendIndex(b, uint64(len(b)), id, es)
	}
	f.Add(file(e, e))
	f.Add(file())
	far := e
	far.offset = 1 << 60
	f.Add(file(far))
	f.Add(head)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, es, err := parse(b)
		if err != nil {
			if e, ok := errors.AsType[*fileError](err); !ok || strings.TrimSpace(e.Error()) == "" {
				t.Errorf("error %v", err)
			}
			return
		}
		for _, e := range es {
			_ = b[e.offset:][:e.bytes]
		}
		if len(es)*leastEntry > len(b) {
			t.Errorf("%d entries of %d bytes", len(es), len(b))
		}
	})
}
