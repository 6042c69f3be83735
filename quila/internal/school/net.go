package school

import (
	"errors"
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/internal/network"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

// A baselineNet is the weights of a model on the tape.
type baselineNet[F grad.Float] struct {
	Codes   int // size of the alphabet
	params  []*grad.Param[F]
	seed    uint64
	threads *grad.Threads
	record  func(s *BaselineStream[F], t *grad.Tape[F], batch, steps int) (logits grad.Ref)
	carried int              // values of a session's state
	sorted  bool             // rows of a window are sessions first, not steps first
	reader  *neuron.Ports[F] // or nil
}

// Params are the weights with their gradients.
func (n *baselineNet[F]) Params() []*grad.Param[F] { return n.params }

// Size is how many weights there are.
func (n *baselineNet[F]) Size() int {
	var sum int
	for _, p := range n.params {
		sum += len(p.Value)
	}
	return sum
}

// A draw fills first values.
type draw func(dst []float64)

// add makes a parameter. The draw is of numbers that depend on the seed and on
// the parameter's place.
func (n *baselineNet[F]) add(name string, fill func(r weights.Stream) draw, shape ...int) {
	size := 1
	for _, d := range shape {
		size *= d
	}
	p := &grad.Param[F]{Name: name, Shape: shape, Value: make([]F, size), Grad: make([]F, size)}
	if fill != nil {
		v := make([]float64, size)
		fill(weights.Stream{Seed: n.seed, Neuron: firstStream + uint32(len(n.params)), Site: weights.InitSite})(v)
		for i, x := range v {
			p.Value[i] = F(x)
		}
	}
	n.params = append(n.params, p)
}

// firstStream keeps the numbers apart from those of a network of the same seed.
const firstStream = 1 << 24

// normal draws from a normal distribution.
func normal(std float64) func(weights.Stream) draw {
	return func(r weights.Stream) draw {
		return func(dst []float64) {
			r.Normal(dst)
			for i := range dst {
				dst[i] *= std
			}
		}
	}
}

// uniform draws from [−bound, bound).
func uniform(bound float64) func(weights.Stream) draw {
	return func(r weights.Stream) draw {
		return func(dst []float64) {
			for i := range dst {
				w := r.Block(uint32(i / 4))[i%4]
				dst[i] = bound * (float64(w)*0x1p-31 - 1)
			}
		}
	}
}

func ones(weights.Stream) draw {
	return func(dst []float64) {
		for i := range dst {
			dst[i] = 1
		}
	}
}

// fan is 1/√n.
func fan(n int) float64 { return 1 / math.Sqrt(float64(n)) }

// A BaselineStream is a model that reads texts side by side.
type BaselineStream[F grad.Float] struct {
	net     *baselineNet[F]
	tape    *grad.Tape[F]
	batch   int
	learn   bool
	state   []F // [batch, carried]
	next    []F // the state after the window that is being recorded
	refs    []grad.Ref
	ids     []int32
	targets []int32
	lens    []int
	nll     []F
	queue   *neuron.Queue[F] // of a reader
	read    map[string]grad.Ref
	fault   error // of the reader
}

// Open returns a stream of so many texts; with learn, windows add to the
// gradients of the weights.
func (n *baselineNet[F]) Open(batch int, learn bool) *BaselineStream[F] {
	var reg grad.Registry[F]
	register(&reg)
	s := &BaselineStream[F]{
		net: n, tape: grad.New(&reg, grad.Recording(learn), grad.WithThreads(n.threads)), batch: batch, learn: learn,
		state: make([]F, batch*n.carried), next: make([]F, batch*n.carried), refs: make([]grad.Ref, len(n.params)),
	}
	if n.reader != nil {
		neuron.RegisterPort(&reg)
		s.read = map[string]grad.Ref{}
	}
	s.Reset()
	return s
}

// State is what is carried to the next window: nothing, or the hidden state and
// what a reader's queue holds.
func (s *BaselineStream[F]) State() [][]F {
	if len(s.state) == 0 {
		return nil
	}
	if s.queue == nil {
		return [][]F{s.state}
	}
	counts := make([]F, len(s.queue.Count))
	for b, n := range s.queue.Count {
		counts[b] = F(n)
	}
	return [][]F{s.state, s.queue.Entries, s.queue.Last, counts}
}

// SetState replaces it.
func (s *BaselineStream[F]) SetState(state [][]F) error {
	mine := s.State()
	if len(state) != len(mine) {
		return &codesError{"arrays of a state", len(mine), len(state)}
	}
	for i := range mine {
		if len(state[i]) != len(mine[i]) {
			return &codesError{"values of a state", len(mine[i]), len(state[i])}
		}
		copy(mine[i], state[i])
	}
	if s.queue != nil {
		for b := range s.queue.Count {
			s.queue.Count[b] = int(state[len(state)-1][b])
		}
	}
	return nil
}

// Reset forgets the state.
func (s *BaselineStream[F]) Reset() {
	clear(s.state)
	if s.net.reader != nil {
		s.queue = neuron.NewQueue[F](s.net.reader.Config, s.batch)
	}
}

// A codesError is a window whose codes do not fit the model.
type codesError struct {
	Op        string
	Want, Got int
}

func (e *codesError) Error() string {
	return fmt.Sprintf("baseline: %s: want %d, got %d", e.Op, e.Want, e.Got)
}

// Window reads codes [batch, T+1], of which each predicts the next, and returns
// the mean cross-entropy in nats. nll, unless nil, receives that of every
// prediction, [batch, T].
func (s *BaselineStream[F]) Window(codes []int32, nll []F) (F, error) {
	steps := len(codes)/s.batch - 1
	if steps < 1 || len(codes) != s.batch*(steps+1) {
		return 0, &codesError{"codes in rows of equal length", s.batch * (max(steps, 1) + 1), len(codes)}
	}
	rows := s.batch * steps
	s.ids, s.targets = s.ids[:0], s.targets[:0]
	for r := range rows {
		i := s.place(r, steps)
		c, target := codes[i], codes[i+1]
		if c < 0 || int(c) >= s.net.Codes || target < 0 || int(target) >= s.net.Codes {
			return 0, &codesError{"codes below", s.net.Codes, int(max(c, target))}
		}
		s.ids, s.targets = append(s.ids, c), append(s.targets, target)
	}
	t := s.tape
	t.Reset()
	for i, p := range s.net.params {
		s.refs[i] = t.Borrow(p.Value, p.Shape...)
		if s.learn {
			t.GradInto(s.refs[i], p.Grad)
		}
	}
	logits := s.net.record(s, t, s.batch, steps)
	if err := errors.Join(t.Err(), s.fault); err != nil {
		return 0, err
	}
	var mean F
	if nll != nil {
		if cap(s.nll) < rows {
			s.nll = make([]F, rows)
		}
		mean = network.CrossEntropy(nil, s.nll[:rows], nil, t.Value(logits), s.targets, 1)
		for r := range rows {
			i := s.place(r, steps)
			nll[i/(steps+1)*steps+i%(steps+1)] = s.nll[r]
		}
	}
	if s.learn {
		ce := t.CrossEntropy(logits, s.targets)
		if err := t.Backward(ce); err != nil {
			return 0, err
		}
		mean = t.Value(ce)[0]
	}
	s.state, s.next = s.next, s.state
	return mean, t.Err()
}

// place returns the index in codes of row r of the tape.
func (s *BaselineStream[F]) place(r, steps int) int {
	if s.net.sorted {
		return r/steps*(steps+1) + r%steps
	}
	return r%s.batch*(steps+1) + r/s.batch
}
