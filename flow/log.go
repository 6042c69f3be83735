package flow

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"atenia/flow/node"
)

// A Firing is one call of a node.
type Firing struct {
	Block  int64
	Node   string
	Tokens int
}

// A Log is the calls of a stream in the order in which they were made.
type Log []Firing

// String has a line for each block in which something fired.
//
//	2: osc 64, up 64, out 256
func (l Log) String() string {
	var b strings.Builder
	for i, f := range l {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "%d: ", f.Block)
		case l[i-1].Block != f.Block:
			fmt.Fprintf(&b, "\n%d: ", f.Block)
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", f.Node, f.Tokens)
	}
	if len(l) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// Log returns the calls so far, if [Options.Log] keeps them.
func (s *Session[F]) Log() Log { return slices.Clone(s.log) }

// note logs the calls of a block of the static list.
func (s *Session[F]) note() {
	for _, v := range s.static.order {
		s.log = append(s.log, Firing{s.block, s.procs[v.proc].Name, v.tokens})
	}
}

// A Memory is what a node and its outputs hold.
type Memory struct {
	Node string
	// Workspace is what the node may use for itself: a block of its largest port
	// times its oversampling ratio.
	Workspace int
	Channels  int // blocks and rings of its outputs
}

// Memory returns what each node holds, in bytes.
func (s *Session[F]) Memory() []Memory {
	width := int(unsafe.Sizeof(F(0)))
	all := make([]Memory, len(s.procs))
	for i, p := range s.procs {
		m := Memory{Node: p.Name}
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
