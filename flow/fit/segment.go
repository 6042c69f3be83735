package fit

import (
	"fmt"
	"math"
	"strings"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/grad"
)

// SegmentKey names the operation on tapes.
const SegmentKey grad.Key = "flow.segment"

// RegisterSegment lets tapes with this registry differentiate segments. Call it before
// [grad.New].
func RegisterSegment[F node.Float](r *grad.Registry[F]) { r.Register(SegmentKey, back[F]) }

// SegmentConfig configures a segment. With the zero value no parameter is trained and
// every call is kept.
type SegmentConfig struct {
	Options flow.Options
	Params  []string // node.parameter: what Apply takes values for
	Record  flow.Recording
	Sweep   flow.Sweep
}

// A Segment is a graph as a tape operation. [NewSegment] makes one. It belongs to one goroutine.
type Segment[F node.Float] struct {
	cfg    SegmentConfig
	linked *graph.Linked
	inputs []int // Input nodes in the order of the plan
	probes []int
	params []param
	free   []*pass[F]
	err    error
}

type param struct {
	node, name string
	shape      graph.Tensor // the default's; Data is not used
}

// A pass is one forward and backward run of the graph.
type pass[F node.Float] struct {
	seg *Segment[F]
	s   *flow.Session[F]
	rec *flow.Record[F]
	out []node.Tensor[F] // by probe
}

// NewSegment checks that the plan links and has the parameters.
func NewSegment[F node.Float](p *graph.Plan, cfg SegmentConfig) (*Segment[F], error) {
	g := &Segment[F]{cfg: cfg}
	g.cfg.Options.Training = true
	g.cfg.Record.NoParams = len(cfg.Params) == 0
	s, err := flow.New[F](p, g.cfg.Options)
	if err != nil {
		return nil, err
	}
	g.linked = s.Linked()
	for v := range g.linked.Nodes {
		switch g.linked.Nodes[v].Spec.Endpoint {
		case graph.Fed:
			g.inputs = append(g.inputs, v)
		case graph.Taken:
			g.probes = append(g.probes, v)
		}
	}
	for _, name := range cfg.Params {
		q, err := g.find(name)
		if err != nil {
			return nil, err
		}
		g.params = append(g.params, q)
	}
	return g, nil
}

// find looks a parameter up by "node.parameter".
func (g *Segment[F]) find(name string) (param, error) {
	for v := range g.linked.Nodes {
		n := &g.linked.Nodes[v]
		own, ok := strings.CutPrefix(name, n.Name+".")
		if !ok {
			continue
		}
		for _, spec := range n.Spec.Params {
			if spec.Name == own && own != "thermo.heat" { // heat has no gradient
				return param{n.Name, own, spec.Value}, nil
			}
		}
	}
	return param{}, &graph.Error{Code: graph.InvalidArg, Path: g.linked.Plan.Root, Names: []string{name}, Text: "no such parameter: want node.parameter"}
}

// Inputs returns the names of the Input nodes, in the order in which Apply
// takes their streams.
func (g *Segment[F]) Inputs() []string { return g.names(g.inputs) }

// Probes returns the names of the Probe nodes, in the order in which Apply
// returns their streams.
func (g *Segment[F]) Probes() []string { return g.names(g.probes) }

func (g *Segment[F]) names(nodes []int) (names []string) {
	for _, v := range nodes {
		names = append(names, g.linked.Nodes[v].Name)
	}
	return names
}

// Apply runs the graph on whole streams. Inputs are [B, C, frames] in the order
// of Inputs, a whole number of blocks and equally many for each; params follow
// the order of the configuration, with as many elements as the parameter has.
// It returns [B, C, frames] for each probe. A shape error found by the tape
// becomes the tape's error too.
func (g *Segment[F]) Apply(t *grad.Tape[F], in, params []grad.Ref) ([]grad.Ref, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	p, err := g.pass()
	if err != nil {
		return nil, err
	}
	streams, blocks, err := g.streams(t, in)
	if err != nil {
		return nil, err
	}
	if err := p.set(t, params); err != nil {
		return nil, err
	}
	took, err := p.s.Run(streams, blocks)
	if err != nil {
		return nil, err
	}
	var out []grad.Ref
	p.out = p.out[:0]
	for _, name := range g.Probes() {
		y := took[name]
		r := t.Alloc(y.B, y.C, y.N)
		copy(t.Data(r), y.Data)
		out, p.out = append(out, r), append(p.out, y)
	}
	if err := t.Opaque(SegmentKey, append(append([]grad.Ref(nil), in...), params...), out, nil, p); err != nil {
		return nil, err
	}
	if !t.Recording() {
		g.free = append(g.free, p)
	}
	return out, nil
}

// pass returns a session at the start of its streams.
func (g *Segment[F]) pass() (*pass[F], error) {
	if n := len(g.free); n > 0 {
		p := g.free[n-1]
		g.free = g.free[:n-1]
		p.s.Reset()
		return p, nil
	}
	s, err := flow.NewLinked[F](g.linked, g.cfg.Options)
	if err != nil {
		return nil, err
	}
	rec, err := s.Record(g.cfg.Record)
	if err != nil {
		return nil, err
	}
	return &pass[F]{seg: g, s: s, rec: rec}, nil
}

// streams returns the inputs as the session takes them, and their length.
func (g *Segment[F]) streams(t *grad.Tape[F], in []grad.Ref) (map[string]node.Tensor[F], int, error) {
	if len(in) != len(g.inputs) {
		return nil, 0, &graph.Error{Code: graph.InvalidArg, Path: g.linked.Plan.Root, Names: g.Inputs(), Text: fmt.Sprintf("%d streams for %d inputs", len(in), len(g.inputs))}
	}
	streams, blocks := map[string]node.Tensor[F]{}, -1
	for i, v := range g.inputs {
		n := &g.linked.Nodes[v]
		shape, own := t.Shape(in[i]), n.OutShape[0]
		if len(shape) != 3 || shape[0] != own.B || shape[1] != own.C || shape[2]%n.Tokens != 0 || blocks >= 0 && shape[2]/n.Tokens != blocks {
			return nil, 0, &graph.Error{Code: graph.BadShape, Path: n.Path, Names: []string{n.Name},
				Text: fmt.Sprintf("a stream of shape %v: want [%d, %d, a multiple of %d], as many blocks as the other inputs", shape, own.B, own.C, n.Tokens)}
		}
		blocks = shape[2] / n.Tokens
		streams[n.Name] = node.Tensor[F]{Data: t.Value(in[i]), B: own.B, C: own.C, N: shape[2]}
	}
	return streams, max(blocks, 0), nil
}

// set gives the parameters their values.
func (p *pass[F]) set(t *grad.Tape[F], params []grad.Ref) error {
	g := p.seg
	if len(params) != len(g.params) {
		return &graph.Error{Code: graph.InvalidArg, Path: g.linked.Plan.Root, Names: g.cfg.Params, Text: fmt.Sprintf("%d values for %d parameters", len(params), len(g.params))}
	}
	for i, q := range g.params {
		v := t.Value(params[i])
		if want := q.shape.B * q.shape.C * q.shape.F; len(v) != want {
			return &graph.Error{Code: graph.BadShape, Path: g.linked.Plan.Root, Names: []string{q.node, q.name}, Text: fmt.Sprintf("%d values for a parameter of [%d, %d, %d]", len(v), q.shape.B, q.shape.C, q.shape.F)}
		}
		values := make([]float64, len(v))
		for k, x := range v {
			values[k] = float64(x)
		}
		if err := p.s.Set(q.node, q.name, values); err != nil {
			return err
		}
	}
	return nil
}

// Err returns the first error of a backward pass. A tape's backward functions
// cannot return one, so the gradients of that operation are NaN: check Err
// after every backward pass.
func (g *Segment[F]) Err() error { return g.err }

// back is the backward function of segments.
func back[F node.Float](b *grad.OpaqueBack[F]) {
	p := b.Aux.(*pass[F])
	g := p.seg
	seeds := map[string]node.Tensor[F]{}
	for i, name := range g.Probes() {
		y := p.out[i]
		y.Data = b.DOut(i)
		seeds[name] = y
	}
	found, err := p.rec.Backward(seeds, g.cfg.Sweep)
	if err != nil && g.err == nil {
		g.err = err
	}
	for i, name := range g.Inputs() {
		d := b.DIn(i)
		for k := range d {
			if err != nil {
				d[k] = F(math.NaN())
				continue
			}
			d[k] += found.Inputs[name].Data[k]
		}
	}
	for i, q := range g.params {
		d := b.DIn(len(g.inputs) + i)
		for k := range d {
			if err != nil {
				d[k] = F(math.NaN())
				continue
			}
			d[k] += F(found.Param(q.node, q.name).Data[k])
		}
	}
	g.free = append(g.free, p)
}
