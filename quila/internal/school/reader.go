package school

import (
	"strings"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// Places of the parameters of a reading GRU, after those of a GRU.
const (
	readIn = gruOutBias + 1 + iota
	readInBias
	readOut
	readFirst
)

// newReadingGRU makes a GRU with the reader of a network [R-2.3c]: a projection of
// its state takes the place of the Thinker's output, and what was read changes the
// logits. Entries are written with the embeddings as they are; the reader has no
// gradient to them.
func newReadingGRU[F grad.Float](width int, c config.Config, seed uint64, threads *grad.Threads) *baselineNet[F] {
	c.Training()
	c.Thinkers, c.D, c.DE = 1, embedding, embedding
	n := &baselineNet[F]{Codes: c.V, seed: seed, threads: threads, carried: width, reader: neuron.NewPorts[F](&c, threads)}
	n.addGRU(width)
	n.add("project", uniform(fan(width)), embedding, width)
	n.add("project.bias", uniform(fan(width)), embedding)
	n.add("found", uniform(fan(embedding)), c.V, embedding)
	const prefix = "port.thinker.0.wmq."
	g := weights.Initial(&c)
	first := weights.Init(&c, g.Edges(), seed)
	for i, s := range first.Specs {
		if !strings.HasPrefix(s.Name, prefix) {
			continue
		}
		n.add(s.Name, nil, s.Dims...)
		p := n.params[len(n.params)-1]
		for k, x := range first.At(i) {
			p.Value[k] = F(x)
		}
	}
	n.record = func(s *BaselineStream[F], t *grad.Tape[F], batch, steps int) grad.Ref {
		e := t.Embed(s.refs[gruEmbed], s.ids)
		y := s.recordGRU(t, e, width)
		o := t.AddRow(t.MatMulT(y, s.refs[readIn]), s.refs[readInBias])
		for i, p := range s.net.params[readFirst:] {
			s.read[p.Name] = s.refs[readFirst+i]
		}
		if t.Err() != nil {
			return 0
		}
		rows := batch * steps
		found, err := n.reader.Read(t, s.read, &neuron.Window[F]{T: steps, B: batch, E: t.Value(e), Queue: s.queue}, t.Slice(o, 0, 1, rows, embedding))
		if err != nil {
			s.fault = err
			return 0
		}
		found = t.Sub(t.Slice(found, 0, rows, embedding), o)
		return t.Add(t.AddRow(t.MatMulT(y, s.refs[gruOut]), s.refs[gruOutBias]), t.MatMulT(found, s.refs[readOut]))
	}
	return n
}
