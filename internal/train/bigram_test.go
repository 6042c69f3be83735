package train

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"atenia/internal/train/data"
)

const vocab = 11

// A bigram is a learner for tests: the next token's logits are a row of a table
// and a bias. It remembers how many batches it saw, as nested models do.
type bigram struct {
	params []*Param
	seen   uint64
	poison func(seen uint64) bool // makes the loss of a batch no number
}

func newBigram() *bigram {
	rng := rand.New(rand.NewPCG(5, 6))
	b := &bigram{}
	for _, p := range []*Param{{Name: "model.layers.0.table", Shape: []int{vocab, vocab}}, {Name: "model.bias", Shape: []int{vocab}}} {
		n := vocab
		if len(p.Shape) == 2 {
			n *= vocab
		}
		p.Value, p.Grad = make([]float32, n), make([]float32, n)
		for i := range p.Value {
			p.Value[i] = float32(rng.NormFloat64()) * 0.02
		}
		b.params = append(b.params, p)
	}
	return b
}

func (m *bigram) Params() []*Param { return m.params }

func (m *bigram) Loss(b *data.Batch) (float64, error) { return m.pass(b, 0) }

func (m *bigram) Backward(b *data.Batch, share float64) (float64, error) {
	m.seen++
	if m.poison != nil && m.poison(m.seen) {
		m.params[0].Grad[3] = float32(math.NaN())
		return math.NaN(), nil
	}
	return m.pass(b, share)
}

func (m *bigram) pass(b *data.Batch, share float64) (loss float64, err error) {
	table, bias := m.params[0], m.params[1]
	n := float64(b.Counted())
	p := make([]float64, vocab)
	for i, label := range b.Labels {
		if label == data.Ignored {
			continue
		}
		row := int(b.Tokens[i]) * vocab
		sum := 0.0
		for k := range p {
			p[k] = math.Exp(float64(table.Value[row+k]) + float64(bias.Value[k]))
			sum += p[k]
		}
		loss -= math.Log(p[label]/sum) / n
		for k := range p {
			d := p[k] / sum
			if k == int(label) {
				d--
			}
			table.Grad[row+k] += float32(share * d / n)
			bias.Grad[k] += float32(share * d / n)
		}
	}
	return loss, nil
}

// A keeper is a bigram whose number of batches is part of a snapshot.
type keeper struct{ *bigram }

func (m keeper) Save(w io.Writer) error {
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, m.seen))
	return err
}

func (m keeper) Restore(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err == nil && len(b) != 8 {
		err = errors.New("not a bigram's state")
	}
	if err == nil {
		m.seen = binary.LittleEndian.Uint64(b)
	}
	return err
}

// A stream is a source of rows in which each token mostly decides the next.
type stream struct {
	seed, at uint64
	rows     int
}

func (s *stream) Next(b *data.Batch) error {
	rng := rand.New(rand.NewPCG(s.seed, s.at))
	s.at++
	b.Tokens, b.Labels, b.Lens = b.Tokens[:0], b.Labels[:0], b.Lens[:0]
	for range s.rows {
		x := rng.Int32N(vocab)
		for i := range 12 {
			y := (x*3 + 1) % vocab
			if rng.Int32N(4) == 0 {
				y = rng.Int32N(vocab)
			}
			b.Tokens, b.Labels = append(b.Tokens, x), append(b.Labels, y)
			if i == 11 {
				b.Labels[len(b.Labels)-1] = data.Ignored
			}
			x = y
		}
		b.Lens = append(b.Lens, 12)
	}
	return nil
}

func (s *stream) Cursor() string { return strconv.FormatUint(s.at, 10) }

func (s *stream) Seek(c string) (err error) {
	if s.at = 0; c != "" {
		s.at, err = strconv.ParseUint(c, 10, 64)
	}
	return err
}
