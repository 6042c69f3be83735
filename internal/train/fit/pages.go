package fit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/tape"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/offload"
	"atenia/tensor"
)

// pages are the parameters of a model that is computed block by block: those that
// are trained come from the run's pager, frozen ones from the model's file.
type pages struct {
	m      *Model
	d      *file.Description // nil of a new model
	find   func(string) (tensor.View, bool)
	first  func(p *tape.Param[float32], dst []float32) error // initial values of a new model
	blocks [][]*tape.Param[float32]
	index  map[*tape.Param[float32]]int // into the trained parameters
	pager  train.Pager
	read   func(param int, dst []float32) error
	frozen map[*tape.Param[float32]]*offload.Floats // in memory
	edges  []offload.Floats
	bytes  tape.Bytes
}

func newPages(d *file.Description, find func(string) (tensor.View, bool)) *pages {
	p := &pages{find: find, frozen: map[*tape.Param[float32]]*offload.Floats{}}
	if find != nil {
		p.d = d
	}
	return p
}

// shapes returns the shapes of the file's tensors; nil for a new model.
func (p *pages) shapes() func(string) (tensor.Shape, bool) {
	if p.find == nil {
		return nil
	}
	return func(name string) (tensor.Shape, bool) {
		t, ok := p.d.Tensor(name)
		if !ok {
			return nil, false
		}
		return t.View.Shape, true
	}
}

// bindPages collects the tensors of blocks.
func (m *Model) bindPages() {
	p := m.pages
	p.m, p.blocks, p.index = m, m.model.Blocks(), map[*tape.Param[float32]]int{}
	i := 0
	for _, q := range m.params.All() {
		if !q.Frozen() {
			p.index[q] = i
			i++
		}
	}
	p.bytes = m.model.PagedBytes(m.opt.Rows)
}

// PagedBytes bounds the memory of batches, besides parameters and gradients. It
// and [Model.FrozenBytes] are of models that were made with [ModelOptions].Paged.
func (m *Model) PagedBytes() tape.Bytes { return m.pages.bytes }

// FrozenBytes returns the memory of the largest block's frozen tensors.
func (m *Model) FrozenBytes() (most int64) {
	for _, b := range m.pages.blocks {
		n := int64(0)
		for _, q := range b {
			if q.Frozen() {
				n += 4 * int64(q.Len())
			}
		}
		most = max(most, n)
	}
	return most
}

// Keep reserves the memory of passes in which the last blocks keep their values
// from the forward pass to the backward pass.
func (m *Model) Keep(last int) error {
	p := m.pages
	n := len(p.blocks)
	m.model.Keep(func(i int) bool { return i < n-1 && n-1-i <= last })
	return m.opt.Room.Hold(p.bytes.All(last) - p.bytes.Edges)
}

// Close gives back the memory of a paged model.
func (m *Model) Close() error {
	p := m.pages
	if p == nil {
		return nil
	}
	var err error
	if p.pager != nil {
		err = p.pager.Close()
	}
	for q := range p.frozen {
		p.drop(q)
	}
	for i := range p.edges {
		p.edges[i].Release()
	}
	p.edges = nil
	m.opt.Room.Release()
	if p.d != nil {
		err = errors.Join(err, p.d.Close())
		p.d = nil
	}
	return err
}

func (m *Model) allocEdge(n int) ([]float32, error) {
	b, err := m.opt.Room.Activations(n)
	if err != nil {
		return nil, fmt.Errorf("values between layers: %w", err)
	}
	m.pages.edges = append(m.pages.edges, b)
	return b.Values, nil
}

// Blocks implements [train.Pageable].
func (m *Model) Blocks() (reads [][]int, needed []bool) {
	for i, b := range m.pages.blocks {
		var list []int
		for _, q := range b {
			if !q.Frozen() {
				list = append(list, m.pages.index[q])
			}
		}
		reads, needed = append(reads, list), append(needed, m.model.Needed(i))
	}
	return reads, needed
}

// Fill implements [train.Pageable].
func (m *Model) Fill(param int, dst []float32) error {
	for q, i := range m.pages.index {
		if i == param {
			return m.pages.fill(q, dst)
		}
	}
	return fmt.Errorf("there is no parameter %d", param)
}

// Page implements [train.Pageable].
func (m *Model) Page(p train.Pager, read func(param int, dst []float32) error) {
	m.pages.pager, m.pages.read = p, read
	m.opt.Room.Insist = p.Insist
}

// fill writes the values that a tensor begins with.
func (p *pages) fill(q *tape.Param[float32], dst []float32) error {
	if p.first != nil {
		return p.first(q, dst)
	}
	if p.d == nil {
		clear(dst)
		return nil
	}
	v, _ := p.find(q.Name)
	err := widen(dst, v)
	if t, ok := p.d.Tensor(q.Name); ok {
		err = errors.Join(err, p.d.Advise(file.DontNeed, t)) // else its pages count as memory of the process
	}
	return err
}

// widen writes a tensor's values as float32.
func widen(dst []float32, v tensor.View) error {
	switch v.DType {
	case tensor.BF16:
		for i := range dst {
			dst[i] = tensor.BF16ToF32(binary.LittleEndian.Uint16(v.Data[2*i:]))
		}
		return nil
	case tensor.F16:
		for i := range dst {
			dst[i] = tensor.F16ToF32(binary.LittleEndian.Uint16(v.Data[2*i:]))
		}
		return nil
	}
	w, err := compile.WeightToF32(v)
	if err != nil {
		return err
	}
	x, _ := w.F32()
	copy(dst, x)
	return nil
}

// Enter implements [tape.Pager].
func (p *pages) Enter(block int, back bool) error {
	if p.pager != nil {
		if err := p.pager.Enter(block, back); err != nil {
			return err
		}
	}
	for _, q := range p.blocks[block] {
		if i, ok := p.index[q]; ok {
			w := p.m.trained[i]
			q.Value, q.Grad = w.Value, w.Grad
			continue
		}
		if p.frozen[q] != nil {
			continue
		}
		b, err := p.m.opt.Room.Parameters(q.Len())
		if err != nil {
			return err
		}
		p.frozen[q], q.Value = &b, b.Values
		if err := p.fill(q, q.Value); err != nil {
			return err
		}
	}
	return nil
}

// Leave implements [tape.Pager].
func (p *pages) Leave(block int, back bool) error {
	for _, q := range p.blocks[block] {
		if q.Frozen() {
			p.drop(q)
		}
		q.Value, q.Grad = nil, nil
	}
	if p.pager == nil {
		return nil
	}
	return p.pager.Leave(block, back)
}

func (p *pages) drop(q *tape.Param[float32]) {
	if b := p.frozen[q]; b != nil {
		b.Release()
		delete(p.frozen, q)
	}
}

func (m *Model) pagedLoss(b *data.Batch) (float64, error) {
	if err := m.take(b, 0); err != nil {
		return 0, err
	}
	m.model.Balance = 0
	loss, err := m.model.PagedLoss(m.pages, &m.batch)
	return float64(loss), err
}

func (m *Model) pagedBackward(b *data.Batch, share float64) (float64, error) {
	if err := m.take(b, m.seed(b.Tokens)); err != nil {
		return 0, err
	}
	m.model.Balance = m.opt.Balance
	loss, err := m.model.PagedBackward(m.pages, &m.batch, float32(share))
	return float64(loss), err
}

// pagedSource returns the values of a tensor for export.
func (m *Model) pagedSource(q *tape.Param[float32]) file.TensorSource {
	s := file.TensorSource{Name: q.Name, DType: tensor.F32, Shape: q.Shape}
	if m.opt.BF16 {
		s.DType = tensor.BF16
	}
	s.Write = func(w io.Writer) (err error) {
		b, err := m.opt.Room.Parameters(q.Len())
		if err != nil {
			return err
		}
		defer b.Release()
		x := b.Values
		if i, ok := m.pages.index[q]; ok && m.pages.read != nil {
			err = m.pages.read(i, x)
		} else {
			err = m.pages.fill(q, x)
		}
		switch {
		case err != nil:
			return err
		case m.opt.BF16:
			return writeBF16(w, x)
		}
		_, err = w.Write(tensor.FromF32(q.Shape, x).Data)
		return err
	}
	return s
}
