package golden

import (
	"slices"
	"testing"
)

func TestParseNPY(t *testing.T) {
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
	file := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	file = append(file, head...)
	file = append(file, 0, 0, 128, 63, 0, 0, 0, 64)
	a, err := parseNPY(file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Shape, []int{1, 2}) || !slices.Equal(a.Row(0), []float32{1, 2}) {
		t.Fatalf("got %+v", a)
	}
	if _, err := parseNPY(file[:len(file)-1]); err == nil {
		t.Fatal("a truncated file was accepted")
	}
}
