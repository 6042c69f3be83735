package tape

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/internal/plan"
)

// Temperature divides the cosines of a contrast unless a batch says otherwise: that of
// sentence-transformers' MultipleNegativesRankingLoss.
const Temperature = 0.05

// An objective is what an encoder learns: the last instruction of its plan, followed by
// the loss of the vectors or scores that it makes, which takes the place of its output.
//
//	Batch.Answers   contrast: the answer of a query among all documents that are no queries,
//	                by cosine / Temperature (InfoNCE, arXiv 1807.03748)
//	Batch.Targets   one score: cross-entropy of its logistic function, for a target from 0
//	                to 1; several: cross-entropy, the target is a label
type objective[F Float] struct {
	m    *Model[F]
	last recorder[F]
	out  plan.RegisterRef
	dim  int
	ends bool // a document's vector is that of its last row; else of its first
	met  int  // goals of the last batch that the model's answer is right for
}

// check verifies what the documents of an encoder's batch are to become.
func (o *objective[F]) check(b *Batch) error {
	bad := func(format string, args ...any) error { return &batchError{-1, fmt.Sprintf(format, args...)} }
	labels := o.m.compiled.Config.Encoder.Labels
	switch n := len(b.Lens); {
	case labels > 0 && len(b.Targets) != n:
		return bad("targets for %d documents, there are %d", len(b.Targets), n)
	case labels == 0 && len(b.Answers) != n:
		return bad("answers for %d documents, there are %d", len(b.Answers), n)
	}
	for i, x := range b.Targets {
		if labels == 0 || labels == 1 && !(x >= 0 && x <= 1) || labels > 1 && !(x >= 0 && int(x) < labels && x == float32(int(x))) {
			return bad("document %d has target %v, the model has %d labels", i, x, labels)
		}
	}
	for i, a := range b.Answers {
		if labels > 0 || int(a) >= len(b.Lens) || a >= 0 && b.Answers[a] >= 0 {
			return bad("document %d is answered by %d, which is a query, or is none of %d, or the model is a classifier", i, a, len(b.Lens))
		}
	}
	if !(b.Temperature >= 0) {
		return bad("a temperature of %v", b.Temperature)
	}
	return nil
}

// goals is how many losses a batch has.
func (b *Batch) goals() int {
	if b.Targets != nil {
		return len(b.Targets)
	}
	n := 0
	for _, a := range b.Answers {
		if a >= 0 {
			n++
		}
	}
	return n
}

// rows chooses a row of each document.
func (o *objective[F]) rows(s *step[F]) {
	s.rows, s.labels = s.rows[:0], s.labels[:0]
	at := 0
	for _, n := range s.batch.Lens {
		if s.rows = append(s.rows, int32(at)); o.ends {
			s.rows[len(s.rows)-1] = int32(at + n - 1)
		}
		at += n
	}
}

func (o *objective[F]) record(s *step[F]) error {
	if err := o.last.record(s); err != nil {
		return err
	}
	s.begin(o.out)
	x := s.value(o.out)
	docs := len(s.batch.Lens)
	loss := s.t.Alloc()
	s.regs[o.out], s.out = loss, append(s.out, loss)
	units, lengths, probs := s.keep(docs*o.dim), s.keep(docs), s.keep(docs*max(docs, o.dim))
	v := s.t.Data(loss)
	if v == nil {
		return s.t.Err()
	}
	sum := 0.0
	o.met = 0
	if s.batch.Targets != nil {
		sum = o.scores(s.batch, probs, x)
	} else {
		for i := range docs {
			u := units[i*o.dim : (i+1)*o.dim]
			copy(u, x[i*o.dim:])
			lengths[i] = F(length(u))
			scaleBy(u, 1/lengths[i])
		}
		sum = o.contrast(s.batch, probs, units)
	}
	v[0] = F(sum / o.total(s.batch))
	return s.end(keyObjective, o)
}

func (o *objective[F]) meet(is bool) {
	if is {
		o.met++
	}
}

// total returns the divisor of the sum of losses.
func (o *objective[F]) total(b *Batch) float64 {
	if b.Count > 0 {
		return float64(b.Count)
	}
	return float64(max(1, b.goals()))
}

func temperature(b *Batch) float64 {
	if b.Temperature == 0 {
		return Temperature
	}
	return b.Temperature
}

// contrast returns the sum of the queries' losses, and writes the gradient of each
// cosine over the temperature, [query, document].
func (o *objective[F]) contrast(b *Batch, d, units []F) (sum float64) {
	docs := len(b.Lens)
	clear(d)
	for q, answer := range b.Answers {
		if answer < 0 {
			continue
		}
		row, top := d[q*docs:(q+1)*docs], math.Inf(-1)
		for j := range row {
			if b.Answers[j] < 0 {
				row[j] = F(float64(dense.Dot(units[q*o.dim:(q+1)*o.dim], units[j*o.dim:(j+1)*o.dim])) / temperature(b))
				top = max(top, float64(row[j]))
			}
		}
		all, right, first := 0.0, float64(row[answer]), true
		for j := range row {
			if b.Answers[j] < 0 {
				all += math.Exp(float64(row[j]) - top)
				first = first && (j == int(answer) || row[j] < row[answer])
			}
		}
		o.meet(first)
		for j := range row {
			if b.Answers[j] < 0 {
				row[j] = F(math.Exp(float64(row[j])-top) / all)
			}
		}
		row[answer]--
		sum += top + math.Log(all) - right
	}
	return sum
}

// scores returns the sum of a classifier's losses, and writes the gradient of each
// score, [document, label].
func (o *objective[F]) scores(b *Batch, d, x []F) (sum float64) {
	for i, target := range b.Targets {
		if o.dim == 1 {
			z, t := float64(x[i]), float64(target)
			sum += max(z, 0) - z*t + math.Log1p(math.Exp(-math.Abs(z)))
			d[i] = F(1/(1+math.Exp(-z)) - t)
			o.meet((z > 0) == (t > 0.5))
			continue
		}
		row, top, all := x[i*o.dim:(i+1)*o.dim], math.Inf(-1), 0.0
		for _, v := range row {
			top = max(top, float64(v))
		}
		o.meet(float64(row[int(target)]) == top)
		for _, v := range row {
			all += math.Exp(float64(v) - top)
		}
		for j, v := range row {
			d[i*o.dim+j] = F(math.Exp(float64(v)-top) / all)
		}
		d[i*o.dim+int(target)]--
		sum += top + math.Log(all) - float64(row[int(target)])
	}
	return sum
}

func objectiveBack[F Float](b *grad.OpaqueBack[F]) {
	o := b.Aux.(*objective[F])
	batch, dx := o.m.step.batch, b.DIn(0)
	if dx == nil {
		return
	}
	units, lengths, d := b.Saved(0), b.Saved(1), b.Saved(2)
	each := b.DOut(0)[0] / F(o.total(batch))
	if batch.Targets != nil {
		dense.Axpy(dx, each, d[:len(dx)])
		return
	}
	o.m.scratch.reset()
	docs, du, one := len(lengths), o.m.scratch.zeros(len(units)), o.m.scratch.take(o.dim)
	each /= F(temperature(batch))
	for q := range docs {
		for j, g := range d[q*docs:][:docs] {
			if g != 0 {
				dense.Axpy(du[q*o.dim:(q+1)*o.dim], each*g, units[j*o.dim:(j+1)*o.dim])
				dense.Axpy(du[j*o.dim:(j+1)*o.dim], each*g, units[q*o.dim:(q+1)*o.dim])
			}
		}
	}
	for i := range docs {
		unitBack(one, units[i*o.dim:(i+1)*o.dim], du[i*o.dim:(i+1)*o.dim], lengths[i])
		add(dx[i*o.dim:(i+1)*o.dim], one)
	}
}
