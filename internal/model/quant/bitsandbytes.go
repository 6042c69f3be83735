package quant

import (
	"encoding/json"
	"fmt"

	"atenia/tensor"
)

const (
	state4   = ".quant_state.bitsandbytes__"
	suffix4  = ".weight" + state4
	maxState = 1 << 16 // bytes of the JSON of one matrix
)

// bitsandbytes adds matrices of bitsandbytes: in 4 bits X.weight U8 with two
// digits in a byte, the first in the high bits, which look up X.weight.quant_map,
// times X.weight.absmax of their block; in 8 bits X.weight I8 with X.SCB, the
// largest magnitude of each row.
func (r *reader) bitsandbytes() error {
	r.dropActivations()
	for _, kind := range []string{"nf4", "fp4"} {
		if err := r.each(suffix4+kind, r.lookup4); err != nil {
			return err
		}
	}
	return r.each(".SCB", r.rows8)
}

// rows8 adds a matrix of bytes.
func (r *reader) rows8(base string) error {
	s, err := r.need(base+".SCB", tensor.F32)
	if err != nil {
		return err
	}
	q, err := r.need(base+".weight", tensor.I8)
	if err != nil {
		return err
	}
	if len(q.Shape) != 2 || q.sized(q.Shape[0], q.Shape[1]) != nil {
		return q.misshapen("a matrix")
	}
	if n, _ := s.Shape.Size(); n != q.Shape[0] {
		return s.misshapen(fmt.Sprintf("[%d]", q.Shape[0]))
	}
	cols, d := q.Shape[1], r.dtype
	r.add(base+".weight", d, q.Shape, plainRows(d, cols, func(x []float32, row int) {
		top := s.value(row)
		for c, b := range q.Data[row*cols : (row+1)*cols] {
			x[c] = float32(float32(int8(b))*top) * (1. / 127) // in the order of the reference
		}
	}), q, s)
	return nil
}

// A state4bit is the JSON that a matrix of 4 bits has in a tensor of its own.
type state4bit struct {
	Block  int     `json:"blocksize"`
	Type   string  `json:"dtype"`
	Shape  []int   `json:"shape"`
	Nested int     `json:"nested_blocksize"` // values of absmax that share a factor
	Offset float64 `json:"nested_offset"`
}

// lookup4 adds a matrix of 4-bit digits.
func (r *reader) lookup4(base string) error {
	name := base + ".weight"
	var st state4bit
	var state part
	for _, kind := range []string{"nf4", "fp4"} {
		if p, ok := r.find(name + state4 + kind); ok {
			state = p
		}
	}
	if err := state.is(tensor.U8); err != nil {
		return err
	}
	if err := json.Unmarshal(state.Data[:min(len(state.Data), maxState)], &st); err != nil {
		return &Error{Tensor: state.name, Field: "data", Want: "a JSON object", Got: err.Error(), Fix: fixFetch}
	}
	if len(st.Shape) != 2 || state.sized(st.Shape[0], st.Shape[1]) != nil || st.Block < 2 || st.Block > 1<<16 || st.Block%2 != 0 {
		return &Error{Tensor: state.name, Field: "data", Want: "the shape of a matrix and an even blocksize", Got: fmt.Sprint(st.Shape, st.Block), Fix: fixFetch}
	}
	rows, cols := st.Shape[0], st.Shape[1]
	q, err := r.need(name, tensor.U8, tensor.I8, tensor.F16, tensor.BF16, tensor.F32) // bnb_4bit_quant_storage
	if err != nil {
		return err
	}
	if _, size := q.DType.Block(); len(q.Data) != ((rows*cols+1)/2+size-1)/size*size {
		return q.misshapen(fmt.Sprintf("%d bytes", (rows*cols+1)/2))
	}
	code, err := r.need(name+".quant_map", tensor.F32)
	if err != nil {
		return err
	}
	if err := code.shaped(16); err != nil {
		return err
	}
	blocks := (rows*cols + st.Block - 1) / st.Block
	top, err := r.absmax(name, blocks, &st)
	if err != nil {
		return err
	}
	var values [16]float32
	for i := range values {
		values[i] = code.value(i)
	}
	d := plainType(st.Type)
	r.add(name, d, tensor.Shape{rows, cols}, plainRows(d, cols, func(x []float32, row int) {
		for c := 0; c < cols; {
			at := row*cols + c
			end := min(cols, c+st.Block-at%st.Block)
			f := top.at(at / st.Block)
			for ; c < end; c, at = c+1, at+1 {
				x[c] = values[q.Data[at/2]>>(4-at%2*4)&15] * f
			}
		}
	}), append(top.parts(), q, state, code)...)
	return nil
}

// magnitudes are the largest magnitudes of blocks: float32, or bytes that are
// quantized themselves: (look-up · factor of their block) + offset.
type magnitudes struct {
	values part
	code   part // 256 values; no bytes if values are float32
	factor part
	block  int
	offset float32
}

func (r *reader) absmax(name string, blocks int, st *state4bit) (m magnitudes, err error) {
	if m.values, err = r.need(name+".absmax", tensor.F32, tensor.U8); err != nil {
		return m, err
	}
	if n, _ := m.values.Shape.Size(); n != blocks {
		return m, m.values.misshapen(fmt.Sprintf("[%d]", blocks))
	}
	if m.values.DType == tensor.F32 {
		return m, nil
	}
	if m.code, err = r.need(name+".nested_quant_map", tensor.F32); err != nil {
		return m, err
	}
	if err := m.code.shaped(256); err != nil {
		return m, err
	}
	if m.factor, err = r.need(name+".nested_absmax", tensor.F32); err != nil {
		return m, err
	}
	if st.Nested < 1 || st.Nested > maxSide {
		return m, &Error{Tensor: name, Field: "nested_blocksize", Want: "a size of blocks", Got: fmt.Sprint(st.Nested), Fix: fixFetch}
	}
	if n, _ := m.factor.Shape.Size(); n != (blocks+st.Nested-1)/st.Nested {
		return m, m.factor.misshapen(fmt.Sprintf("[%d]", (blocks+st.Nested-1)/st.Nested))
	}
	m.block, m.offset = st.Nested, float32(st.Offset)
	return m, nil
}

func (m *magnitudes) at(i int) float32 {
	if m.block == 0 {
		return m.values.value(i)
	}
	return float32(m.code.value(int(m.values.Data[i]))*m.factor.value(i/m.block)) + m.offset
}

func (m *magnitudes) parts() []part {
	if m.block == 0 {
		return []part{m.values}
	}
	return []part{m.values, m.code, m.factor}
}
