package fit

import (
	"errors"
	"path/filepath"

	"atenia/internal/model/file"
	"atenia/internal/model/lora"
	"atenia/internal/store/durable"
	"atenia/internal/tape"
	"atenia/tensor"
)

// mergedFolder is the folder of the merged model, in that of the adapter.
const mergedFolder = "merged"

// An Adapted model trains the low-rank pairs of an adapter and exports these.
type adapted struct {
	*Model
	adapter *lora.Adapter
	merge   bool
}

// adapt freezes a model and attaches the pairs of a new adapter to it. With merge,
// exporting writes the merged model, too.
func adapt(m *Model, c lora.Config, seed uint64, merge bool) (*adapted, error) {
	matrices, turned := m.matrices()
	if c.Turned = turned; m.compiled.Config.Encoder != nil {
		c.Task = "FEATURE_EXTRACTION"
	}
	a, err := lora.New(c, matrices, seed)
	if err != nil {
		return nil, err
	}
	return &adapted{m, a, merge}, m.attach(a)
}

// Base returns the folder of the model that is adapted.
func (m *adapted) Base() string { return m.adapter.Base }

// Merged returns the folder of the merged model in that of the adapter, "" if it
// is not written.
func (m *adapted) Merged(dir string) string {
	if !m.merge {
		return ""
	}
	return filepath.Join(dir, mergedFolder)
}

// MergedBytes returns what the tensors of the merged model take on a disk, 0 if it is not
// written.
func (m *adapted) MergedBytes() (n int64, err error) {
	if !m.merge {
		return 0, nil
	}
	d, err := file.Open(m.Base())
	if err != nil {
		return 0, err
	}
	for i := range d.Tensors {
		n += int64(len(d.Tensors[i].View.Data))
	}
	return n, d.Close()
}

// Export writes the adapter and, if that was asked for, the merged model.
func (m *adapted) Export(fsys durable.FS, dir string) (err error) {
	if err := m.adapter.Write(fsys, dir); err != nil || !m.merge {
		return err
	}
	d, err := file.Open(m.Base())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return m.adapter.Merge(fsys, d, m.Merged(dir))
}

// matrices returns the shapes [out, in] of the tensors that can get a low-rank
// pair, and whether the file has them with a row for each input. If it has some
// so, it has all: embeddings, which are not, get no pair.
func (m *Model) matrices() (shapes map[string]tensor.Shape, turned bool) {
	shapes = map[string]tensor.Shape{}
	for _, p := range m.params.All() {
		turned = turned || p.Turned
	}
	for _, p := range m.params.All() {
		switch {
		case len(p.Shape) != 2 || p.Turned != turned:
		case turned:
			shapes[p.Name] = tensor.Shape{p.Shape[1], p.Shape[0]}
		default:
			shapes[p.Name] = p.Shape
		}
	}
	return shapes, turned
}

// attach freezes all parameters and trains the pairs of an adapter instead, in
// place.
func (m *Model) attach(a *lora.Adapter) error {
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
