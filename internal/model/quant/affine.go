package quant

import (
	"encoding/binary"
	"math"
	"slices"

	"atenia/tensor"
)

// An affine matrix has whole digits q with scales s and zero points z, one of
// each for a group of columns of a row: w = s·(q-z).
type affine struct {
	name       string
	rows, cols int
	bits       int // of a digit
	group      int // columns of a group
	groups     int // of a row
	// index has the group of each column; nil = column / group.
	index  []int32
	digits func(dst []int16, lo, hi int) // [hi-lo, cols]
	scales func(dst []float32, row int)  // [groups]
	zeros  func(dst []int16, row int)    // [groups]; nil = 2^(bits-1)
	scale  part                          // where scales are
	parts  []part
}

// Blocks of 32 with one scale represent an affine matrix exactly if they cut no
// group, the scales are float16 values and q-z has few values: Q4_0 has -8 to 7,
// Q8_0 -128 to 127.
const (
	blockValues = 32
	q4Bytes     = 2 + blockValues/2
	q8Bytes     = 2 + blockValues
)

// addAffine adds matrices of a folder: as Q4_0 if that represents all of them
// exactly, otherwise as Q8_0 if that does, otherwise in the type of the scales.
// All of a folder get one type, since some are joined into one weight.
func (r *reader) addAffine(ms []*affine) {
	lo, hi, exact := 0, 0, true
	for _, m := range ms {
		if exact = exact && m.aligned(); exact {
			a, b := m.span()
			lo, hi = min(lo, a), max(hi, b)
		}
	}
	for _, m := range ms {
		d := r.plain(m.scale.DType)
		switch {
		case !exact || m.cols%blockValues != 0:
		case lo >= -8 && hi <= 7:
			d = tensor.Q4_0
		case lo >= math.MinInt8 && hi <= math.MaxInt8:
			d = tensor.Q8_0
		}
		r.add(m.name, d, tensor.Shape{m.rows, m.cols}, func(dst []byte, lo, hi int) { m.write(dst, d, lo, hi) }, m.parts...)
	}
}

// plain returns the type of values that are multiples of scales of type d: the
// same if it is a 16-bit one, else that of the model.
func (s *settings) plain(d tensor.DType) tensor.DType {
	if d == tensor.F16 || d == tensor.BF16 {
		return d
	}
	return s.dtype
}

// aligned reports whether blocks cut no group and all scales are float16 values.
func (m *affine) aligned() bool {
	if m.index != nil || m.groups > 1 && m.group%blockValues != 0 {
		return false
	}
	if m.scale.DType == tensor.F16 {
		return true
	}
	s := make([]float32, m.groups)
	for row := range m.rows {
		m.scales(s, row)
		for _, x := range s {
			if h := tensor.F32ToF16(x); tensor.F16ToF32(h) != x {
				return false
			}
		}
	}
	return true
}

// span returns the smallest and the largest value that q-z can have.
func (m *affine) span() (lo, hi int) {
	top := 1<<m.bits - 1
	if m.zeros == nil {
		return -(top + 1) / 2, top / 2
	}
	if m.bits < 4 { // Q4_0 has room for any zero point
		return -top, top
	}
	z := make([]int16, m.groups)
	for row := range m.rows {
		m.zeros(z, row)
		lo, hi = min(lo, -int(slices.Max(z))), max(hi, top-int(slices.Min(z)))
	}
	return lo, hi
}

// rowsAtOnce bounds the rows that write unpacks together: enough for the words
// of a cache line where formats store columns side by side, few enough for a
// core's cache.
const rowsAtOnce = 16

// write makes the rows lo to hi in the type d.
func (m *affine) write(dst []byte, d tensor.DType, lo, hi int) {
	size := len(dst) / (hi - lo)
	q := make([]int16, min(rowsAtOnce, hi-lo)*m.cols)
	s, z, x := make([]float32, m.groups), make([]int16, m.groups), make([]float32, m.cols)
	for i := range z {
		z[i] = 1 << (m.bits - 1)
	}
	for ; lo < hi; lo += rowsAtOnce {
		n := min(rowsAtOnce, hi-lo)
		m.digits(q[:n*m.cols], lo, lo+n)
		for i := range n {
			m.scales(s, lo+i)
			if m.zeros != nil {
				m.zeros(z, lo+i)
			}
			m.row(dst[:size], d, q[i*m.cols:(i+1)*m.cols], s, z, x)
			dst = dst[size:]
		}
	}
}

// row writes one row; x is scratch of as many values.
func (m *affine) row(dst []byte, d tensor.DType, q []int16, s []float32, z []int16, x []float32) {
	switch d {
	case tensor.Q4_0:
		for at := 0; at < m.cols; at, dst = at+blockValues, dst[q4Bytes:] {
			out, zero := dst[:q4Bytes], z[at/m.group]-8
			lo, hi := (*[blockValues / 2]int16)(q[at:]), (*[blockValues / 2]int16)(q[at+blockValues/2:])
			binary.LittleEndian.PutUint16(out, tensor.F32ToF16(s[at/m.group]))
			for i := range lo {
				out[2+i] = byte(lo[i]-zero)&15 | byte(hi[i]-zero)<<4
			}
		}
	case tensor.Q8_0:
		for at := 0; at < m.cols; at, dst = at+blockValues, dst[q8Bytes:] {
			out, zero := dst[:q8Bytes], z[at/m.group]
			binary.LittleEndian.PutUint16(out, tensor.F32ToF16(s[at/m.group]))
			for i, q := range (*[blockValues]int16)(q[at:]) {
				out[2+i] = byte(q - zero)
			}
		}
	default:
		for i, q := range q {
			g := i / m.group
			if m.index != nil {
				g = int(m.index[i])
			}
			x[i] = s[g] * float32(q-z[g])
		}
		putValues(dst, d, x)
	}
}

// putValues writes values of a plain type.
func putValues(dst []byte, d tensor.DType, values []float32) {
	switch d {
	case tensor.F16:
		for i, x := range values {
			binary.LittleEndian.PutUint16(dst[2*i:], tensor.F32ToF16(x))
		}
	case tensor.BF16:
		for i, x := range values {
			binary.LittleEndian.PutUint16(dst[2*i:], tensor.F32ToBF16(x))
		}
	default:
		for i, x := range values {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
		}
	}
}

// plainRows makes rows of a plain type from a function that computes the values
// of one.
func plainRows(d tensor.DType, cols int, values func(x []float32, row int)) func([]byte, int, int) {
	return func(dst []byte, lo, hi int) {
		x, size := make([]float32, cols), len(dst)/(hi-lo)
		for ; lo < hi; lo, dst = lo+1, dst[size:] {
			values(x, lo)
			putValues(dst, d, x)
		}
	}
}

// value returns the value i of a plain type.
func (p *part) value(i int) float32 {
	switch p.DType {
	case tensor.F16:
		return tensor.F16ToF32(binary.LittleEndian.Uint16(p.Data[2*i:]))
	case tensor.BF16:
		return tensor.BF16ToF32(binary.LittleEndian.Uint16(p.Data[2*i:]))
	case tensor.F8E4M3:
		return tensor.E4M3ToF32(p.Data[i])
	case tensor.U8: // E8M0: an exponent alone
		return float32(math.Ldexp(1, int(p.Data[i])-127))
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(p.Data[4*i:]))
}

// digit returns digit i of a part whose words of 32 bits, stride apart from word
// at, are a little-endian stream of digits of so many bits.
func (p *part) digit(at, stride, i, bits int) int16 {
	bit := i * bits
	w := at + bit/32*stride
	x := binary.LittleEndian.Uint32(p.Data[4*w:]) >> (bit % 32)
	if over := bit%32 + bits - 32; over > 0 {
		x |= binary.LittleEndian.Uint32(p.Data[4*(w+stride):]) << (bits - over)
	}
	return int16(x & (1<<bits - 1))
}

// columnGroups reads the group of each column; nil if groups follow one another.
func (p *part) columnGroups(cols, group, groups int) ([]int32, error) {
	if err := p.is(tensor.I32); err != nil {
		return nil, err
	}
	if err := p.shaped(cols); err != nil {
		return nil, err
	}
	out, plain := make([]int32, cols), true
	for i := range out {
		g := int32(binary.LittleEndian.Uint32(p.Data[4*i:]))
		if g < 0 || int(g) >= groups {
			return nil, &Error{Tensor: p.name, Field: "data", Want: "groups that have scales", Got: "another", Fix: fixFetch}
		}
		out[i] = g
		plain = plain && int(g) == i/group
	}
	if plain {
		return nil, nil
	}
	return out, nil
}
