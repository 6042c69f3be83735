package tape

import (
	"cmp"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// headValues logits, at most, have their gradient found at a time, so that it
// never exists for all rows of a large vocabulary at once. Fewer would add to
// the gradient of the weight more often.
const headValues = 8 << 20

// A head is the bound projection to logits with the cross-entropy of the labels.
// Its register is the loss.
type head[F Float] struct {
	m          *Model[F]
	in, out    plan.RegisterRef
	logits     linear[F]
	dim, vocab int
	cap, scale F
}

func bindHead[F Float](b *Bind[F], p *plan.HeadParams) (recorder[F], error) {
	h := &head[F]{m: b.m, in: b.In[0], out: b.Out[0], dim: int(p.Dim), vocab: int(p.Vocab), cap: exact[F](p.Softcap), scale: exact[F](p.Scale)}
	if h.out != b.m.plan.Outputs[0] {
		return nil, plan.Errorf(plan.ErrInvalidPlan, plan.Whole, "the logits of a head are not the plan's output")
	}
	var err error
	h.logits, err = b.linear("weight", "bias", h.dim, h.vocab)
	return h, err
}

func (h *head[F]) record(s *step[F]) error {
	s.begin(h.in)
	h.logits.use(s)
	rows := s.count(h.in)
	s.regs[h.out] = s.t.Alloc()
	s.out = append(s.out, s.regs[h.out])
	logits, sums := s.keep(rows*h.vocab), s.keep(rows)
	loss := s.t.Data(s.regs[h.out])
	if loss == nil {
		return s.t.Err()
	}
	loss[0] = 0
	if rows > 0 {
		h.logits.forward(s, logits, s.value(h.in), rows)
		scaleBy(logits, h.scale)
		if h.cap != 0 {
			dense.Softcap(logits, logits, h.cap)
		}
		sum, counted := s.w.CrossEntropy(sums, logits, s.labels, rows, h.vocab)
		loss[0] = F(sum / h.total(s.batch, counted))
	}
	return s.end(keyHead, h)
}

// total returns the divisor of the sum of losses.
func (h *head[F]) total(b *Batch, counted int) float64 {
	if b.Count > 0 {
		counted = b.Count
	}
	return float64(max(1, counted))
}

// headRows returns how many rows have the gradient of their logits found at a time.
func (m *Model[F]) headRows(vocab int) int { return max(1, cmp.Or(m.headMost, headValues)/vocab) }

func headBack[F Float](b *grad.OpaqueBack[F]) {
	h := b.Aux.(*head[F])
	w, scratch, s := dense.Of[F](b.Work()), &h.m.scratch, &h.m.step
	logits, sums, x := b.Saved(0), b.Saved(1), b.In(0)
	each := b.DOut(0)[0] / F(h.total(s.batch, s.batch.Counted()))
	dx := sinkOf(b, 0)
	if len(sums) == 0 {
		dx.sum()
		return
	}
	most := h.m.headRows(h.vocab)
	for lo := 0; lo < len(sums); lo += most {
		rows := min(most, len(sums)-lo)
		scratch.reset()
		part := logits[lo*h.vocab : (lo+rows)*h.vocab]
		d := scratch.zeros(len(part))
		w.CrossEntropyBack(d, part, sums[lo:lo+rows], s.labels[lo:lo+rows], rows, h.vocab, each)
		if h.cap != 0 {
			capped := scratch.zeros(len(part))
			dense.SoftcapBack(capped, part, d, h.cap)
			d = capped
		}
		scaleBy(d, h.scale)
		piece := sink[F]{add: dx.add}
		if dx.g != nil {
			piece.g = dx.g[lo*h.dim : (lo+rows)*h.dim]
		}
		h.logits.back(b, &piece, d, x[lo*h.dim:(lo+rows)*h.dim], rows)
	}
}
