package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A process is one node of a running graph.
type process[F node.Float] struct {
	*graph.LinkedNode
	inst    node.Instance[F] // nil: Input and Probe, which the session serves itself
	call    node.Call[F]     // of the dynamic path; its tensors never move
	in      []*reader[F]     // signal inputs
	mods    []*reader[F]     // modulations
	all     []*reader[F]     // both, in that order
	sources []node.Tensor[F] // what modulates in a call, for a recorder
	waits   []wait[F]        // barriers
	gates   []*gate          // other gates on its in-edges
	out     []*channel[F]
	params  []param[F]
	slice   int  // tokens of a call inside a cycle; outside a whole block
	asked   bool // whether it fires is asked in every block: it, or something before it, is dynamic
	trimmed int  // frames that are dropped at the stream's start
	live    bool // n0 is advanced by the static list

	n0    int64 // tokens fired
	left  int   // tokens still to fire in this block
	first int64 // block of the first firing, -1 before it
	ended bool  // the node said so

	fault  Event // of this block
	faulty bool
}

// A wait is a barrier's control edge: a cursor of its own over a data edge.
type wait[F node.Float] struct {
	on       *reader[F]
	cursor   int64
	frames   int64 // of a block
	num, den int64 // frames a token of the waiting process
}

// source reports whether the process has no inputs.
func (p *process[F]) source() bool { return len(p.all) == 0 }

// probe reports whether the host reads what comes in here.
func (p *process[F]) probe() bool { return p.inst == nil && len(p.out) == 0 }

// A param is what a parameter's value in a call is made of.
type param[F node.Float] struct {
	value  node.Tensor[F] // [B, C, 1 or the tokens of a block]
	mods   []modulation[F]
	filled bool // its value is put together before each call
	table  bool

	staged []F // values that the host set, [B, C, k times N]
	at     int // frames of them taken
	since  int64
}

// A modulation is one edge into a parameter.
type modulation[F node.Float] struct {
	*reader[F]
	mul     bool
	scale   F
	channel int // of the source; -1: follows the parameter's, the last one repeats
	from    node.Tensor[F]
}

// source is the channel of the source that goes to channel c.
func (m *modulation[F]) source(c int) int {
	if m.channel >= 0 {
		return m.channel
	}
	return min(c, m.from.C-1)
}

// fill puts the values of tokens [n0, n0+t) together in dst: value n mod N of
// each row, then each modulation in the order of the edges.
func (p *param[F]) fill(dst *node.Param[F], n0 int64, t int) {
	dst.N = t
	for b := range dst.B {
		for c := range dst.C {
			y := dst.Tensor.Row(b*dst.C + c)
			v := p.value.Row(min(b, p.value.B-1)*p.value.C + min(c, p.value.C-1))
			if len(v) == 1 {
				for i := range y {
					y[i] = v[0]
				}
			} else {
				for at, i := int(n0%int64(len(v))), 0; i < t; at = 0 {
					i += copy(y[i:], v[at:])
				}
			}
			for i := range p.mods {
				p.mods[i].apply(y, b, c)
			}
		}
	}
}

// apply modulates one row of values.
func (m *modulation[F]) apply(y []F, b, c int) {
	x := m.from.Data[(min(b, m.from.B-1)*m.from.C+m.source(c))*len(y):][:len(y)]
	if m.mul {
		for i, v := range x {
			y[i] *= v * m.scale
		}
		return
	}
	for i, v := range x {
		y[i] += F(v * m.scale)
	}
}

// joules is the sum of thermo.heat over the tokens of a call.
func joules[F node.Float](c *node.Call[F]) float64 {
	h := &c.Param[len(c.Param)-1]
	sum := 0.0
	for _, v := range h.Data[:h.B*h.C*h.N] {
		sum += float64(v)
	}
	if h.Framed {
		return sum
	}
	return sum * float64(c.Tokens)
}
