package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A paramValue is a parameter of a node with its modulations: the value of the
// plan or the host, v[n mod N] of each row for token n, to which the edges into
// the parameter are applied one by one.
//
//	value    v0 v1 … | v0 v1 … | …      a block's length or one, row by row
//	add  +   scale·x0 scale·x1 …        of the channel that the edge names, else
//	mul  ·   scale·z0 scale·z1 …        of the same one; the last repeats
type paramValue[F node.Float] struct {
	Base   node.Tensor[F] // [B, C, 1 or the tokens of a block]; a table has its own shape
	Mods   []modulation[F]
	Table  bool
	Filled bool // computed before each call

	auto   *automation // the cues that change it; nil: none may
	staged []F         // values set by the host, [B, C, k times N]
	at     int         // frames of staged already used
	since  int64       // block from which they apply
}

// A modulation is one edge into a parameter.
type modulation[F node.Float] struct {
	Place   int // index among the node's modulations
	Mul     bool
	Scale   F
	Channel int // of the source; -1: the parameter's channel, or the last one
	From    node.Tensor[F]
}

// newParamValue returns a parameter with its value before modulation.
func newParamValue[F node.Float](spec *graph.ParamSpec) paramValue[F] {
	v := &spec.Value
	p := paramValue[F]{Base: node.Tensor[F]{Data: make([]F, len(v.Data)), B: v.B, C: v.C, N: v.F}, Table: spec.Table}
	p.Reset(spec)
	return p
}

// Reset restores the plan's value.
func (p *paramValue[F]) Reset(spec *graph.ParamSpec) {
	for i, x := range spec.Value.Data {
		p.Base.Data[i] = F(x)
	}
	p.staged = p.staged[:0]
}

// Fill computes the values of tokens [n0, n0+t) in dst.
func (p *paramValue[F]) Fill(dst *node.Param[F], n0 int64, t int) {
	dst.N = t
	for b := range dst.B {
		for c := range dst.C {
			y := dst.Tensor.Row(b*dst.C + c)
			v := p.Base.Row(min(b, p.Base.B-1)*p.Base.C + min(c, p.Base.C-1))
			if len(v) == 1 {
				for i := range y {
					y[i] = v[0]
				}
			} else {
				for at, i := int(n0%int64(len(v))), 0; i < t; at = 0 {
					i += copy(y[i:], v[at:])
				}
			}
			if p.auto != nil {
				automate(p.auto, y, n0)
			}
			for i := range p.Mods {
				p.Mods[i].apply(y, b, c)
			}
		}
	}
}

// apply modulates one row of values.
func (m *modulation[F]) apply(y []F, b, c int) {
	if m.Channel >= 0 {
		c = m.Channel
	}
	x := m.From.Data[(min(b, m.From.B-1)*m.From.C+min(c, m.From.C-1))*len(y):][:len(y)]
	if m.Mul {
		for i, v := range x {
			y[i] *= v * m.Scale
		}
		return
	}
	for i, v := range x {
		y[i] += F(v * m.Scale)
	}
}

// Stage sets values from a block on: [B, C, N] like the parameter, or k times
// as many frames, of which each block uses N.
func (p *paramValue[F]) Stage(values []float64, block int64) {
	p.staged = p.staged[:0]
	for _, v := range values {
		p.staged = append(p.staged, F(v))
	}
	p.at, p.since = 0, block
	p.take()
}

// Turn applies the staged values that belong to a block that starts. It reports
// whether there are more.
func (p *paramValue[F]) Turn(block int64) bool {
	if p.since < block && p.pending() {
		p.take()
	}
	return p.pending()
}

func (p *paramValue[F]) pending() bool { return p.at*p.Base.B*p.Base.C < len(p.staged) }

func (p *paramValue[F]) take() {
	n, rows := p.Base.N, p.Base.B*p.Base.C
	for r := range rows {
		copy(p.Base.Data[r*n:(r+1)*n], p.staged[r*len(p.staged)/rows+p.at:])
	}
	p.at += n
}
