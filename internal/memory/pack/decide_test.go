package pack

import (
	"testing"

	"atenia/internal/kernel"
	"atenia/tensor"
)

func TestModes(t *testing.T) {
	for i, name := range modeNames {
		if m, err := ParseMode(name); err != nil || m != Mode(i) || m.String() != name {
			t.Errorf("%q: %v, %v", name, m, err)
		}
	}
	if m, err := ParseMode(""); err != nil || m != Auto {
		t.Errorf("nothing: %v, %v", m, err)
	}
	if _, err := ParseMode("disc"); err == nil {
		t.Error("an unknown mode was read")
	}
}

// matrixOf is a matrix of a format that has a packed form.
func matrixOf(rows, cols int, fill func(i int) byte) kernel.Matrix {
	values, size := tensor.Q8_0.Block()
	m := kernel.Matrix{DType: tensor.Q8_0, Rows: rows, Cols: cols, Data: make([]byte, rows*cols/values*size)}
	for i := range m.Data {
		m.Data[i] = fill(i)
	}
	return m
}

func TestDecide(t *testing.T) {
	w := matrixOf(32, 256, func(int) byte { return 0 })
	n := int64(kernel.PackedBytes(w.DType, w.Rows, w.Cols))
	plain := kernel.Matrix{DType: tensor.F64, Rows: 1, Cols: 1, Data: make([]byte, 8)}
	for _, c := range []struct {
		name  string
		cfg   Config
		w     kernel.Matrix
		mode  Mode
		evict bool
	}{
		{"nothing known", Config{}, w, InMemory, false},
		{"asked for, too large", Config{Mode: InMemory, Available: 1}, w, InMemory, true},
		{"asked for in a budget of less", Config{Mode: InMemory, Bound: true, Available: 1, Reserve: n}, w, Off, true},
		{"asked for in a budget with room in place of the files'", Config{Mode: InMemory, Bound: true, Available: n}, w, InMemory, true},
		{"off", Config{Mode: Off, Available: 1 << 40}, w, Off, false},
		{"room for both", Config{Available: 1 << 20}, w, InMemory, false},
		{"room for one", Config{Available: 100 + n, Reserve: 100}, w, InMemory, true},
		{"a mixture, room for one", Config{Available: 100 + n, Reserve: 100, Mixture: true}, w, Off, true},
		{"a mixture, asked for", Config{Mode: InMemory, Available: 100 + n, Reserve: 100, Mixture: true}, w, InMemory, true},
		{"a mixture, room for both", Config{Available: 1 << 20, Mixture: true}, w, InMemory, false},
		{"no room", Config{Available: 99 + n, Reserve: 100}, w, Off, true},
		{"nothing to pack", Config{Mode: InMemory}, plain, Off, false},
	} {
		s := New(c.cfg)
		s.Add("w", c.w)
		s.Open(0)
		if d := s.Decision(); d.Mode != c.mode || d.Evict != c.evict || d.Because == "" {
			t.Errorf("%s: %+v", c.name, d)
		}
		s.Close()
	}
}

// A decision reads as one line with its numbers.
func TestDecisionString(t *testing.T) {
	d := Decision{Mode: InMemory, Matrices: 3, Bytes: 3 << 20, Source: 5 << 19, Available: 1 << 30, Reserve: 9 << 20, Because: "it fits"}
	if got, want := d.String(), "memory (it fits): 3 matrices, 3.0 MiB packed from 2.5 MiB; 1024.0 MiB available, 9.0 MiB kept free"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
