package data

// Examples that encoders learn from: a query, the text that answers it and others that
// do not; or a text, or a pair of texts, with a label.

import (
	"atenia/internal/text/token"
	"context"
	"fmt"
	"math"
	"slices"
)

// A pairing makes examples for one encoder.
type pairing struct {
	text            *token.Tokenizer
	labels          int  // of a classifier; 0 = texts become vectors
	typed           bool // the model tells the texts of a pair apart
	limit           int  // tokens of a text, or of a pair that a classifier reads at once
	query, document string
	longest, texts  int // tokens and texts of the largest example
	ids, types      []int32
}

// openPairs returns how the model in a folder reads examples, nil for one that is no
// encoder. A text has at most row tokens.
func openPairs(dir string, t *token.Tokenizer, row int) (*pairing, error) {
	e, most, err := openEncoder(dir)
	if err != nil || e == nil {
		return nil, err
	}
	p := &pairing{text: t, labels: e.Labels, typed: e.Types > 1, limit: row}
	if most > 0 {
		p.limit = min(row, most)
	}
	if e.Labels == 0 {
		p.query, p.document = e.Before("query"), e.Before("document", "passage", "corpus")
	}
	return p, nil
}

// wants says which lines the model learns from.
func (p *pairing) wants() string {
	switch p.labels {
	case 0:
		return "the model makes vectors: want {\"query\": …, \"positive\": …} and perhaps \"negatives\": […]"
	case 1:
		return "the model gives pairs of texts a score: want {\"query\": …, \"document\": …, \"label\": 0 to 1}"
	}
	return fmt.Sprintf("the model tells %d labels apart: want {\"text\": …, \"label\": 0 to %d}, or \"query\" and \"document\" in place of the text", p.labels, p.labels-1)
}

// An example in the store is
//
//	1 + number of texts   target of a classifier, as the bits of a float32   tokens of each text   tokens   their types
//
// with the query as the first text, and types of classifiers that read them alone.
const exampleHead = 2

// example appends an example to dst. cut reports whether a text was longer than the
// limit.
func (p *pairing) example(ctx context.Context, dst []int32, d *token.Document) (out []int32, cut bool, err error) {
	x := d.Pair
	if x == nil || x.Labelled != (p.labels > 0) {
		return nil, false, fmt.Errorf("%w: %s", errConfig, p.wants())
	}
	p.ids, p.types = p.ids[:0], p.types[:0]
	add := func(texts ...string) error {
		fit, err := p.text.EncodeWithin(ctx, p.limit, texts...)
		if err != nil {
			return err
		}
		switch cut = cut || fit.Cut > 0; {
		case len(fit.IDs) == 0:
			return fmt.Errorf("%w: a text without tokens", errConfig)
		case len(fit.IDs) > p.limit:
			return fmt.Errorf("%w: %d tokens have no room for a text with its special tokens", errConfig, p.limit)
		}
		dst = append(dst, int32(len(fit.IDs)))
		if p.ids = append(p.ids, fit.IDs...); p.typed {
			p.types = append(p.types, fit.Types...)
		}
		return nil
	}
	if p.labels > 0 {
		if !(x.Label >= 0 && x.Label <= float64(max(1, p.labels-1))) || p.labels > 1 && x.Label != math.Trunc(x.Label) {
			return nil, false, fmt.Errorf("%w: label %v: %s", errConfig, x.Label, p.wants())
		}
		dst = append(dst, 1, int32(math.Float32bits(float32(x.Label))))
		err = add(x.All()...)
		dst = append(append(dst, p.ids...), p.types...)
	} else {
		dst = append(dst, int32(1+len(x.Texts)), 0)
		err = add(p.query + x.Query)
		for i := 0; i < len(x.Texts) && err == nil; i++ {
			err = add(p.document + x.Texts[i])
		}
		dst = append(dst, p.ids...)
	}
	p.longest, p.texts = max(p.longest, len(p.ids)), max(p.texts, 1+len(x.Texts))
	return dst, cut, err
}

// tokens returns how many tokens an example in the store has.
func tokens(example []int32) (n int) {
	for _, m := range example[exampleHead : exampleHead+example[0]] {
		n += int(m)
	}
	return n
}

// finishPair ends an example, whose tokens the store has.
func (s *Set) finishPair(n int, cut bool) {
	if cut && s.cfg.Long == drop {
		s.sum.Empty++
		s.store.truncate(s.starts[len(s.starts)-1])
		return
	}
	s.starts = append(s.starts, s.store.size)
	s.sum.Documents++
	s.sum.Tokens += int64(n)
	if cut {
		s.sum.Long++
	}
}

// nextPairs fills b with the next examples of an epoch.
func (r *Source) nextPairs(b *Batch) error {
	for n := range r.set.cfg.Rows {
		if r.place == r.count() {
			if n > 0 {
				return nil // an example must not occur twice in a batch
			}
			r.begin(r.epoch+1, 0)
		}
		u := r.unit(r.place)
		r.place++
		u.to++ // of texts, whose last token predicts nothing, a unit leaves that out
		r.ids = slices.Grow(r.ids[:0], int(u.to-u.from))[:u.to-u.from]
		if err := r.set.store.read(r.ids, u.from); err != nil {
			return err
		}
		r.set.pairs.take(b, r.ids)
	}
	return nil
}

// take adds an example to a batch. A document that the batch has already is not added
// again: its answer to one query would else count as wrong for another.
func (p *pairing) take(b *Batch, example []int32) {
	texts := int(example[0])
	lens := example[exampleHead : exampleHead+texts]
	ids := example[exampleHead+texts:]
	query := len(b.Lens)
	if p.labels > 0 {
		b.text(ids[:lens[0]])
		b.Types = append(b.Types, ids[lens[0]:]...)
		b.Targets = append(b.Targets, math.Float32frombits(uint32(example[1])))
		return
	}
	b.text(ids[:lens[0]])
	b.Answers = append(b.Answers, 0) // not negative, as those of documents are
	for i, n := range lens[1:] {
		ids = ids[lens[i]:]
		at := b.document(ids[:n])
		if i == 0 {
			b.Answers[query] = int32(at)
		}
		if at == len(b.Lens) {
			b.text(ids[:n])
			b.Answers = append(b.Answers, -1)
		}
	}
}

// text adds a text.
func (b *Batch) text(ids []int32) {
	b.Tokens, b.Lens = append(b.Tokens, ids...), append(b.Lens, len(ids))
	for range ids {
		b.Labels = append(b.Labels, Ignored)
	}
}

// document returns the place of an equal document, or that of the next one.
func (b *Batch) document(ids []int32) int {
	first := 0
	for i, n := range b.Lens {
		if b.Answers[i] < 0 && slices.Equal(b.Tokens[first:first+n], ids) {
			return i
		}
		first += n
	}
	return len(b.Lens)
}

// Goals says what a model learns: "" is the next token, "vectors" of texts that belong
// together, "scores" or "labels".
func (s *Set) Goals() string {
	switch {
	case s.pairs == nil:
		return ""
	case s.pairs.labels == 0:
		return "vectors"
	case s.pairs.labels == 1:
		return "scores"
	}
	return "labels"
}

// Most returns bounds of the tokens and documents of a batch of examples; 0 if the set
// has none.
func (s *Set) Most() (tokens, documents int) {
	if s.pairs == nil {
		return 0, 0
	}
	return s.cfg.Rows * s.pairs.longest, s.cfg.Rows * s.pairs.texts
}
