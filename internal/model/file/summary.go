package file

import (
	"cmp"
	"slices"

	"atenia/tensor"
)

// A Summary holds the totals of a description.
type Summary struct {
	Format     string
	Files      int          // that hold tensors
	FileBytes  int64        // size of these files
	Tensors    int          // in all files
	Parameters int64        // values in all tensors, including integers
	Bytes      int64        // of tensor data, without padding
	Types      []TypeTotals // largest first
}

// TypeTotals are the totals of one element type.
type TypeTotals struct {
	DType      tensor.DType
	Tensors    int
	Parameters int64
	Bytes      int64
}

// BitsPerParameter returns the mean size of a value, 0 without values.
func (s Summary) BitsPerParameter() float64 {
	if s.Parameters == 0 {
		return 0
	}
	return float64(s.Bytes) * 8 / float64(s.Parameters)
}

// Summary totals the headers.
func (d *Description) Summary() Summary {
	s := Summary{Format: d.Format, Files: len(d.Parts), Tensors: len(d.Tensors)}
	for _, p := range d.Parts {
		s.FileBytes += p.Bytes
	}
	var by [tensor.NumDTypes]TypeTotals
	for i := range d.Tensors {
		t := &d.Tensors[i]
		n, _ := t.View.Shape.Size() // the parser checked that it fits
		bytes := int64(t.bytes())
		s.Parameters += int64(n)
		s.Bytes += bytes
		b := &by[t.View.DType]
		b.DType = t.View.DType
		b.Tensors++
		b.Parameters += int64(n)
		b.Bytes += bytes
	}
	s.Types = slices.DeleteFunc(by[:], func(t TypeTotals) bool { return t.Tensors == 0 })
	slices.SortStableFunc(s.Types, func(a, b TypeTotals) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return s
}
