package planned

import (
	"atenia/internal/model/lora"
	"atenia/internal/tape"
	"atenia/tensor"
)

// Matrices returns the shapes of the tensors that can get a low-rank pair.
func (m *Model) Matrices() map[string]tensor.Shape {
	shapes := map[string]tensor.Shape{}
	for _, p := range m.params.All() {
		if len(p.Shape) == 2 {
			shapes[p.Name] = p.Shape
		}
	}
	return shapes
}

// Attach freezes all parameters and trains the pairs of an adapter instead, in
// place.
func (m *Model) Attach(a *lora.Adapter) error {
	m.params.Train(func(*tape.Param[float32]) bool { return false })
	half := func(name string, values []float32, shape ...int) *tape.Param[float32] {
		return &tape.Param[float32]{Name: name, Shape: shape, Value: values, Grad: make([]float32, len(values))}
	}
	for i := range a.Pairs {
		p := &a.Pairs[i]
		pair := tape.LoRA[float32]{
			A: half(p.AName(), p.A, p.Rank, p.In), B: half(p.BName(), p.B, p.Out, p.Rank), Scale: p.Scale, Dropout: a.Dropout,
		}
		if err := m.params.Attach(p.Tensor(), pair); err != nil {
			return err
		}
	}
	m.dropout = a.Dropout > 0
	return m.bind()
}

// seed returns the dropout seed of a batch. It depends on the batch alone, so
// that a resumed run drops the same values.
func (m *Model) seed(tokens []int32) uint64 {
	if !m.dropout {
		return 0
	}
	h := uint64(len(tokens))
	for _, id := range tokens {
		h = (h ^ uint64(uint32(id))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h | 1
}
