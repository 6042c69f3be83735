package train

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"atenia/grad"
	"atenia/internal/model/file"
	"atenia/internal/store/durable"
	"atenia/internal/train/data"
	"atenia/nested"
	"atenia/tensor"
)

// NestedType is the architecture of a recipe for a [Nested].
const NestedType = nested.ModelType

// A Nested is a nested model with lanes for training. It must be used by one
// goroutine at a time.
type Nested struct {
	model   *nested.Model[float32]
	builder *nested.Builder[float32]
	score   *nested.Runner[float32] // for losses without gradients
	ctx     *nested.Context[float32]
	lanes   int
	chunks  []nested.Chunk
	held    []bool
}

// NewNested creates a model with parameters drawn from the configuration's seed, and
// the given number of lanes, the maximum number of rows in a batch.
func NewNested(c nested.Config, lanes int, p *grad.Threads) (*Nested, error) {
	m := &Nested{lanes: lanes, chunks: make([]nested.Chunk, lanes)}
	var err error
	if m.model, err = nested.New[float32](c); err != nil {
		return nil, err
	}
	if m.builder, err = m.model.NewBuilder(nested.BuildConfig{Lanes: lanes, Threads: p}); err != nil {
		return nil, err
	}
	if m.score, err = m.model.NewRunner(false, p); err != nil {
		return nil, err
	}
	m.ctx = m.model.NewContext()
	m.held = make([]bool, len(m.model.Params()))
	return m, nil
}

// Params implements [Learner].
func (m *Nested) Params() []*Param { return m.model.Params() }

// Size returns the number of values in all parameters, and how many of them are
// trained.
func (m *Nested) Size() (all, trained int) {
	for _, p := range m.model.Params() {
		all += len(p.Value)
	}
	return all, all
}

// filler is the chunk of a lane without a row, or whose row has ended.
var filler = nested.Chunk{IDs: []int32{0}, Targets: []int32{data.Ignored}, Reset: true}

// Backward implements [Learner]. The chunks at the same position of all
// rows form one step of the model's conductor.
func (m *Nested) Backward(b *data.Batch, share float64) (loss float64, err error) {
	if len(b.Lens) > m.lanes {
		return 0, fmt.Errorf("%w: a batch of %d rows for %d lanes", ErrConfig, len(b.Lens), m.lanes)
	}
	params := m.model.Params()
	for i := range m.held {
		m.held[i] = true
	}
	counted := count(b.Labels)
	size := m.model.Config().Chunk
	for at := 0; ; at += size {
		n, more := m.cut(b, at, size)
		if !more {
			break
		}
		part := float64(n) / float64(max(1, counted))
		if err := m.builder.Gradients(m.chunks, part*share); err != nil {
			return 0, err
		}
		loss += part * m.builder.Report().Loss
		for i, p := range params {
			m.held[i] = m.held[i] && p.Hold
		}
	}
	for i, p := range params {
		p.Hold = m.held[i]
	}
	return loss, nil
}

// cut returns a chunk for each lane, starting at position at of its row, the
// number of counted targets, and whether any row extends that far.
func (m *Nested) cut(b *data.Batch, at, size int) (counted int, more bool) {
	from := 0
	for i := range m.chunks {
		m.chunks[i] = filler
		if i >= len(b.Lens) {
			continue
		}
		if n := b.Lens[i]; at < n {
			lo, hi := from+at, from+min(at+size, n)
			m.chunks[i] = nested.Chunk{IDs: b.Tokens[lo:hi], Targets: b.Labels[lo:hi], Reset: at == 0}
			counted += count(b.Labels[lo:hi])
			more = true
		}
		from += b.Lens[i]
	}
	return counted, more
}

func count(labels []int32) (n int) {
	for _, l := range labels {
		if l != data.Ignored {
			n++
		}
	}
	return n
}

// Loss implements [Learner]. Each row has a memory of its own, which every
// level writes as in the first steps.
func (m *Nested) Loss(b *data.Batch) (loss float64, err error) {
	counted, from := count(b.Labels), 0
	size := m.model.Config().Chunk
	for _, n := range b.Lens {
		m.ctx.Reset()
		conductor, err := nested.NewConductor(m.model.Config().Periods...)
		if err != nil {
			return 0, err
		}
		for at := 0; at < n; at += size {
			lo, hi := from+at, from+min(at+size, n)
			k := count(b.Labels[lo:hi])
			if _, err := m.score.Forward(conductor.Pulse(nested.Test), m.ctx, b.Tokens[lo:hi], b.Labels[lo:hi], nil); err != nil {
				return 0, err
			}
			if k > 0 {
				loss += m.score.Loss() * float64(k) / float64(counted)
			}
			m.score.Commit()
			conductor.Advance()
		}
		from += n
	}
	return loss, nil
}

// Save implements [stateKeeper]: it writes lanes, error buffers and the number
// of steps.
func (m *Nested) Save(w io.Writer) error { return m.builder.Progress(w) }

// Restore implements [stateKeeper].
func (m *Nested) Restore(r io.Reader) error {
	_, err := m.builder.Restore(r)
	return err
}

// Export implements [Exporter]: it writes config.json and
// model.safetensors.
func (m *Nested) Export(fsys durable.FS, dir string) error {
	var sources []file.TensorSource
	for _, p := range m.model.Params() {
		sources = append(sources, file.SourceOf(p.Name, tensor.FromF32(p.Shape, p.Value)))
	}
	if err := file.WriteWeights(fsys, dir, map[string]string{"format": "pt"}, sources); err != nil {
		return err
	}
	b, err := json.MarshalIndent(struct {
		Type string `json:"model_type"`
		nested.Config
	}{nested.ModelType, m.model.Config()}, "", "  ")
	if err != nil {
		return err
	}
	return durable.ReplaceIn(durable.Default(fsys), filepath.Join(dir, "config.json"), func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}
