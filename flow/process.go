package flow

import (
	"atenia/flow/graph"

	"atenia/flow/node"
)

// A process is one node of a running graph.
type process[F node.Float] struct {
	*graph.LinkedNode
	inst    node.Instance[F] // nil for Input and Probe, which the session serves itself
	call    node.Call[F]     // of the dynamic path; its tensors are never reallocated
	in      []*reader[F]     // signal inputs
	mods    []*reader[F]     // modulations
	all     []*reader[F]     // both, in that order
	sources []node.Tensor[F] // modulation sources of a call, for a recorder
	waits   []wait[F]        // barriers
	gates   []*gate          // other gates on its in-edges
	out     []*channel[F]
	params  []paramValue[F]
	cues    cueList  // events for the node
	listens bool     // it takes events
	posted  int      // events so far
	slice   int      // tokens of a call inside a cycle; a whole block elsewhere
	team    *team[F] // those that can be called with it; nil: it alone
	polled  bool     // polled in every block: it, or a node upstream, is dynamic
	trimmed int      // frames dropped at the start of the stream
	live    bool     // n0 is advanced by the static list

	n0      int64 // tokens fired
	origin  int64 // tokens of the stream before the first of this session, after a change of the plan
	left    int   // tokens still to fire in this block
	first   int64 // block of the first firing, -1 before it
	ended   bool  // the node has reported its end
	empty   bool  // a node that holds frames back has given them out, at the end of the stream
	drained int64 // tokens that it gave for that
	owed    int   // tokens of the host's block that were not taken yet: a channel after this Input is full, or the stream ends

	fault  Event // of this block
	faulty bool
}

// A wait is a barrier's control edge: an additional cursor over a data edge.
type wait[F node.Float] struct {
	on       *reader[F]
	cursor   int64
	frames   int64 // of a block
	num, den int64 // frames per token of the waiting process
}

// source reports whether the process has no inputs.
func (p *process[F]) source() bool { return len(p.all) == 0 }

// probe reports whether the host reads what the process takes.
func (p *process[F]) probe() bool { return p.inst == nil && len(p.out) == 0 }
