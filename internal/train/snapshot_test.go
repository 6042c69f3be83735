package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/store/faultfs"
)

func sample(k float32) []Array {
	return []Array{{"w", []int{2, 3}, []float32{1, 2, 3, 4, 5, k}}, {"b", []int{2}, []float32{-k, 0.5}}, {"none", []int{0}, nil}}
}

func write(t *testing.T, path string, k float32, note string) {
	t.Helper()
	if err := WriteSnapshot(faultfs.NoSync(), path, note, sample(k), map[string][]byte{"state": []byte(note)}); err != nil {
		t.Fatal(err)
	}
}

func expect(path string, k float32, note string) error {
	f, err := OpenSnapshot(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Note != note || string(f.Blob("state")) != note {
		return errors.New("note " + f.Note + ", want " + note)
	}
	for _, a := range sample(k) {
		got := Array{a.Name, a.Shape, make([]float32, len(a.Values))}
		if err := f.Read(got); err != nil {
			return err
		}
		if !slices.Equal(got.Values, a.Values) {
			return errors.New(a.Name + " differs")
		}
	}
	return nil
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, 6, `{"step":1}`)
	if err := expect(path, 6, `{"step":1}`); err != nil {
		t.Fatal(err)
	}
	f, err := OpenSnapshot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, a := range []Array{{"x", []int{1}, make([]float32, 1)}, {"w", []int{3, 2}, make([]float32, 6)}, {"state", []int{10}, make([]float32, 10)}} {
		if f.Read(a) == nil {
			t.Errorf("%s %v is read", a.Name, a.Shape)
		}
	}
	if !f.Has("w") || f.Has("x") || f.Blob("w") != nil || f.Blob("x") != nil {
		t.Error("what is there is told wrongly")
	}
	if _, err := OpenSnapshot(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// If any call fails, or power is lost at any time, the old snapshot or the new one
// is complete.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []faultfs.Fault{faultfs.Fail, faultfs.Stop, faultfs.Torn, faultfs.Full} {
		for n, fsys := range faultfs.Each(fault) {
			path := filepath.Join(t.TempDir(), "a")
			write(t, path, 6, "old")
			err := WriteSnapshot(fsys, path, "new", sample(7), map[string][]byte{"state": []byte("new")})
			fsys.PowerCut()
			old, now := expect(path, 6, "old"), expect(path, 7, "new")
			if now != nil && (err == nil || old != nil) {
				t.Fatalf("fault %d at call %d: %v; old: %v; new: %v", fault, n, err, old, now)
			}
		}
	}
}

// A single bit that flips anywhere is noticed, or is padding.
func TestEveryBit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, 6, "n")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := expect(path, 6, "n"); err != nil && !errors.Is(err, errSnapshotDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		} else if err == nil && b[i]^(1<<(i%8)) != ' ' {
			t.Fatalf("byte %d of %q was changed and nobody noticed", i, whole[max(0, i-10):i+1])
		}
	}
	for n := range len(whole) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenSnapshot(path); !errors.Is(err, errSnapshotDamaged) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a")
	if err := WriteSnapshot(faultfs.NoSync(), path, "{}", sample(1), map[string][]byte{"s": {1}}); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSnapshot(path)
		if err != nil {
			return
		}
		s.Read(Array{"w", []int{2, 3}, make([]float32, 6)})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
