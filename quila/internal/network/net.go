package network

import (
	"errors"
	"fmt"
	"math"

	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/internal/weights"
)

// MaxSigma is σ at t = 1, in units of σ_d.
const MaxSigma = 2

// errConsistencyShape is matched by errors about operands of the wrong size.
var errConsistencyShape = errors.New("consistency: bad shape")

// A consistencyShapeError says what an operand's size has to be.
type consistencyShapeError struct {
	Op        string
	Want, Got int
}

func (e *consistencyShapeError) Error() string {
	return fmt.Sprintf("consistency: %s: want %d, got %d", e.Op, e.Want, e.Got)
}

// Is matches [errConsistencyShape].
func (e *consistencyShapeError) Is(target error) bool { return target == errConsistencyShape }

// A Form is how [Apply] combines the network's value with its operand.
type Form string

// Forms of the consistency function.
const (
	Song     Form = "song"     // as in the package's documentation
	Residual Form = "residual" // x + t·F(x, t), before distillation [R-5.2.13b]
)

// A ConsistencyNet is the network F(x, t) = W2·silu(W1·[x; t] + b1) + b2. Its slices may be
// those of a model's tensors cm.f.1.w to cm.f.2.b.
type ConsistencyNet[F grad.Float] struct {
	Dim, Hidden    int
	W1, B1, W2, B2 []F // [hidden, dim+1], [hidden], [dim, hidden], [dim]
}

// NewConsistencyNet makes a network whose second layer is zero and whose first layer is
// normal with deviation 1/√dim [R-2.1c].
func NewConsistencyNet[F grad.Float](dim, hidden int, s weights.Stream) *ConsistencyNet[F] {
	n := &ConsistencyNet[F]{dim, hidden, make([]F, hidden*(dim+1)), make([]F, hidden), make([]F, dim*hidden), make([]F, dim)}
	fill(n.W1, 1/math.Sqrt(float64(dim)), s)
	return n
}

// fill draws normal values.
func fill[F grad.Float](v []F, deviation float64, s weights.Stream) {
	x := make([]float64, len(v))
	s.Normal(x)
	for i := range v {
		v[i] = F(deviation * x[i])
	}
}

// check compares the slices with the sizes.
func (n *ConsistencyNet[F]) check() error {
	for _, p := range [...]struct {
		what      string
		want, got int
	}{{"W1", n.Hidden * (n.Dim + 1), len(n.W1)}, {"B1", n.Hidden, len(n.B1)}, {"W2", n.Dim * n.Hidden, len(n.W2)}, {"B2", n.Dim, len(n.B2)}} {
		if p.want != p.got || n.Dim < 1 || n.Hidden < 1 {
			return &consistencyShapeError{p.what, p.want, p.got}
		}
	}
	return nil
}

// clone copies a network.
func (n *ConsistencyNet[F]) clone() *ConsistencyNet[F] {
	c := *n
	c.W1, c.B1 = append([]F(nil), n.W1...), append([]F(nil), n.B1...)
	c.W2, c.B2 = append([]F(nil), n.W2...), append([]F(nil), n.B2...)
	return &c
}

// tensors are the slices of a network.
func (n *ConsistencyNet[F]) tensors() [4][]F { return [4][]F{n.W1, n.B1, n.W2, n.B2} }

// shapes are those of the slices.
func (n *ConsistencyNet[F]) shapes() [4][]int {
	return [4][]int{{n.Hidden, n.Dim + 1}, {n.Hidden}, {n.Dim, n.Hidden}, {n.Dim}}
}

// A Scratch has the memory of [ConsistencyNet.Eval] and [Apply]. The zero value is ready;
// it may be used by one goroutine at a time.
type Scratch[F grad.Float] struct {
	work   *grad.Work[F]
	in, up []F
	half   []F
}

// room makes the scratch large enough for m vectors.
func (s *Scratch[F]) room(m, in, up int) {
	if s.work == nil {
		s.work = grad.NewWork[F](nil)
	}
	if len(s.in) < m*in {
		s.in = make([]F, m*in)
	}
	if len(s.up) < m*up {
		s.up = make([]F, m*up)
	}
}

// Eval writes F(x, t) to dst for m vectors x [m, dim] with times t [m].
func (n *ConsistencyNet[F]) Eval(dst, x, t []F, s *Scratch[F]) error {
	m := len(t)
	if err := n.check(); err != nil {
		return err
	}
	if len(x) != m*n.Dim || len(dst) != len(x) {
		return &consistencyShapeError{"vectors: values", m * n.Dim, len(x)}
	}
	s.room(m, n.Dim+1, n.Hidden)
	for i, ti := range t {
		row := s.in[i*(n.Dim+1) : (i+1)*(n.Dim+1)]
		copy(row, x[i*n.Dim:(i+1)*n.Dim])
		row[n.Dim] = ti
	}
	n.layers(dst, m, s)
	return nil
}

// layers evaluates the two layers on s.in.
func (n *ConsistencyNet[F]) layers(dst []F, m int, s *Scratch[F]) {
	up := s.up[:m*n.Hidden]
	s.work.MulT(up, s.in[:m*(n.Dim+1)], n.W1, m, n.Dim+1, n.Hidden)
	silu(up, n.B1)
	s.work.MulT(dst, up, n.W2, m, n.Hidden, n.Dim)
	for i := 0; i < len(dst); i += n.Dim {
		dense.Add(dst[i:i+n.Dim], n.B2)
	}
}

// coefficients are c_skip, c_out and c_in at a time.
func coefficients(t, sigmaD float64) (skip, out, in float64) {
	sigma := MaxSigma * sigmaD * t
	sum := sigma*sigma + sigmaD*sigmaD
	root := math.Sqrt(sum)
	return sigmaD * sigmaD / sum, sigma * sigmaD / root, 1 / root
}

// Apply writes f(x, t) to dst, which may be x, for vectors x [m, dim] with times
// t [m]. A vector at t = 0 comes back as it is.
func Apply[F grad.Float](n *ConsistencyNet[F], dst, x, t []F, sigmaD float64, form Form, s *Scratch[F]) error {
	m := len(t)
	switch {
	case len(x) != m*n.Dim || len(dst) != len(x):
		return &consistencyShapeError{"vectors: values", m * n.Dim, len(x)}
	case form != Song && form != Residual:
		return fmt.Errorf("%w: there is no form %q", errConsistencyShape, form)
	case form == Song && !(sigmaD > 0 && sigmaD < math.Inf(1)):
		return fmt.Errorf("%w: σ_d is %v, want more than 0", errConsistencyShape, sigmaD)
	}
	if err := n.check(); err != nil {
		return err
	}
	d := n.Dim
	s.room(m, d+1+d, n.Hidden)
	value := s.in[m*(d+1) : m*(d+1+d)]
	for i, ti := range t {
		in := F(1)
		if form == Song {
			_, _, c := coefficients(float64(ti), sigmaD)
			in = F(c)
		}
		row := s.in[i*(d+1) : (i+1)*(d+1)]
		for j, v := range x[i*d : (i+1)*d] {
			row[j] = in * v
		}
		row[d] = ti
	}
	n.layers(value, m, s)
	for i, ti := range t {
		from, to, v := x[i*d:(i+1)*d], dst[i*d:(i+1)*d], value[i*d:(i+1)*d]
		skip, out := 1.0, float64(ti)
		if form == Song {
			skip, out, _ = coefficients(float64(ti), sigmaD)
		}
		for j := range to {
			if ti == 0 { // −0 + 0 would not be −0
				to[j] = from[j]
			} else {
				to[j] = F(skip)*from[j] + F(out)*v[j]
			}
		}
	}
	return nil
}

// Twice is f in two steps, as a neuron of low confidence takes them: normal noise
// of a small deviation is added to what the first step returns, and the second
// step is at half the time. normals has a number for every component.
func Twice[F grad.Float](n *ConsistencyNet[F], dst, x, t, normals []F, deviation, sigmaD float64, s *Scratch[F]) error {
	if len(normals) != len(x) {
		return &consistencyShapeError{"two steps: normal numbers", len(x), len(normals)}
	}
	if err := Apply(n, dst, x, t, sigmaD, Song, s); err != nil {
		return err
	}
	for i, z := range normals {
		dst[i] += F(deviation) * z
	}
	if len(s.half) < len(t) {
		s.half = make([]F, len(t))
	}
	half := s.half[:len(t)]
	for i, v := range t {
		half[i] = v / 2
	}
	return Apply(n, dst, dst, half, sigmaD, Song, s)
}

// Karras returns noise levels from high to low that are close where the noise is
// low: (high^⅐ + i/(n−1)·(low^⅐ − high^⅐))^7.
func Karras(n int, low, high float64) []float64 {
	s := make([]float64, n)
	a, b := math.Pow(high, 1./7), math.Pow(low, 1./7)
	for i := range s {
		s[i] = math.Pow(a+float64(i)/float64(max(n-1, 1))*(b-a), 7)
	}
	return s
}
