package file

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"atenia/tensor"
)

// A Tensor is one named array of a model file. Its data alias the mapped file:
// they are read-only and become invalid when the file is closed.
type Tensor struct {
	Name   string
	View   tensor.View // shape outermost first, in any format
	File   string      // path of the file that holds it
	Offset int64       // first byte of its data in that file

	made *made // of a tensor that is computed from others; nil = the file has it
}

// bytes returns the size of the data; the parser has checked that it fits.
func (t *Tensor) bytes() int {
	n, _ := t.View.Shape.Bytes(t.View.DType)
	return n
}

// cut returns the error for a tensor that needs n bytes where the file has only
// room.
func cut(t *Tensor, n int, room int64) error {
	return &FormatError{
		File: t.File, Offset: t.Offset, Tensor: t.Name, Field: "data",
		Want: fmt.Sprintf("%d bytes for %s %v", n, t.View.DType, t.View.Shape),
		Got:  fmt.Sprintf("%d: the file is cut inside or before this tensor", room), Fix: fixFetch,
	}
}

// overlap checks that no two tensors of one file share bytes.
func overlap(ts []Tensor) error {
	order := positions(len(ts))
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(ts[i].Offset, ts[j].Offset), cmp.Compare(len(ts[i].View.Data), len(ts[j].View.Data)), cmp.Compare(i, j))
	})
	for k := 1; k < len(order); k++ {
		a, b := &ts[order[k-1]], &ts[order[k]]
		if end := a.Offset + int64(len(a.View.Data)); b.Offset < end {
			return &FormatError{
				File: b.File, Offset: b.Offset, Tensor: b.Name, Field: "offset",
				Want: fmt.Sprintf("data after byte %d, where tensor %q ends", end, clip(a.Name)),
				Got:  fmt.Sprintf("data from byte %d: the two overlap", b.Offset), Fix: fixDamage,
			}
		}
	}
	return nil
}

// byName returns the positions of the tensors sorted by name, and an error if
// two share one.
func byName(ts []Tensor) ([]int32, error) {
	order := positions(len(ts))
	slices.SortFunc(order, func(i, j int32) int {
		return cmp.Or(strings.Compare(ts[i].Name, ts[j].Name), cmp.Compare(i, j))
	})
	for k := 1; k < len(order); k++ {
		a, b := &ts[order[k-1]], &ts[order[k]]
		if a.Name == b.Name {
			return nil, &FormatError{
				File: b.File, Offset: b.Offset, Tensor: b.Name, Field: "name",
				Want: "every name once", Got: fmt.Sprintf("it again (first in %s at byte %d)", a.File, a.Offset), Fix: fixDamage,
			}
		}
	}
	return order, nil
}

func positions(n int) []int32 {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}
