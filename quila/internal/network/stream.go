package network

import (
	"atenia/grad"
	"atenia/quila/internal/neuron"
)

// A Stream is sessions of a network that read texts side by side.
type Stream[F grad.Float] struct {
	Grid  *neuron.State[F]
	Slots []F // [slots, batch, D]
	Queue *neuron.Queue[F]
	Pos   int // of the next code

	// Options of the grid: phase, rounded messages.
	Options neuron.Options[F]

	net     *Network[F]
	tape    *grad.Tape[F]
	batch   int
	learn   bool
	refs    map[string]grad.Ref
	emb     []F // [T, batch, D_e] as the codebook has them
	turned  []F // turned by position
	targets []int32
	nll     []F
	rms     F
	brier   F
	steps   *stepper[F]
}

// Open returns so many sessions that have read nothing. With learn, windows add
// to the gradients of the weights.
func (n *Network[F]) Open(batch int, learn bool) *Stream[F] {
	var reg grad.Registry[F]
	neuron.Register(&reg)
	neuron.RegisterPort(&reg)
	s := &Stream[F]{net: n, batch: batch, learn: learn, refs: make(map[string]grad.Ref, len(n.Weights.Specs)),
		tape: grad.New(&reg, grad.Recording(learn), grad.WithThreads(n.threads))}
	s.Options.FP8 = n.Config.FP8
	s.Reset()
	return s
}

// Reset lets all sessions begin anew.
func (s *Stream[F]) Reset() {
	c := &s.net.Config
	s.Grid, s.Slots, s.Pos = neuron.NewState[F](c, s.batch), make([]F, s.net.ports.Slots()*s.batch*c.D), 0
	if c.WMQRead {
		s.Queue = neuron.NewQueue[F](c, s.batch)
	}
}

// Brier is the mean square of confidence − hit in the last window that learned.
func (s *Stream[F]) Brier() F { return s.brier }

// Spread is the root mean square of h_kfe in the last window.
func (s *Stream[F]) Spread() F { return s.rms }

// Window reads codes [batch, T+1], of which each predicts the next, and returns
// the mean cross-entropy in nats. nll, unless nil, receives that of every
// prediction, [batch, T].
func (s *Stream[F]) Window(codes []int32, nll []F) (F, error) {
	steps := len(codes)/s.batch - 1
	if steps < 1 || len(codes) != s.batch*(steps+1) {
		return 0, &codesError{"codes in rows of equal length", s.batch * (max(steps, 1) + 1), len(codes)}
	}
	if err := s.embed(codes, steps+1, steps); err != nil {
		return 0, err
	}
	s.targets = s.targets[:0]
	for t := range steps {
		for b := range s.batch {
			target := codes[b*(steps+1)+t+1]
			if target < 0 || int(target) >= s.net.Config.V {
				return 0, &codesError{"codes below", s.net.Config.V, int(target)}
			}
			s.targets = append(s.targets, target)
		}
	}
	logits, conf, err := s.record(steps)
	if err != nil {
		return 0, err
	}
	rows := s.batch * steps
	t := s.tape
	var mean F
	if nll != nil {
		s.nll = sized(s.nll, rows)
		mean = CrossEntropy(nil, s.nll, nil, t.Value(logits), s.targets, 1)
		for r, x := range s.nll {
			nll[r%s.batch*steps+r/s.batch] = x
		}
	}
	if !s.learn {
		return mean, t.Err()
	}
	ce, brier := t.CrossEntropy(logits, s.targets), neuron.Brier(t, conf, logits, s.targets)
	if err := t.Err(); err != nil {
		return 0, err
	}
	s.brier = t.Value(brier)[0]
	return t.Value(ce)[0], t.Backward(t.Add(ce, t.Scale(t.Slice(brier, 0), brierWeight)))
}

// embed gathers the embeddings of the first steps codes of every row.
func (s *Stream[F]) embed(codes []int32, stride, steps int) error {
	c := &s.net.Config
	d := c.DE
	book := s.net.Weights.Of("codebook.text")
	s.emb = sized(s.emb, steps*s.batch*d)
	for t := range steps {
		for b := range s.batch {
			code := codes[b*stride+t]
			if code < 0 || int(code) >= c.V {
				return &codesError{"codes below", c.V, int(code)}
			}
			copy(s.emb[(t*s.batch+b)*d:][:d], book[int(code)*d:][:d])
		}
	}
	s.turned = s.emb
	if c.RopeDims == 0 {
		return nil
	}
	n := c.RopeDims
	if n < 0 {
		n = d
	}
	code, err := NewRope(n, 1, Kronecker)
	if err != nil {
		return err
	}
	base := []float64{float64(s.net.Weights.Of("rope.text")[0])}
	s.turned = append([]F(nil), s.emb...)
	for t := range steps {
		for b := range s.batch {
			row := s.turned[(t*s.batch+b)*d:][:n]
			if err := ApplyRope(code, row, row, []uint64{uint64(s.Pos + t)}, base); err != nil {
				return err
			}
		}
	}
	return nil
}

// record records the forward pass over what embed gathered, and moves the state
// on: logits [T·B, V] and merged confidences [T·B].
func (s *Stream[F]) record(steps int) (logits, conf grad.Ref, err error) {
	n, t := s.net, s.tape
	n.bind()
	t.Reset()
	for _, p := range n.params {
		s.refs[p.Name] = t.Borrow(p.Value, p.Shape...)
		if s.learn {
			t.GradInto(s.refs[p.Name], p.Grad)
		}
	}
	for _, i := range n.held {
		spec := &n.Weights.Specs[i]
		s.refs[spec.Name] = t.Const(n.Weights.At(i), spec.Dims...)
	}
	out, err := n.grid.Window(t, s.refs, s.Grid, s.turned, steps, s.Options)
	if err != nil {
		return 0, 0, err
	}
	s.rms = out.RMS
	w := neuron.Window[F]{T: steps, B: s.batch, Phase: s.phase(), X: out.X, Conf: out.Conf, Utility: out.Utility,
		Trace: out.Trace, PTrace: out.PTrace, Slots: s.Slots, E: s.emb, Queue: s.Queue}
	m, conf, err := n.ports.Run(t, s.refs, &w)
	if err != nil {
		return 0, 0, err
	}
	s.Pos += steps
	return n.codes.Logits(t, m, s.refs["head.read"], s.refs["head.code_bias"]), conf, t.Err()
}

func sized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}
