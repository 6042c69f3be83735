//go:build (amd64 || arm64) && !static

package amp

import (
	"errors"

	"atenia/flow/graph"
)

// state saves the state of settings of an instance, in the child.
func (s *server) state(i int) (reply, error) {
	if i < 0 || i >= s.count {
		return reply{}, &FormatError{"state", "no such instance"}
	}
	saver, ok := s.nodes[i].Load().inst.(StateSaver)
	if !ok {
		return reply{}, &graph.Error{Code: graph.Unsupported, Text: "the node has no state to save"}
	}
	b, err := saver.SaveState()
	return reply{Bytes: b}, err
}

// SaveState is [StateSaver] for a node in the child.
func (n *remoteInstance[F]) SaveState() ([]byte, error) {
	l := n.p.active.Load()
	if l == nil || l.dead.Load() {
		return nil, &LoadError{n.p.path, graph.Crashed, errors.New("its process is gone")}
	}
	i := int(n.id)
	r, err := l.ask(order{State: &i})
	return r.Bytes, err
}
