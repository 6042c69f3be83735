package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A static path: see doc.go.
type static[F node.Float] struct {
	on      bool
	partial bool // some processes are asked
	noting  bool
	order   []visit // of the rehearsal's last block
}

// A visit is one call within a block.
type visit struct{ proc, tokens int }

func (s *static[F]) note(p *process[F], t int) { s.order = append(s.order, visit{p.Index, t}) }

func (s *static[F]) view(p *process[F]) (node.Tensor[F], bool) { return node.Tensor[F]{}, false }

func (s *Session[F]) steady() graph.Code { return graph.Success }

func (s *Session[F]) settle() {}

// finish ends a block.
func (s *Session[F]) finish() { s.block++ }
