package nested

import (
	"fmt"
	"math"

	"atenia/grad"
)

// A Reader runs a model over one stream of tokens while its memory keeps
// learning. Chunks are cut as in training, and a full chunk is written to
// memory before the next token. An incomplete chunk is recomputed from the
// memory before it, so that logits are bitwise those of a pass over the whole
// chunk, however the tokens arrive. [Model.NewReader] makes one.
type Reader[F Float] struct {
	model     *Model[F]
	runner    *Runner[F]
	ctx       *Context[F]
	conductor *Conductor
	phase     Phase
	pending   []int32 // the incomplete chunk; a full one waits for the next token
	last      []F     // logits after the last token
	dirty     bool    // last is out of date
}

// NewReader returns a reader at the start of a document, in phase [Test] or
// [Stream].
func (m *Model[F]) NewReader(phase Phase, p *grad.Threads) (*Reader[F], error) {
	if phase == Build {
		return nil, fmt.Errorf("%w: a reader does not train; use NewBuilder", ErrInput)
	}
	r, err := m.NewRunner(false, p)
	if err != nil {
		return nil, err
	}
	c, err := NewConductor(m.cfg.Periods...)
	if err != nil {
		return nil, err
	}
	return &Reader[F]{model: m, runner: r, ctx: m.NewContext(), conductor: c, phase: phase,
		pending: make([]int32, 0, m.cfg.Chunk), last: make([]F, m.cfg.Vocab)}, nil
}

// Reset starts a new document. The step count continues.
func (s *Reader[F]) Reset() {
	s.ctx.Reset()
	s.pending = s.pending[:0]
}

// Step returns the number of chunks written to memory.
func (s *Reader[F]) Step() int64 { return s.conductor.Step() }

// Context returns the memory before the incomplete chunk.
func (s *Reader[F]) Context() *Context[F] { return s.ctx }

// Read reads tokens.
func (s *Reader[F]) Read(ids ...int32) error {
	_, _, err := s.read(ids, false)
	return err
}

// Score reads tokens and returns the sum of their surprisal, −log p in nats,
// and the number of tokens it is a sum over: the first token of a document has
// no prediction. exp(sum/count) is the perplexity.
func (s *Reader[F]) Score(ids ...int32) (sum float64, count int, err error) {
	return s.read(ids, true)
}

// Logits returns the prediction after the tokens so far, one number per token
// of the vocabulary, valid until the next call. Before the first token of a
// document it is an error.
func (s *Reader[F]) Logits() ([]F, error) {
	if len(s.pending) == 0 {
		return nil, fmt.Errorf("%w: nothing has been read", ErrInput)
	}
	if s.dirty {
		if err := s.pass(); err != nil {
			return nil, err
		}
		s.keepLast()
	}
	return s.last, nil
}

// read cuts ids into chunks. Only scoring needs a pass over an incomplete
// chunk.
func (s *Reader[F]) read(ids []int32, score bool) (sum float64, count int, err error) {
	if err := s.check(ids); err != nil {
		return 0, 0, err
	}
	for len(ids) > 0 {
		first := true // of the document
		if len(s.pending) > 0 {
			first = false
			if score {
				if _, err := s.Logits(); err != nil {
					return 0, 0, err
				}
			}
		}
		if len(s.pending) == s.model.cfg.Chunk {
			if err := s.write(); err != nil {
				return 0, 0, err
			}
		}
		had := len(s.pending)
		n := min(len(ids), s.model.cfg.Chunk-had)
		s.pending = append(s.pending, ids[:n]...)
		s.dirty = true
		if score {
			if !first {
				sum += surprise(s.last, ids[0])
				count++
			}
			if err := s.pass(); err != nil {
				return 0, 0, err
			}
			for i := had; i < had+n-1; i++ {
				sum += surprise(s.row(i), s.pending[i+1])
				count++
			}
			s.keepLast()
		}
		ids = ids[n:]
	}
	return sum, count, nil
}

// check rejects tokens outside the vocabulary.
func (s *Reader[F]) check(ids []int32) error {
	for _, id := range ids {
		if id < 0 || int(id) >= s.model.cfg.Vocab {
			return fmt.Errorf("%w: token %d is not in a vocabulary of %d", ErrInput, id, s.model.cfg.Vocab)
		}
	}
	return nil
}

// write updates memory with the full chunk.
func (s *Reader[F]) write() error {
	// The pass that computed the logits may have been of this very chunk, but
	// only its runner knows; recomputing it gives the same bits.
	if err := s.pass(); err != nil {
		return err
	}
	s.runner.Commit()
	s.conductor.Advance()
	s.pending = s.pending[:0]
	return nil
}

// pass computes the pending chunk.
func (s *Reader[F]) pass() error {
	_, err := s.runner.Forward(s.conductor.Pulse(s.phase), s.ctx, s.pending, nil, nil)
	return err
}

func (s *Reader[F]) row(i int) []F {
	v := s.runner.tape.Value(s.runner.trace.Logits)
	return v[i*s.model.cfg.Vocab:][:s.model.cfg.Vocab]
}

func (s *Reader[F]) keepLast() {
	copy(s.last, s.row(len(s.pending)-1))
	s.dirty = false
}

// surprise returns −log softmax(logits)[id].
func surprise[F Float](logits []F, id int32) float64 {
	top := logits[0]
	for _, x := range logits {
		top = max(top, x)
	}
	var sum float64
	for _, x := range logits {
		sum += math.Exp(float64(x - top))
	}
	return math.Log(sum) - float64(logits[id]-top)
}
