package nested

import (
	"fmt"
	"math"

	"atenia/internal/pool"
)

// A Reader reads tokens with a model whose memory keeps learning: chunks are
// cut as in training, and a chunk that is full is written to memory before the
// next token. Between, the chunk that is still growing is computed anew from
// the memory before it, so that logits are what a pass over the whole chunk
// gives, bit for bit, however the tokens arrive.
type Reader[F Float] struct {
	model     *Model[F]
	runner    *Runner[F]
	ctx       *Context[F]
	conductor *Conductor
	phase     Phase
	pending   []int32 // the chunk that grows; full ones wait for the next token
	last      []F     // logits after the last token
	dirty     bool    // last is not of pending
}

// NewReader returns a reader at the start of a document, in phase [Test] or
// [Stream].
func (m *Model[F]) NewReader(phase Phase, p *pool.Pool) (*Reader[F], error) {
	if phase == Build {
		return nil, fmt.Errorf("%w: a reader does not build; see NewBuilder", ErrInput)
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

// Reset forgets the document. The count of steps goes on.
func (s *Reader[F]) Reset() {
	s.ctx.Reset()
	s.pending = s.pending[:0]
}

// Step returns the number of chunks written to memory.
func (s *Reader[F]) Step() int64 { return s.conductor.Step() }

// Context returns the memory before the chunk that grows.
func (s *Reader[F]) Context() *Context[F] { return s.ctx }

// Read takes tokens in.
func (s *Reader[F]) Read(ids ...int32) error {
	_, _, err := s.read(ids, false)
	return err
}

// Score takes tokens in and returns the sum of their surprise, −log p in nats,
// and the number of tokens that it is a sum over: the first token of a
// document is not predicted by anything.
func (s *Reader[F]) Score(ids ...int32) (sum float64, count int, err error) {
	return s.read(ids, true)
}

// Logits returns what the model expects after the tokens so far, one number
// for each token of the vocabulary, valid until the next call. Before the
// first token of a document it is an error.
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

// read cuts ids into chunks. Only scoring needs a pass over a chunk that does
// not fill up.
func (s *Reader[F]) read(ids []int32, score bool) (sum float64, count int, err error) {
	if err := s.check(ids); err != nil {
		return 0, 0, err
	}
	for len(ids) > 0 {
		first := true // of a document
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

// check refuses tokens that the model does not know.
func (s *Reader[F]) check(ids []int32) error {
	for _, id := range ids {
		if id < 0 || int(id) >= s.model.cfg.Vocab {
			return fmt.Errorf("%w: token %d is not in a vocabulary of %d", ErrInput, id, s.model.cfg.Vocab)
		}
	}
	return nil
}

// write lets memory learn the full chunk.
func (s *Reader[F]) write() error {
	// The pass that computed the logits may have been of this very chunk, but
	// only its runner knows; computing it again is the same bits.
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

// surprise is −log softmax(logits)[id].
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
