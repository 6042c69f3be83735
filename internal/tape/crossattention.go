package tape

import (
	"fmt"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// A crossAttention is bound attention to the rows of an encoder, which are
// constants: all rows of a document see all of its source, without positions.
type crossAttention[F Float] struct {
	m            *Model[F]
	in, reg      plan.RegisterRef
	heads        dense.Heads[F]
	q, k, v, out linear[F]
	rows         int // of a source
}

func bindCrossAttention[F Float](b *Bind[F], p *plan.AttentionParams) (recorder[F], error) {
	if _, err := p.QueriesPerKey(); err != nil {
		return nil, err
	}
	a := &crossAttention[F]{
		m: b.m, in: b.In[0], reg: b.Out[0], rows: int(p.Window),
		heads: dense.Heads[F]{Q: int(p.Heads), KV: int(p.KVHeads), Dim: int(p.HeadDim), Scale: exact[F](p.Scale)},
	}
	width, qd, kd := b.cols(a.in), a.heads.Q*a.heads.Dim, a.heads.KV*a.heads.Dim
	b.m.heard = [2]int{a.rows, width}
	for _, l := range []struct {
		to         *linear[F]
		slot, bias string
		in, out    int
	}{{&a.q, "q", "q_bias", width, qd}, {&a.k, "k", "k_bias", width, kd}, {&a.v, "v", "v_bias", width, kd}, {&a.out, "o", "o_bias", qd, b.cols(a.reg)}} {
		var err error
		if *l.to, err = b.linear(l.slot, l.bias, l.in, l.out); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// checkSources verifies the sources of a batch.
func (m *Model[F]) checkSources(b *Batch) error {
	if m.heard[0] == 0 {
		if b.Sources != nil {
			return &batchError{-1, "rows of an encoder, and the model reads text alone"}
		}
		return nil
	}
	if len(b.Sources) != len(b.Lens) {
		return &batchError{-1, fmt.Sprintf("rows of an encoder for %d documents, there are %d", len(b.Sources), len(b.Lens))}
	}
	for i, x := range b.Sources {
		if len(x) != m.heard[0]*m.heard[1] {
			return &batchError{-1, fmt.Sprintf("document %d has %d values of an encoder, want %d rows of %d", i, len(x), m.heard[0], m.heard[1])}
		}
	}
	return nil
}

// hear takes the sources of a batch.
func (s *step[F]) hear(b *Batch) {
	s.source, s.sources = s.source[:0], s.sources[:0]
	for _, x := range b.Sources {
		for _, v := range x {
			s.source = append(s.source, F(v))
		}
		s.sources = append(s.sources, s.m.heard[0])
	}
}

// seen returns the heads with the sources of this step.
func (a *crossAttention[F]) seen() dense.Heads[F] {
	h := a.heads
	h.KeyLens = a.m.step.sources
	return h
}

func (a *crossAttention[F]) record(s *step[F]) error {
	s.begin(a.in)
	for _, l := range []*linear[F]{&a.q, &a.k, &a.v, &a.out} {
		l.use(s)
	}
	rows, source := s.count(a.in), a.m.step.source
	heard := len(source) / a.k.in
	q, k, v := s.keep(rows*a.q.out), s.keep(heard*a.k.out), s.keep(heard*a.v.out)
	sums, result := s.save(rows*a.heads.Q), s.keep(rows*a.out.in)
	y := s.output(a.reg)
	if y == nil {
		return s.t.Err()
	}
	a.q.forward(s, q, s.value(a.in), rows)
	a.k.forward(s, k, source, heard)
	a.v.forward(s, v, source, heard)
	s.w.Attention(result, sums, q, k, v, s.batch.Lens, a.seen())
	a.out.forward(s, y, result, rows)
	return s.end(keyCross, a)
}

func crossBack[F Float](b *grad.OpaqueBack[F]) {
	a := b.Aux.(*crossAttention[F])
	w, scratch := dense.Of[F](b.Work()), &a.m.scratch
	scratch.reset()
	q, k, v := b.Saved(savedQ), b.Saved(savedK), b.Saved(savedV)
	sums, result := b.Saved(savedSums), b.Saved(savedResult)
	rows, source := len(sums)/a.heads.Q, a.m.step.source
	dresult := sink[F]{g: scratch.take(len(result))}
	a.out.back(b, &dresult, b.DOut(0), result, rows)
	dq, dk, dv := scratch.zeros(len(q)), scratch.zeros(len(k)), scratch.zeros(len(v))
	w.AttentionBack(dq, dk, dv, q, k, v, result, sums, dresult.g, a.m.step.batch.Lens, a.seen())
	dx := sinkOf(b, 0)
	a.q.back(b, &dx, dq, b.In(0), rows)
	a.k.back(b, &sink[F]{}, dk, source, len(source)/a.k.in)
	a.v.back(b, &sink[F]{}, dv, source, len(source)/a.v.in)
}

func (a *crossAttention[F]) need(rows int) need {
	heard := rows * a.rows // each row may be a document of its own
	if n := a.m.Documents; n > 0 {
		heard = min(n, rows) * a.rows
	}
	q, k := rows*a.q.out, heard*a.k.out
	return need{
		out: rows * a.out.out, saved: 2*q + 2*k + rows*a.heads.Q,
		scratch: 2*q + 2*k + lows(rows, &a.q, &a.out) + lows(heard, &a.k, &a.v),
	}
}
