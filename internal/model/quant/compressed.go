package quant

import (
	"encoding/binary"
	"fmt"

	"atenia/tensor"
)

// compressed adds the matrices of compressed-tensors, each by the tensors that
// there are:
//
//	X.weight_packed I32, weight_shape, weight_scale   digits packed along the row, offset by 2^(bits-1)
//	X.weight I8, weight_scale                         digits
//	X.weight F8_E4M3, weight_scale                    floats
//	X.weight_packed U8, weight_scale U8               MXFP4
//	X.weight_packed U8, weight_scale F8_E4M3, weight_global_scale   NVFP4
//
// Integers may have zero points, packed along the column or as I8, and, if columns
// were reordered, X.weight_g_idx.
func (r *reader) compressed() error {
	widths, blocks, err := r.groups()
	if err != nil {
		return err
	}
	var ms []*affine
	err = r.each(".weight_packed", func(base string) error {
		q, err := r.need(base+".weight_packed", tensor.I32, tensor.U8)
		if err != nil {
			return err
		}
		if q.DType == tensor.U8 {
			return r.compressed4(base, q)
		}
		m, err := r.compressedPacked(base, q, widths)
		ms = append(ms, m)
		return err
	})
	if err != nil {
		return err
	}
	err = r.each(".weight", func(base string) error {
		q, _ := r.find(base + ".weight")
		if q.DType != tensor.I8 {
			return nil
		}
		m, err := r.compressedWhole(base, q)
		ms = append(ms, m)
		return err
	})
	if err != nil {
		return err
	}
	r.addAffine(ms)
	return r.floats8(blocks)
}

// groups reads the widths of digits and the size of blocks from config_groups.
func (r *reader) groups() (widths []int, block [2]int, err error) {
	if f := r.text("format", ""); f == "marlin-24" || f == "sparse-24-bitmask" || f == "sparse-bitmask" {
		return nil, block, r.bad("format", "a dense format", f)
	}
	all := r.object("config_groups")
	for name := range all.m {
		g := all.object(name)
		w := g.object("weights")
		n, err := w.whole("num_bits", 8, 1, 32)
		if err != nil {
			return nil, block, err
		}
		widths = append(widths, n)
		b, ok, err := w.pair("block_structure")
		if err != nil {
			return nil, block, err
		}
		if ok {
			block = b
		}
	}
	return widths, block, nil
}

func (r *reader) compressed4(base string, q part) error {
	s, err := r.need(base+".weight_scale", tensor.U8, tensor.F8E4M3)
	if err != nil {
		return err
	}
	if s.DType == tensor.U8 {
		return r.mxfp4Matrix(base+".weight", q, s)
	}
	g, err := r.need(base+".weight_global_scale", tensor.F32)
	if err != nil {
		return err
	}
	return r.nvfp4(base+".weight", q, s, g, true)
}

func (r *reader) compressedPacked(base string, q part, widths []int) (*affine, error) {
	shape, err := r.need(base+".weight_shape", tensor.I64, tensor.I32)
	if err != nil {
		return nil, err
	}
	if err := shape.shaped(2); err != nil {
		return nil, err
	}
	var side [2]int
	for i := range side {
		if shape.DType == tensor.I64 {
			side[i] = int(int64(binary.LittleEndian.Uint64(shape.Data[8*i:])))
		} else {
			side[i] = int(int32(binary.LittleEndian.Uint32(shape.Data[4*i:])))
		}
	}
	rows, cols := side[0], side[1]
	if rows < 1 || cols < 1 || rows > maxSide || cols > maxSide {
		return nil, &Error{Tensor: shape.name, Field: "data", Want: "two sides", Got: fmt.Sprint(side), Fix: fixFetch}
	}
	for _, bits := range widths {
		if bits < 2 || bits > 8 || q.shaped(rows, (cols*bits+31)/32) != nil {
			continue
		}
		m := &affine{name: base + ".weight", rows: rows, cols: cols, bits: bits, parts: []part{q, shape}}
		words := q.Shape[1]
		m.digits = func(dst []int16, lo, hi int) {
			for r := lo; r < hi; r++ {
				unpackRow(dst[(r-lo)*cols:(r-lo+1)*cols], &q, r*words, bits)
			}
		}
		return m, r.scaledRows(m, base)
	}
	return nil, q.misshapen(fmt.Sprintf("rows of %d digits, each of one of the widths %v", cols, widths))
}

// unpackRow reads a row of digits from the word at.
func unpackRow(dst []int16, q *part, at, bits int) {
	if bits != 4 {
		for c := range dst {
			dst[c] = q.digit(at, 1, c, bits)
		}
		return
	}
	line := q.Data[4*at : 4*at+(len(dst)+1)/2]
	for c := range dst {
		dst[c] = int16(line[c/2] >> (c % 2 * 4) & 15)
	}
}

func (r *reader) compressedWhole(base string, q part) (*affine, error) {
	if err := q.is(tensor.I8); err != nil {
		return nil, err
	}
	if len(q.Shape) != 2 || q.sized(q.Shape[0], q.Shape[1]) != nil {
		return nil, q.misshapen("a matrix")
	}
	m := &affine{name: base + ".weight", rows: q.Shape[0], cols: q.Shape[1], bits: 8, parts: []part{q}}
	m.digits = func(dst []int16, lo, hi int) {
		for i, b := range q.Data[lo*m.cols : hi*m.cols] {
			dst[i] = int16(int8(b)) + 128
		}
	}
	return m, r.scaledRows(m, base)
}

// scaledRows adds scales [rows, groups], [rows] or [1], zero points and the order
// of columns.
func (r *reader) scaledRows(m *affine, base string) (err error) {
	if m.scale, err = r.need(base+".weight_scale", scaleTypes...); err != nil {
		return err
	}
	at, err := factors(&m.scale, tensor.Shape{m.rows, m.cols}, [2]int{})
	if err != nil {
		return err
	}
	if at.rows != 1 && at.high != 1 {
		return m.scale.misshapen("scales of each row or of all")
	}
	m.groups, m.group = at.wide, at.cols
	m.scales = func(dst []float32, row int) {
		first := at.row(0, row)
		for g := range dst {
			dst[g] = m.scale.value(first + g)
		}
	}
	m.parts = append(m.parts, m.scale)
	if z, ok := r.find(base + ".weight_zero_point"); ok {
		if err := m.offset(&z, at); err != nil {
			return err
		}
		m.parts = append(m.parts, z)
	}
	if order, ok := r.find(base + ".weight_g_idx"); ok {
		if m.index, err = order.columnGroups(m.cols, m.group, m.groups); err != nil {
			return err
		}
		m.parts = append(m.parts, order)
	}
	return nil
}

// offset reads zero points as they are stored: signed bytes in the shape of the
// scales, or digits packed along the column, [rows·bits/32, groups].
func (m *affine) offset(z *part, at layout) error {
	if err := z.is(tensor.I8, tensor.I32); err != nil {
		return err
	}
	if z.DType == tensor.I32 {
		if err := z.shaped((m.rows*m.bits+31)/32, m.groups); err != nil {
			return err
		}
		m.zeros = func(dst []int16, row int) {
			for g := range dst {
				dst[g] = z.digit(g, m.groups, row, m.bits)
			}
		}
		return nil
	}
	if a, _ := z.Shape.Size(); a != at.high*at.wide {
		return z.misshapen(m.scale.Shape.String())
	}
	mid := int16(1) << (m.bits - 1)
	m.zeros = func(dst []int16, row int) {
		first := at.row(0, row)
		for g := range dst {
			dst[g] = int16(int8(z.Data[first+g])) + mid
		}
	}
	return nil
}

// modelOpt adds matrices of NVIDIA's ModelOpt: 8-bit floats with X.weight_scale,
// or X.weight U8 with X.weight_scale F8_E4M3 and X.weight_scale_2 (NVFP4).
func (r *reader) modelOpt() error {
	err := r.each(".weight_scale_2", func(base string) error {
		g, err := r.need(base+".weight_scale_2", tensor.F32)
		if err != nil {
			return err
		}
		q, err := r.need(base+".weight", tensor.U8)
		if err != nil {
			return err
		}
		s, err := r.need(base+".weight_scale", tensor.F8E4M3)
		if err != nil {
			return err
		}
		return r.nvfp4(base+".weight", q, s, g, false)
	})
	if err != nil {
		return err
	}
	return r.floats8([2]int{})
}
