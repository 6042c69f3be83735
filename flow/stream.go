package flow

import (
	"fmt"
	"maps"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A feed cuts a whole stream into the blocks of one Input.
type feed[F node.Float] struct {
	*process[F]
	stream node.Tensor[F]
	at     int
}

// feeds checks the streams against the graph's Inputs.
func (s *Session[F]) feeds(inputs map[string]node.Tensor[F]) ([]*feed[F], error) {
	var all []*feed[F]
	for _, p := range s.procs {
		if p.Type != "Input" {
			continue
		}
		x, ok := inputs[p.Name]
		if b := p.out[0].block; ok && (x.B != b.B || x.C != b.C || len(x.Data) < x.B*x.C*x.N) {
			return nil, &graph.Error{Code: graph.BadShape, Path: p.Path, Names: []string{p.Name},
				Text: fmt.Sprintf("stream of shape [%d, %d, %d] for an input of [%d, %d]", x.B, x.C, x.N, b.B, b.C)}
		}
		all = append(all, &feed[F]{process: p, stream: x, at: int(p.n0)})
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if _, err := s.find(name, "Input"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// next lays out one more block; the stream goes on with zeros after its end.
func (f *feed[F]) next() {
	b := f.out[0].block
	n := f.Tokens
	for r := range b.B * b.C {
		row := b.Data[r*n : (r+1)*n]
		k := 0
		if f.at < f.stream.N {
			k = copy(row, f.stream.Row(r)[f.at:])
		}
		clear(row[k:])
	}
	f.at += n
}

// A take keeps all that a probe takes, rows cap frames apart.
type take[F node.Float] struct {
	*process[F]
	node.Tensor[F]
	cap int
}

// newTake returns a take with room for so many blocks.
func newTake[F node.Float](p *process[F], blocks int) *take[F] {
	t := &take[F]{process: p, Tensor: p.in[0].in, cap: max(blocks, 1) * p.Tokens}
	t.Data, t.N = make([]F, t.B*t.C*t.cap), 0
	return t
}

// add appends a block.
func (t *take[F]) add(x node.Tensor[F]) {
	if t.N+x.N > t.cap {
		old := *t
		t.cap = 2*t.cap + x.N
		t.Data = make([]F, t.B*t.C*t.cap)
		for r := range t.B * t.C {
			copy(t.Data[r*t.cap:], old.Data[r*old.cap:][:t.N])
		}
	}
	for r := range t.B * t.C {
		copy(t.Data[r*t.cap+t.N:], x.Row(r))
	}
	t.N += x.N
}

// join returns what was kept, rows one behind the other.
func (t *take[F]) join() node.Tensor[F] {
	rows := t.B * t.C
	for r := range rows {
		copy(t.Data[r*t.N:(r+1)*t.N], t.Data[r*t.cap:])
	}
	t.Data = t.Data[:rows*t.N]
	return t.Tensor
}
