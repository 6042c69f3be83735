package sxlm

import (
	"encoding/binary"
	"io"

	"atenia/quila/internal/weights"
)

const (
	grphMagic = "GRPH"
	grphHead  = 32
)

// graphBytes is the size of block 3.
func graphBytes(n, edges, wout, kappa int, k Kind) int64 {
	per := int64(4+2+4) + int64(kindBytes[k])*int64(wout+kappa*kappa)
	return grphHead + 8*int64(n+1) + int64(edges)*per + 4*int64(n)
}

// graphKind is how block 3 writes an element type.
func graphKind(k Kind) uint32 {
	if k == F16 {
		return 1
	}
	return 0
}

// graph reads the head of block 3 and compares it with the configuration and
// the meta data, then the edges.
func (l *loader) graph(c raw) error {
	cfg := &l.m.Config
	head, err := c.read(0, min(grphHead, c.size))
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	if len(head) < grphHead || string(head[:4]) != grphMagic || le.Uint32(head[4:]) != version {
		return c.fail(0, "no GRPH container of version %d", version)
	}
	edges := le.Uint64(head[12:])
	for _, f := range []struct {
		at        int64
		name      string
		got, want uint64
	}{
		{8, "neurons", uint64(le.Uint32(head[8:])), uint64(cfg.N)}, {12, "edges", edges, l.info.Meta.Edges},
		{20, "weights of W_out", uint64(le.Uint32(head[20:])), uint64(cfg.WOutLen())}, {24, "kappa", uint64(le.Uint32(head[24:])), uint64(cfg.Kappa)},
		{28, "element type", uint64(le.Uint32(head[28:])), uint64(graphKind(l.kind))},
	} {
		if f.got != f.want {
			return fault(StepContents, 3, f.at, "%s: %d, want %d", f.name, f.got, f.want)
		}
	}
	if want := graphBytes(cfg.N, int(edges), cfg.WOutLen(), cfg.Kappa, l.kind); c.size != want {
		return c.fail(0, "a graph of %d bytes, want %d", c.size, want)
	}
	return l.edges(c, int(edges))
}

// edges reads the edges, their places and traces, and the clusters. The weights
// follow in [loader.edgeWeights].
func (l *loader) edges(c raw, edges int) error {
	n := l.m.Config.N
	rows, err := c.read(grphHead, 8*int64(n+1))
	if err != nil {
		return err
	}
	at := grphHead + int64(len(rows))
	list := make([]weights.Edge, 0, edges)
	dst, err := c.read(at, 4*int64(edges))
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	bad := func(at int64, format string, args ...any) error {
		return fault(StepContents, 3, at, format, args...)
	}
	if le.Uint64(rows) != 0 || le.Uint64(rows[8*n:]) != uint64(edges) {
		return bad(grphHead, "the rows of the graph go from %d to %d, want 0 to %d", le.Uint64(rows), le.Uint64(rows[8*n:]), edges)
	}
	for i := range n {
		lo, hi := le.Uint64(rows[8*i:]), le.Uint64(rows[8*i+8:])
		if hi < lo || hi > uint64(edges) {
			return bad(grphHead+8*int64(i), "row %d of the graph goes from %d to %d of %d", i, lo, hi, edges)
		}
		last := int64(-1)
		for e := lo; e < hi; e++ {
			d := int64(le.Uint32(dst[4*e:]))
			if d >= int64(n) || d <= last || d == int64(i) {
				return bad(at+4*int64(e), "neuron %d sends to %d after %d, of %d neurons", i, d, last, n)
			}
			list, last = append(list, weights.Edge{Source: int32(i), Target: int32(d)}), d
		}
	}
	at += 4 * int64(edges)
	places, err := c.read(at, 2*int64(edges))
	if err != nil {
		return err
	}
	pos := make([]uint16, edges)
	for e := range pos {
		if pos[e] = le.Uint16(places[2*e:]); !l.fits(uint32(pos[e])) {
			return bad(at+2*int64(e), "edge %d puts its message at %d, outside the neuron", e, pos[e])
		}
	}
	if l.m.Graph, err = weights.New(n, list, pos); err != nil {
		return because(StepContents, 3, grphHead, "the graph", err)
	}
	return nil
}

// fits reports whether a place lies on a neuron's map.
func (l *loader) fits(place uint32) bool {
	h := uint32(l.m.Config.H)
	return place>>8 < h && place&255 < h
}

// edgeWeights reads the rest of block 3 into tensors that have memory.
func (l *loader) edgeWeights(c raw) error {
	at := grphHead + 8*int64(l.m.Config.N+1) + 6*int64(l.m.Graph.Edges())
	for _, t := range l.m.edgeTensors(l.kind) {
		bad, err := t.decode(io.NewSectionReader(c.r, at, t.bytes()))
		if err != nil {
			return because(StepContents, 3, at, "reading "+t.name, err)
		}
		if bad >= 0 && !l.opt.AllowNaN {
			return fault(StepContents, 3, at+int64(bad)*int64(kindBytes[t.Kind]), "%s[%d] is not finite", t.name, bad)
		}
		at += t.bytes()
	}
	return nil
}

// edgeTensors are the arrays at the end of block 3, in their order.
func (m *Model) edgeTensors(k Kind) []named {
	e := m.Graph.Edges()
	return []named{
		{"edge.trace", &Tensor{Kind: F32, Dims: []int{e}, F32: m.Trace}},
		{"edge.w_out", &Tensor{Kind: k, Dims: []int{e, m.Config.WOutLen()}, F32: m.Weights.Of("edge.w_out")}},
		{"edge.kernel", &Tensor{Kind: k, Dims: []int{e, m.Config.Kappa * m.Config.Kappa}, F32: m.Weights.Of("edge.kernel")}},
		{"cluster", &Tensor{Kind: U32, Dims: []int{m.Config.N}, U32: m.Cluster}},
	}
}

// A grph is block 3 that is to be written.
type grph struct {
	m    *Model
	kind Kind
}

func (g *grph) size() int64 {
	c := &g.m.Config
	return graphBytes(c.N, g.m.Graph.Edges(), c.WOutLen(), c.Kappa, g.kind)
}

func (g *grph) write(w io.Writer) error {
	c, t, le := &g.m.Config, g.m.Graph, binary.LittleEndian
	b := le.AppendUint32([]byte(grphMagic), version)
	b = le.AppendUint64(le.AppendUint32(b, uint32(c.N)), uint64(t.Edges()))
	b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, uint32(c.WOutLen())), uint32(c.Kappa)), graphKind(g.kind))
	for _, r := range t.Row {
		b = le.AppendUint64(b, uint64(r))
	}
	for _, d := range t.Dst {
		b = le.AppendUint32(b, uint32(d))
	}
	for _, p := range t.Pos {
		b = le.AppendUint16(b, p)
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	for _, x := range g.m.edgeTensors(g.kind) {
		if err := x.encode(func(b []byte) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	return nil
}
