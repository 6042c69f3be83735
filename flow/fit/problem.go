package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Param names a free parameter of a node.
type Param struct {
	Node, Name string
	// Positive parameters are numbers greater than zero. They are optimized by
	// their logarithm.
	Positive bool
	// Scale is the change of the parameter, or of its logarithm, that
	// corresponds to one unit of the vector: larger for parameters that should
	// move faster. 0: 1.
	Scale float64
}

// to returns the element of the vector for a value of the parameter.
func (p Param) to(v float64) float64 {
	if p.Positive {
		v = math.Log(v)
	}
	return v / p.unit()
}

// from returns the value for an element x, and its derivative by x.
func (p Param) from(x float64) (v, slope float64) {
	x *= p.unit()
	if p.Positive {
		return math.Exp(x), math.Exp(x) * p.unit()
	}
	return x, p.unit()
}

func (p Param) unit() float64 {
	if p.Scale == 0 {
		return 1
	}
	return p.Scale
}

// String returns "node.parameter".
func (p Param) String() string { return p.Node + "." + p.Name }

// ErrParam matches errors about parameters that cannot be fitted.
var ErrParam = errors.New("parameter cannot be fitted")

// A Config describes a [Problem].
type Config[F node.Float] struct {
	Options flow.Options // of the sessions; Training is set
	Inputs  Streams[F]   // by Input node
	End     graph.Rat    // base frames to run; zero: as many as the longest input has
	Params  []Param
	Loss    Loss[F]
	Record  flow.Recording // how forward calls are recorded; snapshots save memory
	Sweep   flow.Sweep
}

// A Problem is a loss as a function of parameters. [New] makes one. Its methods may be called by
// one goroutine at a time.
type Problem[F node.Float] struct {
	plan   *graph.Plan
	cfg    Config[F]
	values []graph.Tensor // of each parameter, as in the plan
}

// New checks a problem against its plan. Errors about parameters match
// [ErrParam].
func New[F node.Float](p *graph.Plan, cfg Config[F]) (*Problem[F], error) {
	cfg.Options.Training = true
	s, err := flow.New[F](p, cfg.Options)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if cfg.Loss == nil {
		return nil, fmt.Errorf("fit: no loss")
	}
	l := s.Linked()
	if cfg.End.Num == 0 {
		cfg.End = Length(l, cfg.Inputs)
	}
	q := &Problem[F]{plan: p, cfg: cfg}
	for _, w := range cfg.Params {
		v, err := find(l, w)
		if err != nil {
			return nil, err
		}
		q.values = append(q.values, v)
	}
	return q, nil
}

// Length returns how many base frames the longest of the input streams has.
func Length[F node.Float](l *graph.Linked, inputs Streams[F]) graph.Rat {
	end := graph.Rat{Den: 1}
	for i := range l.Nodes {
		if n := &l.Nodes[i]; n.Spec.Endpoint == graph.Fed {
			end = end.Max(graph.Rat{Num: int64(inputs[n.Name].N) * n.Rate.Den, Den: n.Rate.Num})
		}
	}
	return end
}

// find returns the value of a parameter.
func find(l *graph.Linked, w Param) (graph.Tensor, error) {
	fault := func(format string, args ...any) (graph.Tensor, error) {
		return graph.Tensor{}, fmt.Errorf("%w: %v: %s", ErrParam, w, fmt.Sprintf(format, args...))
	}
	i := slices.IndexFunc(l.Nodes, func(n graph.LinkedNode) bool { return n.Name == w.Node })
	if i < 0 {
		return fault("the graph has no node %s", w.Node)
	}
	n := &l.Nodes[i]
	k := slices.IndexFunc(n.Spec.Params, func(p graph.ParamSpec) bool { return p.Name == w.Name })
	switch {
	case k < 0:
		return fault("type %s has no such parameter", n.Type)
	case !n.Spec.Adjoint:
		return fault("type %s has no adjoint", n.Type)
	case !n.SupportsV2:
		return fault("ABI version 1 has no backward mode: set supports_v2 in the plan")
	}
	v := n.Spec.Params[k].Value
	if w.Scale < 0 || w.Scale-w.Scale != 0 {
		return fault("its scale is %g", w.Scale)
	}
	for _, x := range v.Data {
		if w.Positive && x <= 0 {
			return fault("it starts at %g and must be positive", x)
		}
	}
	return v, nil
}

// All returns the parameters of a graph that have a gradient, in the order of the graph.
func All(l *graph.Linked) (all []Param) {
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if !n.Spec.Adjoint || !n.SupportsV2 || n.Spec.Endpoint != graph.Inner {
			continue
		}
		for _, s := range n.Spec.Params {
			if s.Name != node.Heat && len(s.Value.Data) > 0 {
				all = append(all, Param{Node: n.Name, Name: s.Name})
			}
		}
	}
	return all
}

// Start returns the parameters' values in the plan as a vector: all elements
// concatenated, in the units of the vector.
func (p *Problem[F]) Start() []float64 {
	var x []float64
	for i, v := range p.values {
		for _, d := range v.Data {
			x = append(x, p.cfg.Params[i].to(d))
		}
	}
	return x
}

// Plan returns the plan with its parameters set to x.
func (p *Problem[F]) Plan(x []float64) *graph.Plan {
	q := *p.plan
	q.Nodes = slices.Clone(q.Nodes)
	for i, w := range p.cfg.Params {
		v := p.values[i]
		v.Data = slices.Clone(v.Data)
		for k := range v.Data {
			v.Data[k], _ = w.from(x[k])
		}
		x = x[len(v.Data):]
		n := &q.Nodes[slices.IndexFunc(q.Nodes, func(n graph.Node) bool { return n.Name == w.Node })]
		n.Params = slices.Clone(n.Params)
		if old := n.Param(w.Name); old != nil {
			old.Value, old.Integer = &v, false
		} else {
			n.Params = append(n.Params, graph.Param{Name: w.Name, Value: &v})
		}
	}
	return &q
}

// Value returns the loss at x.
func (p *Problem[F]) Value(x []float64) (float64, error) {
	s, err := flow.New[F](p.Plan(x), p.cfg.Options)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	out, err := s.RunTo(p.cfg.Inputs, p.cfg.End)
	if err != nil {
		return 0, err
	}
	v, _, err := p.cfg.Loss(out)
	return v, err
}

// A Point is a loss with its derivatives.
type Point[F node.Float] struct {
	Loss     float64
	Gradient []float64 // by x
	// All holds the gradients of every input and parameter of the graph.
	All *flow.Gradients[F]
	// Metrics holds the cost of both directions.
	Metrics flow.Metrics
}

// Gradient returns the loss at x and its derivatives.
func (p *Problem[F]) Gradient(x []float64) (*Point[F], error) {
	s, err := flow.New[F](p.Plan(x), p.cfg.Options)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rec, err := s.Record(p.cfg.Record)
	if err != nil {
		return nil, err
	}
	out, err := s.RunTo(p.cfg.Inputs, p.cfg.End)
	if err != nil {
		return nil, err
	}
	pt := &Point[F]{}
	var seed Streams[F]
	if pt.Loss, seed, err = p.cfg.Loss(out); err != nil {
		return nil, err
	}
	if pt.All, err = rec.Backward(seed, p.cfg.Sweep); err != nil {
		return nil, err
	}
	pt.Metrics = s.Metrics()
	for _, w := range p.cfg.Params {
		g := pt.All.Param(w.Node, w.Name)
		if g == nil {
			return nil, fmt.Errorf("%w: %v has no gradient", ErrParam, w)
		}
		for _, d := range g.Data {
			_, slope := w.from(x[len(pt.Gradient)])
			pt.Gradient = append(pt.Gradient, d*slope)
		}
	}
	return pt, nil
}

// A Difference compares one derivative with a central difference.
type Difference struct {
	Param            Param
	Element          int
	Exact, Numerical float64
}

// Error returns the difference relative to the larger of both values, or to
// 1e-8 of the largest derivative.
func (d Difference) Error(largest float64) float64 {
	return math.Abs(d.Exact-d.Numerical) / max(math.Abs(d.Exact), math.Abs(d.Numerical), 1e-8*largest, math.SmallestNonzeroFloat64)
}

// checkStep is the step of central differences in float64, relative for values
// above 1: the cube root of the precision, where rounding and truncation errors
// balance.
const checkStep = 6e-6

// Check compares the derivatives at x with central differences: at most most
// elements of each parameter, evenly spread. It runs the graph twice per
// element, so use it on short streams.
func (p *Problem[F]) Check(x []float64, most int) ([]Difference, error) {
	pt, err := p.Gradient(x)
	if err != nil {
		return nil, err
	}
	var all []Difference
	base := 0
	for i, w := range p.cfg.Params {
		size := len(p.values[i].Data)
		n := min(size, most)
		for k := range n {
			e := k * size / n
			d := Difference{Param: w, Element: e, Exact: pt.Gradient[base+e]}
			if d.Numerical, err = p.slope(x, base+e); err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		base += size
	}
	return all, nil
}

// slope returns the central difference by one element.
func (p *Problem[F]) slope(x []float64, i int) (float64, error) {
	h := checkStep * max(1, math.Abs(x[i]))
	at := slices.Clone(x)
	at[i] = x[i] + h
	up, err := p.Value(at)
	if err != nil {
		return 0, err
	}
	high := at[i]
	at[i] = x[i] - h
	down, err := p.Value(at)
	return (up - down) / (high - at[i]), err
}
