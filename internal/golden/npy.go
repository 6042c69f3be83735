package golden

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An Array is a dense row-major array read from a .npy file.
type Array struct {
	Shape []int
	F32   []float32 // element type <f4
	I32   []int32   // element type <i4 or <i8
}

// Row returns row i of a two-dimensional float array.
func (a *Array) Row(i int) []float32 { n := a.Shape[1]; return a.F32[i*n : (i+1)*n] }

var npyHeader = regexp.MustCompile(`'descr':\s*'([^']+)',\s*'fortran_order':\s*(\w+),\s*'shape':\s*\(([^)]*)\)`)

// NPY reads a NumPy array file, format 1.0, <f4, <i4 or <i8, or fails the test. An
// array in Fortran order is returned as its transpose.
func NPY(t testing.TB, path string) *Array {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := parseNPY(b)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return a
}

func parseNPY(b []byte) (*Array, error) {
	if len(b) < 10 || string(b[:6]) != "\x93NUMPY" || b[6] != 1 {
		return nil, fmt.Errorf("not an npy file of format 1.0")
	}
	end := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	if end > len(b) {
		return nil, fmt.Errorf("header of %d bytes in a file of %d", end, len(b))
	}
	m := npyHeader.FindStringSubmatch(string(b[10:end]))
	if m == nil || m[2] != "False" && m[2] != "True" {
		return nil, fmt.Errorf("unsupported header %q", b[10:end])
	}
	a, n := &Array{}, 1
	for f := range strings.SplitSeq(m[3], ",") {
		if f = strings.TrimSpace(f); f == "" {
			continue
		}
		d, err := strconv.Atoi(f)
		if err != nil || d < 0 {
			return nil, fmt.Errorf("shape %q", m[3])
		}
		a.Shape = append(a.Shape, d)
		n *= d
	}
	if m[2] == "True" {
		slices.Reverse(a.Shape)
	}
	size := map[string]int{"<f4": 4, "<i4": 4, "<i8": 8}[m[1]]
	if size == 0 || len(b)-end != n*size {
		return nil, fmt.Errorf("%s × %d in %d bytes", m[1], n, len(b)-end)
	}
	body := b[end:]
	for i := range n {
		switch m[1] {
		case "<f4":
			a.F32 = append(a.F32, math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:])))
		case "<i4":
			a.I32 = append(a.I32, int32(binary.LittleEndian.Uint32(body[4*i:])))
		case "<i8":
			a.I32 = append(a.I32, int32(binary.LittleEndian.Uint64(body[8*i:])))
		}
	}
	return a, nil
}
