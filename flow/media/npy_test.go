package media

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/golden"
)

// TestNPY: another reader of the format finds the numbers, in either order.
func TestNPY(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.npy")
	want := [][]float32{{1, -2, 3.5, float32(math.Inf(1)), 5}, {0, 7, -8, 9, 1e-30}, {11, 12, 13, 14, 15}}
	err := WriteFile(path, Format{Codec: NPY, Rate: 1, Channels: 3}, func(w *Writer) error {
		for _, cut := range [][2]int{{0, 1}, {1, 4}, {4, 5}} {
			part := make([][]float32, 3)
			for c := range part {
				part[c] = want[c][cut[0]:cut[1]]
			}
			if err := Write(w, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a := golden.NPY(t, path) // the transpose, since the order is Fortran's
	if len(a.Shape) != 2 || a.Shape[0] != 5 || a.Shape[1] != 3 {
		t.Fatalf("shape %v", a.Shape)
	}
	for i := range 5 {
		for c := range 3 {
			if a.Row(i)[c] != want[c][i] {
				t.Errorf("channel %d frame %d: %g, want %g", c, i, a.Row(i)[c], want[c][i])
			}
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) != npyHeader+60 || (len(b)-60)%64 != 0 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if err := WriteArray(path, []float64{1, 2, 3, 4, 5, 6}, 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(path); err != nil || len(b) != npyHeader+48 || string(b[npyHeader+8:npyHeader+16]) != "\x00\x00\x00\x00\x00\x00\x00\x40" {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if err := WriteArray(path, []float64{1, 2}, 3); err == nil {
		t.Error("two values have the shape [3]")
	}
	if (Format{Codec: NPY, Rate: 1, Channels: 2, Bits: 16}).Check() == nil {
		t.Error("integers are accepted")
	}
}
