package network

import (
	"atenia/grad"
	"atenia/quila/internal/neuron"
)

// A stepper is what a stream needs to go code by code: the ports' step and the
// rows that it reads.
type stepper[F grad.Float] struct {
	ports  *neuron.Stepper[F]
	folded int // version of the weights
	in     neuron.Step[F]
	tick   neuron.Tick[F]
	out    *neuron.Readout[F]
	logits []F
}

// Step reads one code of every session and returns the logits of the next, [batch,
// V], valid until the next call. It computes what a window computes and allocates
// nothing after the first call. It is the token loop without stages: phase 0, the
// phase of Options for the grid and the ports, and the read-out.
func (s *Stream[F]) Step(codes []int32) ([]F, error) {
	if len(codes) != s.batch {
		return nil, &codesError{"codes, one a session", s.batch, len(codes)}
	}
	if err := s.embed(codes, 1, 1); err != nil {
		return nil, err
	}
	n, c := s.net, &s.net.Config
	n.bind()
	p := s.steps
	if p == nil {
		var err error
		if p, err = s.newStepper(); err != nil {
			return nil, err
		}
		s.steps = p
	}
	if p.folded != n.version {
		p.ports.Fold(n.Weights)
		p.folded = n.version
	}
	phase := s.phase()
	abg := n.Weights.Of("port.planner.abg")
	alpha, beta, gamma := neuron.Shares(phase, float64(abg[0]), float64(abg[1]))
	p.tick.Phase, p.tick.Alpha, p.tick.Beta, p.tick.Gamma = phase, F(alpha), F(beta), F(gamma)
	for k := range c.K {
		emb := s.turned
		if k > 0 {
			emb = nil // the boundary speaks once a token [R-10.6c]
		}
		n.grid.Run(s.Grid, &p.tick, emb, s.Options.Modality)
	}
	sessionsFirst(p.in.X, s.Grid.HFinal, c.N, s.batch, c.D)
	sessionsFirst(p.in.Conf, s.Grid.Conf, c.N, s.batch, 1)
	sessionsFirst(p.in.Utility, s.Grid.Utility, c.N, s.batch, 1)
	sessionsFirst(p.in.Trace, s.Grid.Trace, c.N, s.batch, 1)
	sessionsFirst(p.in.PTrace, s.Grid.PTrace, c.N, s.batch, 1)
	p.in.Phase, p.in.Slots, p.in.E, p.in.Queue = phase, s.Slots, s.emb, s.Queue
	if err := p.ports.Step(&p.in); err != nil {
		return nil, err
	}
	s.Pos++
	p.out.Logits(p.logits, p.in.M)
	return p.logits, nil
}

// Confidence is the merged confidence of every session after a step.
func (s *Stream[F]) Confidence() []F {
	if s.steps == nil {
		return nil
	}
	return s.steps.in.Confidence
}

func (s *Stream[F]) newStepper() (*stepper[F], error) {
	n, c := s.net, &s.net.Config
	rows := s.batch * c.N
	p := &stepper[F]{ports: neuron.NewStepper(n.ports, n.Weights, 0), folded: n.version}
	p.in = neuron.Step[F]{X: make([]F, rows*c.D), Conf: make([]F, rows), Utility: make([]F, rows), Trace: make([]F, rows), PTrace: make([]F, rows),
		M: make([]F, s.batch*c.D), Confidence: make([]F, s.batch)}
	p.logits = make([]F, s.batch*c.V)
	var err error
	p.out, err = n.codes.PathA(neuron.GeneratorPort, n.Weights.Of("head.read"), n.bias(), n.threads)
	return p, err
}

// bias is the bias per code, or nil.
func (n *Network[F]) bias() []F {
	if !n.Config.CodeBias {
		return nil
	}
	return n.Weights.Of("head.code_bias")
}

// phase is that of the options; 0 is 5.
func (s *Stream[F]) phase() int {
	if s.Options.Phase == 0 {
		return 5
	}
	return s.Options.Phase
}

// sessionsFirst turns [n][batch][width] into [batch][n][width].
func sessionsFirst[F grad.Float](dst, src []F, n, batch, width int) {
	if width == 1 {
		for i := range n {
			for b, x := range src[i*batch : (i+1)*batch] {
				dst[b*n+i] = x
			}
		}
		return
	}
	for i := range n {
		for b := range batch {
			copy(dst[(b*n+i)*width:][:width], src[(i*batch+b)*width:])
		}
	}
}
