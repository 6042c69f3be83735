package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A recorder observes every call of a node, on either path. The tensors it sees are overwritten by the node's next
// call.
type recorder[F node.Float] interface {
	Begin()   // a block starts
	Restart() // the stream starts again
	// Room is called before Before on the static path. It returns where a call should write n elements of an output so
	// that After need not copy them, nil for no preference.
	Room(v, output, n int) []F
	// Before is called when inputs, parameters and modulating frames, in the order of Mods, are ready. The cursor of
	// an edge is then Frame0 times the frames per token.
	Before(v int, inst node.Instance[F], c *node.Call[F], mods []node.Tensor[F], block int)
	After(v int, c *node.Call[F], heat float64)
}

// fire calls a process for t tokens: it takes frames from the rings, computes parameters, calls the node and stores
// its output in the rings.
func (s *Session[F]) fire(p *process[F], t int) graph.Code {
	s.load(p, t)
	code := graph.Success
	if !s.dry {
		code = s.call(p, t)
	}
	s.store(p, t)
	return code
}

// load takes the frames of t tokens from the rings.
func (s *Session[F]) load(p *process[F], t int) {
	for _, r := range p.all {
		n := t * r.cons
		switch {
		case s.dry:
			r.cursor += int64(n)
		case p.probe():
			// Rows are a block apart until the block ends, since it may arrive in slices.
			s.take(p, r, r.in.Data[p.Tokens-p.left:], n, p.Tokens)
		default:
			s.take(p, r, r.in.Data, n, n)
		}
	}
}

// store puts what a call for t tokens gave into the rings, and counts it as fired.
func (s *Session[F]) store(p *process[F], t int) {
	for i, o := range p.out {
		full := t * p.Spec.Prod[i]
		n := full
		if !s.dry && p.Spec.Dynamic {
			n = p.call.Produced * p.Spec.Prod[i]
		}
		skip := int(min(max(int64(p.trimmed)-o.made, 0), int64(n)))
		o.made += int64(n)
		if s.dry {
			o.wrote += int64(n - skip)
		} else {
			o.store(skip, n, full)
		}
	}
	for i := range p.waits {
		w := &p.waits[i]
		w.cursor += int64(t) * w.num / w.den
	}
	p.n0 += int64(t)
	p.left -= t
	if p.first < 0 {
		p.first = s.block
	}
}

// prepare sets the lengths and parameters of a call for t tokens whose inputs are ready.
func (s *Session[F]) prepare(p *process[F], t int) *node.Call[F] {
	c := &p.call
	c.Tokens = t
	for i, r := range p.in {
		c.In[i].N = t * r.cons
	}
	for i := range p.params {
		if p.params[i].Filled {
			p.params[i].Fill(&c.Param[i], p.n0, t)
		}
	}
	if p.listens {
		s.gather(p, p.n0, t)
	}
	for i := range c.Out {
		c.Out[i].N = t * p.Spec.Prod[i]
	}
	if p.Spec.Endpoint == graph.Fed && t < p.Tokens { // the host's rows are a block apart
		for x, r := &c.Out[0], 0; r < x.B*x.C; r++ {
			copy(x.Row(r), x.Data[r*p.Tokens:])
		}
	}
	return c
}

// call runs the node on t tokens whose inputs are ready.
func (s *Session[F]) call(p *process[F], t int) graph.Code {
	c := s.prepare(p, t)
	if s.rec == nil {
		return s.forward(p, c, p.n0)
	}
	for i := range p.sources {
		p.sources[i].N = t
	}
	c.Frame0 = p.n0
	s.rec.Before(p.Index, p.inst, c, p.sources, int(s.block))
	code := s.forward(p, c, p.n0)
	s.rec.After(p.Index, c, c.Heat)
	return code
}

// forward makes a forward call and accounts what it reports.
func (s *Session[F]) forward(p *process[F], c *node.Call[F], n0 int64) graph.Code {
	begin(c, n0+p.origin)
	code := graph.Success
	switch {
	case p.inst == nil:
	case s.watch == nil:
		code = s.applyPolicy(p, c, p.inst.Forward(c))
	case s.suspended(p):
		return s.mute(c)
	default:
		began := s.watch.Now()
		code = p.inst.Forward(c)
		ns := s.watch.Now() - began
		code = s.applyPolicy(p, c, code)
		s.took(p, c, ns)
	}
	s.account(p, c)
	return code
}

func begin[F node.Float](c *node.Call[F], n0 int64) {
	c.Frame0, c.Produced, c.Heat, c.Delay, c.Reserved = n0, c.Tokens, 0, 0, [6]float32{}
}

// account keeps what a call reported.
func (s *Session[F]) account(p *process[F], c *node.Call[F]) {
	if !p.SupportsV2 || p.inst == nil {
		c.Heat = node.HeatOf(c)
	}
	s.noteDelay(p, c)
	if c.Reserved != [6]float32{} {
		s.meter.Reserved(p.Index, c.Reserved)
	}
	s.meter.Add(p.Index, Forward, c.Heat)
}

// noteDelay records the delay that a node of ABI version 2 reports.
func (s *Session[F]) noteDelay(p *process[F], c *node.Call[F]) {
	if p.SupportsV2 && c.Delay > 0 && s.meter.Delay(p.Index, c.Delay, p.DeclaredDelay) {
		s.fault(p, Event{Frame: s.frame(p, 0), Kind: UnderDeclared, Delay: c.Delay})
	}
}
