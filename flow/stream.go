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
	at     int // frames given to the Input
}

// feeds checks the streams against the graph's Inputs.
func (s *Session[F]) feeds(inputs map[string]node.Tensor[F]) ([]*feed[F], error) {
	var all []*feed[F]
	for _, p := range s.procs {
		if p.Spec.Endpoint != graph.Fed {
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
		if _, err := s.find(name, graph.Fed); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// next copies one more block into the Input; past its end the stream continues with zeros.
func (f *feed[F]) next() {
	cutBlock(&f.out[0].block, &f.stream, f.at)
	f.at += f.Tokens
}
