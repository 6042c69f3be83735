package graph

// shapes infers batches and channels of every stream by a fixed-point
// iteration. Within a cycle an input of unknown shape counts as that of the
// first known input; nodes that no source reaches get one batch and one
// channel.
func (l *linker) shapes() error {
	place := make([]int, len(l.Nodes))
	for k, v := range l.Order {
		place[v] = k
		l.Nodes[v].OutShape = make([]Shape, len(l.Nodes[v].Spec.Outs))
	}
	before := func(a, b int) bool { return place[a] < place[b] }
	round, later := &nodeQueue[int]{Before: before}, &nodeQueue[int]{Before: before}
	waiting := make([]bool, len(l.Nodes))
	for v := range l.Nodes {
		round.Push(v)
		waiting[v] = true
	}
	// A round visits, in order, the nodes whose inputs changed. Each round
	// fixes the shape of at least one node if the iteration converges.
	for range len(l.Nodes) + 1 {
		for round.Len() > 0 {
			v := round.Pop()
			waiting[v] = false
			if !l.shape(v) {
				continue
			}
			for _, out := range l.Nodes[v].Out {
				for _, i := range out {
					w := l.Edges[i].Dst
					if waiting[w] {
						continue
					}
					waiting[w] = true
					if place[w] > place[v] {
						round.Push(w)
					} else {
						later.Push(w)
					}
				}
			}
		}
		if later.Len() == 0 {
			break
		}
		round, later = later, round
	}
	for _, v := range l.Order {
		if err := l.guess(v); err != nil {
			return err
		}
	}
	for v := range l.Nodes {
		if err := l.fixShapes(v); err != nil {
			return err
		}
	}
	return nil
}

// incoming returns the shapes at the node's signal inputs, with unknown ones
// replaced by the first known one, and whether any is known.
func (l *linker) incoming(v int) ([]Shape, bool) {
	n := &l.Nodes[v]
	in := make([]Shape, len(n.In))
	var known Shape
	for k, i := range n.In {
		e := &l.Edges[i]
		if in[k] = l.Nodes[e.Src].OutShape[e.SrcPort]; known == (Shape{}) {
			known = in[k]
		}
	}
	for k := range in {
		if in[k] == (Shape{}) {
			in[k] = known
		}
	}
	return in, len(in) == 0 || known != Shape{}
}

// shape computes a node's outputs from the inputs known so far and reports
// whether one changed. A mismatch is only reported at the end, when all inputs
// are known.
func (l *linker) shape(v int) bool {
	n := &l.Nodes[v]
	in, known := l.incoming(v)
	if !known {
		return false
	}
	out, err := n.Spec.Shapes(in)
	if err != nil {
		return false
	}
	changed := false
	for p, s := range out {
		if p < len(n.OutShape) && n.OutShape[p] != s && max(s.B, s.C) <= maxRows { // a cycle may widen forever
			n.OutShape[p], changed = s, true
		}
	}
	return changed
}

// guess assigns shapes to nodes that no source reaches.
func (l *linker) guess(v int) error {
	in, known := l.incoming(v)
	for k := range in {
		if !known {
			in[k] = Shape{1, 1}
		}
	}
	out, err := l.outputs(v, in)
	if err == nil {
		copy(l.Nodes[v].OutShape, out)
	}
	return err
}

// maxRows bounds batches times channels of a stream.
const maxRows = 1 << 24

// outputs asks the node's type for its output shapes.
func (l *linker) outputs(v int, in []Shape) ([]Shape, error) {
	n := &l.Nodes[v]
	out, err := n.Spec.Shapes(in)
	if err != nil {
		return nil, l.told(err, BadShape, n.Path, v)
	}
	if len(out) != len(n.OutShape) {
		return nil, l.fault(BadShape, n.Path, []int{v}, "type %s gives %d shapes for %d outputs", n.Type, len(out), len(n.OutShape))
	}
	for _, s := range out {
		if s.B < 1 || s.C < 1 || s.B > maxRows || s.C > maxRows/s.B {
			return nil, l.fault(BadShape, n.Path, []int{v}, "%d batches of %d channels are not 1 to %d rows", s.B, s.C, maxRows)
		}
	}
	return out, nil
}

// fixShapes finalizes a node's shapes and checks parameters and modulation against
// them.
func (l *linker) fixShapes(v int) error {
	n := &l.Nodes[v]
	n.InShape = make([]Shape, len(n.In))
	for k, i := range n.In {
		e := &l.Edges[i]
		n.InShape[k] = l.Nodes[e.Src].OutShape[e.SrcPort]
	}
	out, err := l.outputs(v, n.InShape)
	if err != nil {
		return err
	}
	for p, s := range out {
		if s != n.OutShape[p] {
			return l.fault(BadShape, n.Path, []int{v}, "output %s of node %s has %v channels and, once round its cycle, %v", n.Spec.Outs[p], n.Name, n.OutShape[p].C, s.C)
		}
	}
	switch {
	case n.Spec.Rows != nil:
		n.Rows = n.Spec.Rows(n.InShape, out)
	case len(n.InShape) > 0:
		n.Rows = n.InShape[0]
	case len(out) > 0:
		n.Rows = out[0]
	default:
		n.Rows = Shape{1, 1}
	}
	for i := range n.Spec.Params {
		p := &n.Spec.Params[i]
		t := &p.Value
		if p.Table {
			continue
		}
		if t.B != 1 && t.B != n.Rows.B || t.C != 1 && t.C != n.Rows.C && p.Name != heatParam || t.F != 1 && t.F != n.Tokens {
			return l.fault(BadShape, member(n.Path+".params", p.Name), []int{v}, "shape [%d, %d, %d] does not fit node %s, which is [%d, %d, %d]: each dimension is 1 or the node's",
				t.B, t.C, t.F, n.Name, n.Rows.B, n.Rows.C, n.Tokens)
		}
	}
	for _, i := range n.Mods {
		e := &l.Edges[i]
		s := l.Nodes[e.Src].OutShape[e.SrcPort]
		if s.B != 1 && s.B != n.Rows.B || e.Channel >= s.C {
			return l.fault(BadShape, e.Path, []int{v}, "a modulation of %d batches and %d channels, channel %d wanted, does not fit node %s of %d batches", s.B, s.C, max(e.Channel, 0), n.Name, n.Rows.B)
		}
	}
	return nil
}
