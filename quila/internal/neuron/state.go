package neuron

import (
	"slices"

	"atenia/grad"
	"atenia/quila/config"
)

// A State is what a grid carries from tick to tick, for B sessions: the S
// channels that steps 2 to 11 read or write. All are [N][B], followed by what is
// said below.
type State[F grad.Float] struct {
	N, B, D, NS, Depth int // Depth is how many frames are kept

	Hidden   []F // [D] h_smooth of the last firing
	Num, Den []F // [D] stream C
	Residual []F // [D] second row of the streams of step 5
	SSM      []F // [D][NS] stream B, option recurrent
	Frames   []F // [Depth][D] h after step 3, newest first
	Momentum []F // [D]
	Conf     []F
	Utility  []F // moving average
	UDim     []F // [D] moving average of wkv_weights [R-5.1g]
	HDim     []F // [D] moving average of |h|
	HFinal   []F // [D] what others see
	Trace    []F // of the session
	PTrace   []F // persistent

	Refractory []int32
	Sent       []bool // whether the last tick sent
}

// A Field is one channel of a state.
type Field[F grad.Float] struct {
	Name   string
	Width  int // values of a neuron and session
	Values []F
}

// NewState makes the state of sessions that have not begun.
func NewState[F grad.Float](c *config.Config, sessions int) *State[F] {
	s := &State[F]{N: c.N, B: sessions, D: c.D, NS: c.NS, Depth: depth(c)}
	for _, f := range s.fields() {
		*f.values = make([]F, c.N*sessions*f.width)
	}
	s.Refractory, s.Sent = make([]int32, c.N*sessions), make([]bool, c.N*sessions)
	for i := range s.Conf {
		s.Conf[i] = F(c.InitConf)
	}
	return s
}

// depth is how many frames a neuron keeps: stream B scans eight, or step 8 reads
// the newest alone.
func depth(c *config.Config) int {
	if c.SSM == "window" {
		return 8
	}
	return 1
}

type field[F grad.Float] struct {
	name   string
	width  int
	values *[]F
}

func (s *State[F]) fields() [14]field[F] { // an array: copying a session allocates nothing
	d := s.D
	return [...]field[F]{
		{"hidden", d, &s.Hidden}, {"num", d, &s.Num}, {"den", d, &s.Den}, {"residual", d, &s.Residual},
		{"ssm", d * s.NS, &s.SSM}, {"frames", s.Depth * d, &s.Frames}, {"momentum", d, &s.Momentum},
		{"conf", 1, &s.Conf}, {"utility", 1, &s.Utility}, {"u_dim", d, &s.UDim}, {"h_dim", d, &s.HDim},
		{"h_final", d, &s.HFinal}, {"trace", 1, &s.Trace}, {"ptrace", 1, &s.PTrace},
	}
}

// Fields lists the channels that hold floats, for files and checks.
func (s *State[F]) Fields() []Field[F] {
	var out []Field[F]
	for _, f := range s.fields() {
		out = append(out, Field[F]{f.name, f.width, *f.values})
	}
	return out
}

// Clone copies a state.
func (s *State[F]) Clone() *State[F] {
	t := *s
	for _, f := range t.fields() {
		*f.values = slices.Clone(*f.values)
	}
	t.Refractory, t.Sent = slices.Clone(s.Refractory), slices.Clone(s.Sent)
	return &t
}

// SetSession copies session from of another state of the same network over
// session b.
func (s *State[F]) SetSession(b int, other *State[F], from int) {
	src := other.fields()
	for i, f := range s.fields() {
		for n := range s.N {
			copy((*f.values)[(n*s.B+b)*f.width:][:f.width], (*src[i].values)[(n*other.B+from)*f.width:][:f.width])
		}
	}
	for n := range s.N {
		s.Refractory[n*s.B+b], s.Sent[n*s.B+b] = other.Refractory[n*other.B+from], other.Sent[n*other.B+from]
	}
}

// Suspect lowers the confidence of a neuron that is under suspicion, once
// . Nothing else of it is touched, so that all of its effect on gradients
// is the confidence's.
func (s *State[F]) Suspect(neuron, session int, penalty F) { s.Conf[neuron*s.B+session] *= penalty }
