package flow

import (
	"slices"
	"unsafe"

	"atenia/flow/node"
)

// Log returns the calls made so far. It is empty unless [Options.Log] is set.
func (s *Session[F]) Log() Log { return slices.Clone(s.log) }

// note logs the calls of a block of the static list.
func (s *Session[F]) note() {
	for _, v := range s.static.order {
		s.log = append(s.log, Firing{Block: s.block, Node: s.procs[v.proc].Name, Tokens: v.tokens})
	}
}

// A NodeMemory is the number of bytes that a node and its outputs occupy.
type NodeMemory struct {
	Node string
	// Workspace is the node's scratch allowance: a block of its largest port times its oversampling ratio.
	Workspace int
	Channels  int // blocks and rings of its outputs
}

// Memory returns the memory of each node, in plan order.
func (s *Session[F]) Memory() []NodeMemory {
	width := int(unsafe.Sizeof(F(0)))
	all := make([]NodeMemory, len(s.procs))
	for i, p := range s.procs {
		m := NodeMemory{Node: p.Name}
		most := 0
		for _, ts := range [][]node.Tensor[F]{p.call.In, p.call.Out} {
			for k := range ts {
				most = max(most, len(ts[k].Data))
			}
		}
		m.Workspace = most * p.OversampleRatio * width
		for _, c := range p.out {
			m.Channels += (len(c.block.Data) + len(c.ring.Data)) * width
		}
		all[i] = m
	}
	return all
}
