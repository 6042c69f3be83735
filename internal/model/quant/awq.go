package quant

import (
	"encoding/binary"
	"strings"

	"atenia/tensor"
)

// awqBits is the position in a word of each of eight neighbouring outputs: the
// even ones first, in the order in which GPUs unpack them.
var awqBits = [8]int{0, 16, 4, 20, 8, 24, 12, 28}

// awq adds matrices in the "gemm" packing of AutoAWQ: X.qweight [in, out/8] and
// X.qzeros [groups, out/8] with eight digits of 4 bits in a word, and X.scales
// [groups, out].
func (r *reader) awq() error {
	if v := strings.ToLower(r.text("version", "gemm")); v != "gemm" {
		return r.bad("version", "gemm", v)
	}
	key := "bits"
	if r.m[key] == nil {
		key = "w_bit"
	}
	if _, err := r.bits(key, 4); err != nil {
		return err
	}
	key = "group_size"
	if r.m[key] == nil {
		key = "q_group_size"
	}
	size, err := r.whole(key, 128, -1, maxSide)
	if err != nil {
		return err
	}
	var ms []*affine
	err = r.each(".qweight", func(base string) error {
		m, err := r.awqMatrix(base, size)
		ms = append(ms, m)
		return err
	})
	if err == nil {
		r.addAffine(ms)
	}
	return err
}

func (r *reader) awqMatrix(base string, size int) (*affine, error) {
	q, err := r.need(base+".qweight", tensor.I32)
	if err != nil {
		return nil, err
	}
	if len(q.Shape) != 2 || q.sized(8*q.Shape[1], q.Shape[0]) != nil {
		return nil, q.misshapen("a matrix of words")
	}
	cols, words := q.Shape[0], q.Shape[1]
	m := &affine{name: base + ".weight", rows: 8 * words, cols: cols, bits: 4}
	if m.scale, err = r.need(base+".scales", scaleTypes...); err != nil {
		return nil, err
	}
	if m.groups = m.scale.Shape.Rows(); m.groups < 1 {
		return nil, m.scale.misshapen("[groups, outputs]")
	}
	if err := m.scale.shaped(m.groups, m.rows); err != nil {
		return nil, err
	}
	if m.group, err = groupOf(&m.scale, cols, m.groups, size); err != nil {
		return nil, err
	}
	z, err := r.need(base+".qzeros", tensor.I32)
	if err != nil {
		return nil, err
	}
	if err := z.shaped(m.groups, words); err != nil {
		return nil, err
	}
	m.parts = []part{q, m.scale, z}
	m.digits = func(dst []int16, lo, hi int) {
		for word := lo / 8; word*8 < hi; word++ {
			unpackOutputs(dst, &q, words, cols, word, lo, hi)
		}
	}
	m.scales = m.columnScales
	m.zeros = func(dst []int16, row int) {
		for g := range dst {
			dst[g] = int16(binary.LittleEndian.Uint32(z.Data[4*(g*words+row/8):]) >> awqBits[row%8] & 15)
		}
	}
	return m, nil
}

// unpackOutputs reads the digits of eight rows, which are in one word of every
// column, as far as they are rows lo to hi. It reads a few columns at a time: to
// write a digit of each row in turn would hit the same set of the cache.
func unpackOutputs(dst []int16, q *part, words, cols, word, lo, hi int) {
	var line [32]uint32
	for at := 0; at < cols; at += len(line) {
		n := min(len(line), cols-at)
		for i := range n {
			line[i] = binary.LittleEndian.Uint32(q.Data[4*((at+i)*words+word):])
		}
		for r := max(lo, 8*word); r < min(hi, 8*word+8); r++ {
			out, shift := dst[(r-lo)*cols+at:][:n], awqBits[r%8]&31
			for i := range out {
				out[i] = int16(line[i] >> shift & 15)
			}
		}
	}
}
