package exec

import (
	"fmt"

	"atenia/internal/kernel"
	"atenia/tensor"
)

// bank binds one matrix of every expert, which reads rows kept in from.
func (b *Bind) bank(m *moe, k *bank, slot string, from *rowsOf) error {
	name := b.WeightName(slot)
	k.name = name
	at, cached := b.x.cfg.Stream.Banks[name]
	if cached != (m.cache != nil) && slot != bankSlots[0] || cached && m.cache != nil && at.Layer != m.layer {
		return b.WeightErrorf(slot, "the matrices of an expert are not in one place")
	}
	d, err := b.bankType(m, k, slot, from, at, cached)
	if err != nil {
		return err
	}
	if f := kernel.FormOf(d); f != kernel.FormF32 && !b.x.cfg.Precise {
		k.form, from.form = f, f
	}
	return nil
}

// bankType binds the bytes of a bank and returns their type.
func (b *Bind) bankType(m *moe, k *bank, slot string, from *rowsOf, at Bank, cached bool) (tensor.DType, error) {
	rows, name := m.experts*k.outs, b.WeightName(slot)
	apart := b.x.cfg.Stream.Apart[name]
	if !cached && apart == nil {
		w, err := b.matrix(slot, rows, from.cols)
		if err != nil {
			return 0, err
		}
		k.w = b.x.weights.Add(name, *w)
		return w.DType, nil
	}
	v, _, err := b.Weight(slot)
	switch want := (tensor.Shape{rows, from.cols}); {
	case err != nil:
		return 0, err
	case !v.Shape.Equal(want):
		return 0, b.WeightErrorf(slot, "shape %v, want %v", v.Shape, want)
	case !kernel.Supports(v.DType):
		return 0, b.WeightErrorf(slot, "no kernel for element type %s", v.DType)
	case !cached && len(apart) != m.experts:
		return 0, b.WeightErrorf(slot, "%d matrices apart for %d experts", len(apart), m.experts)
	case at.Part >= len(b.x.acquired):
		return 0, b.WeightErrorf(slot, "an expert has no part %d", at.Part)
	}
	if !cached {
		for e := range apart {
			k.by = append(k.by, b.x.weights.Add(fmt.Sprint(name, ".", e), kernel.Matrix{DType: v.DType, Rows: k.outs, Cols: from.cols, Data: apart[e].Data}))
		}
		return v.DType, nil
	}
	m.cache, m.layer, k.part = b.x.cfg.Stream.Experts, at.Layer, at.Part
	k.view = kernel.Matrix{DType: v.DType, Rows: k.outs, Cols: from.cols}
	if all := &b.x.acquired[at.Part]; len(*all) < m.experts {
		*all = make([]kernel.Matrix, m.experts)
	}
	return v.DType, nil
}

// fetch starts to read the chosen experts of a cache, and puts those that are in
// memory first.
func (m *moe) fetch(rows int) {
	if m.cache == nil {
		return
	}
	if m.cache.Whole() {
		for e, n := range m.count {
			if n == 0 {
				m.active = append(m.active, int32(e))
			}
		}
	}
	m.cache.Use(m.layer, m.active, len(m.active) > max(m.best, m.cache.Share()))
}

// waves computes the active experts, as many at a time as are in memory.
func (m *moe) waves() error {
	if m.cache == nil {
		m.wave = m.active
		m.compute()
		return nil
	}
	for left := m.active; len(left) > 0; left = left[len(m.wave):] {
		n, err := m.cache.Acquire()
		if err != nil {
			return err
		}
		m.wave = left[:n]
		for _, e := range m.wave {
			for _, k := range []*bank{&m.gate, &m.up, &m.down} {
				w := &m.x.acquired[k.part][e]
				*w = k.view
				w.Data = m.cache.Bytes(m.layer, int(e), k.part)
			}
		}
		m.compute()
		m.cache.Release()
	}
	return nil
}
