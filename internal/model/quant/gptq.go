package quant

import (
	"encoding/binary"
	"strings"

	"atenia/tensor"
)

var scaleTypes = []tensor.DType{tensor.F16, tensor.BF16, tensor.F32}

// gptq adds matrices as GPTQ tools write them: X.qweight [in·bits/32, out] with
// digits packed along the inputs, X.qzeros [groups, out·bits/32] along the
// outputs, X.scales [groups, out] and, if columns were reordered by activation,
// X.g_idx [in]. Zero points of the first version of the format are stored less
// one, modulo 2^bits. Some tools write the second version and say the first: see [Zeros].
func (r *reader) gptq() error {
	plus := int16(1)
	switch name := r.text("checkpoint_format", r.text("format", "gptq")); name {
	case "gptq":
	case "gptq_v2":
		plus = 0
	default:
		return r.bad("checkpoint_format", "gptq or gptq_v2", name)
	}
	return r.gptqPacked(plus)
}

func (r *reader) gptqPacked(plus int16) error {
	r.zeros = &Zeros{}
	switch r.asked {
	case ZerosV1:
		plus = 1
	case ZerosV2:
		plus = 0
	}
	bits, err := r.bits("bits", 2, 3, 4, 5, 6, 7, 8)
	if err != nil {
		return err
	}
	size, err := r.whole("group_size", -1, -1, maxSide)
	if err != nil {
		return err
	}
	var ms []*affine
	err = r.each(".qweight", func(base string) error {
		m, err := r.gptqMatrix(base, bits, size, plus)
		ms = append(ms, m)
		return err
	})
	if err == nil {
		r.addAffine(ms)
	}
	return err
}

func (r *reader) gptqMatrix(base string, bits, size int, plus int16) (*affine, error) {
	q, err := r.need(base+".qweight", tensor.I32)
	if err != nil {
		return nil, err
	}
	if len(q.Shape) != 2 || q.sized(q.Shape[1], q.Shape[0]) != nil {
		return nil, q.misshapen("a matrix of words")
	}
	words, rows := q.Shape[0], q.Shape[1]
	order, ordered := r.find(base + ".g_idx")
	if n := order.Shape.Cols(); ordered && n > 0 { // some modules may have digits of another width
		if wide := words * 32 / n; wide > 0 && wide <= 8 {
			bits = wide
		}
	}
	cols := words * 32 / bits
	m := &affine{name: base + ".weight", rows: rows, cols: cols, bits: bits}
	if m.scale, err = r.need(base+".scales", scaleTypes...); err != nil {
		return nil, err
	}
	if m.groups = m.scale.Shape.Rows(); m.groups < 1 {
		return nil, m.scale.misshapen("[groups, outputs]")
	}
	if err := m.scale.shaped(m.groups, rows); err != nil {
		return nil, err
	}
	if m.group, err = groupOf(&m.scale, cols, m.groups, size); err != nil {
		return nil, err
	}
	z, err := r.need(base+".qzeros", tensor.I32)
	if err != nil {
		return nil, err
	}
	if err := z.shaped(m.groups, (rows*bits+31)/32); err != nil {
		return nil, err
	}
	plus = r.lessOne(&z, rows, bits, plus)
	m.parts = []part{q, m.scale, z}
	if ordered {
		if m.index, err = order.columnGroups(cols, m.group, m.groups); err != nil {
			return nil, err
		}
		m.parts = append(m.parts, order)
	}
	m.digits = func(dst []int16, lo, hi int) { unpackColumns(dst, &q, rows, cols, bits, lo, hi) }
	m.scales = m.columnScales
	m.zeros = func(dst []int16, row int) {
		for g := range dst {
			dst[g] = (z.digit(g*z.Shape[1], 1, row, bits) + plus) & (1<<bits - 1)
		}
	}
	return m, nil
}

// Versions of the zero points of GPTQ digits.
const (
	ZerosV1 = "v1" // stored less one
	ZerosV2 = "v2" // stored as they are
)

// Zeros says how the zero points of a folder's GPTQ digits are read. Nothing in a file
// but the word of the configuration names their version, and tools are known that write
// the second one and the word of the first. Of symmetric digits all zero points are
// 2^(bits-1): what is stored is that, or one less, which tells.
type Zeros struct {
	V1, V2 int // matrices that are read so
	Untold int // of these, those of which only the configuration says so, and may be wrong
}

// lessOne returns what is added to stored zero points: what the user or the configuration
// says, or for symmetric digits what the first and the last group have.
func (r *reader) lessOne(z *part, rows, bits int, plus int16) int16 {
	if r.asked == "" {
		symmetric := r.m["sym"] == true
		if told, ok := tellsLessOne(z, rows, bits); ok && symmetric {
			plus = told
		} else if plus == 1 || symmetric { // only tools that know of versions write gptq_v2
			r.zeros.Untold++
		}
	}
	if plus == 0 {
		r.zeros.V2++
	} else {
		r.zeros.V1++
	}
	return plus
}

// tellsLessOne returns what is added to the zero points of symmetric digits, or false if
// they are not those of symmetric digits.
func tellsLessOne(z *part, rows, bits int) (int16, bool) {
	const most = 1024 // digits of a group: they are equal
	middle := int16(1) << (bits - 1)
	first := z.digit(0, 1, 0, bits)
	if first != middle && first != middle-1 {
		return 0, false
	}
	for _, g := range []int{0, z.Shape[0] - 1} {
		for row := range min(rows, most) {
			if z.digit(g*z.Shape[1], 1, row, bits) != first {
				return 0, false
			}
		}
	}
	return middle - first, true
}

// columnScales reads a row of scales that are stored as [groups, rows].
func (m *affine) columnScales(dst []float32, row int) {
	for g := range dst {
		dst[g] = m.scale.value(g*m.rows + row)
	}
}

// groupOf returns the columns of a group: size if it fits the number of groups,
// -1 standing for all columns, else an equal share of them.
func groupOf(scale *part, cols, groups, size int) (int, error) {
	if size == -1 {
		size = cols
	}
	switch {
	case size > 0 && (cols+size-1)/size == groups:
		return size, nil
	case groups > 0 && cols%groups == 0:
		return cols / groups, nil
	}
	return 0, scale.misshapen("scales for groups of equal size")
}

// unpackColumns reads digits that are packed along the columns of words [cols·bits/32,
// rows]: those of one row are rows words apart.
func unpackColumns(dst []int16, q *part, rows, cols, bits, lo, hi int) {
	if 32%bits != 0 {
		for r := lo; r < hi; r++ {
			for c := range cols {
				dst[(r-lo)*cols+c] = q.digit(r, rows, c, bits)
			}
		}
		return
	}
	each, mask := 32/bits, uint32(1)<<bits-1
	for w := range cols / each {
		line := q.Data[4*(w*rows+lo) : 4*(w*rows+hi)]
		for r := range hi - lo {
			x, out := binary.LittleEndian.Uint32(line[4*r:]), dst[r*cols+w*each:][:each]
			if each == 8 {
				o := (*[8]int16)(out)
				o[0], o[1], o[2], o[3] = int16(x&15), int16(x>>4&15), int16(x>>8&15), int16(x>>12&15)
				o[4], o[5], o[6], o[7] = int16(x>>16&15), int16(x>>20&15), int16(x>>24&15), int16(x>>28)
				continue
			}
			for i := range out {
				out[i] = int16(x & mask)
				x >>= bits
			}
		}
	}
}

// autoRound adds matrices of AutoRound, which packs as others do.
func (r *reader) autoRound() error {
	switch name := r.text("packing_format", ""); strings.TrimPrefix(name, "auto_round:") {
	case "auto_gptq", "gptq":
		return r.gptqPacked(1)
	case "auto_awq", "awq":
		return r.awq()
	default:
		return r.bad("packing_format", "auto_round:auto_gptq or auto_round:auto_awq", name)
	}
}
