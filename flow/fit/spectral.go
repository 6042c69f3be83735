package fit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// DefaultSizes are the frames of the spectra that [Spectral] compares, if none are
// given: those of Engel et al., DDSP: Differentiable digital signal processing, 2020.
var DefaultSizes = []int{2048, 1024, 512, 256, 128, 64}

// Spectral returns a [Loss] that hears as a listener does, who notices levels of
// frequencies and no phases: for each size the mean over frames, bins and channels of
// (m-m')² + (ln m - ln m')², where m and m' are magnitudes of spectra of size frames
// of a probe's stream and of its target, a quarter of the size apart; summed over the
// sizes and probes. It is computed by nodes of type SpectralLoss. Sizes are powers of
// two from 16 to 65536, none = [DefaultSizes]. The shorter of both streams determines
// the length; probes without a target do not count.
func Spectral[F node.Float](target Streams[F], sizes ...int) (Loss[F], error) {
	if len(sizes) == 0 {
		sizes = DefaultSizes
	}
	for _, n := range sizes {
		if n < 16 || n > 1<<16 || n&(n-1) != 0 {
			return nil, fmt.Errorf("fit: spectra of %d frames: want powers of two from 16 to 65536", n)
		}
	}
	sides := map[string]*spectra[F]{}
	for name, t := range target {
		s, err := newSpectra(t, sizes)
		if err != nil {
			return nil, err
		}
		sides[name] = s
	}
	return func(out Streams[F]) (sum float64, d Streams[F], err error) {
		d = like(out)
		for _, name := range slices.Sorted(maps.Keys(target)) {
			y, err := match(out, name, target[name])
			if err != nil {
				return 0, nil, err
			}
			v, err := sides[name].loss(y, d[name])
			if err != nil {
				return 0, nil, err
			}
			sum += v
		}
		return sum, d, nil
	}, nil
}

// match returns the stream of a probe that has the shape of its target.
func match[F node.Float](out Streams[F], name string, t node.Tensor[F]) (node.Tensor[F], error) {
	y, ok := out[name]
	if !ok {
		return y, &graph.Error{Code: graph.UnknownNode, Path: "$", Names: []string{name}, Text: "a target for a probe that is not in the graph"}
	}
	if y.B != t.B || y.C != t.C {
		return y, &graph.Error{Code: graph.BadShape, Path: "$", Names: []string{name},
			Text: fmt.Sprintf("a target of shape [%d, %d] for a probe of [%d, %d]", t.B, t.C, y.B, y.C)}
	}
	return y, nil
}

// A spectra compares streams with one target by a graph of its own.
type spectra[F node.Float] struct {
	target node.Tensor[F]
	sizes  []int
	s      *flow.Session[F]
	rec    *flow.Record[F]
	block  int
}

func newSpectra[F node.Float](t node.Tensor[F], sizes []int) (*spectra[F], error) {
	nodes := []string{fmt.Sprintf(`{"name": "y", "type": "Input", "params": {"batches": %[1]d, "channels": %[2]d}}, {"name": "t", "type": "Input", "params": {"batches": %[1]d, "channels": %[2]d}}`, t.B, t.C)}
	var edges []string
	for _, n := range sizes {
		nodes = append(nodes, fmt.Sprintf(`{"name": "loss%[1]d", "type": "SpectralLoss", "supports_v2": true, "params": {"n_fft": %[1]d, "hop": %[2]d}}, {"name": %[3]q, "type": "Probe"}`, n, n/4, probe(n)))
		edges = append(edges, fmt.Sprintf(`{"source": "y", "target": "loss%[1]d.in"}, {"source": "t", "target": "loss%[1]d.target"}, {"source": "loss%[1]d", "target": %[2]q}`, n, probe(n)))
	}
	p, err := graph.Parse([]byte(`{"nodes": [` + strings.Join(nodes, ", ") + `], "edges": [` + strings.Join(edges, ", ") + `]}`))
	if err != nil {
		return nil, err
	}
	// The largest hop is a multiple of the others.
	c := &spectra[F]{target: t, sizes: sizes, block: max(slices.Max(sizes)/4, graph.DefaultBlock)}
	if c.s, err = flow.New[F](p, flow.Options{BlockFrames: c.block, Training: true}); err != nil {
		return nil, err
	}
	c.rec, err = c.s.Record(flow.Recording{NoParams: true})
	return c, err
}

// probe names what takes the losses of one size.
func probe(size int) string { return fmt.Sprintf("sum%d", size) }

// loss returns the loss of a stream and adds its derivatives to d.
func (c *spectra[F]) loss(y, d node.Tensor[F]) (sum float64, err error) {
	n := min(y.N, c.target.N)
	// Silence behind the end lets the last frames be heard as often as the others.
	blocks := (n + slices.Max(c.sizes) + c.block - 1) / c.block
	c.s.Reset()
	out, err := c.s.Run(Streams[F]{"y": first(y, n), "t": first(c.target, n)}, blocks)
	if err != nil {
		return 0, err
	}
	seed := like(out)
	for _, size := range c.sizes {
		// Behind these spectra of one batch both streams are silent.
		count := float64(y.B * ((n + size) / (size / 4)))
		t, g := out[probe(size)], seed[probe(size)]
		for i, v := range t.Data[:len(g.Data)] {
			sum += float64(v) / count
			g.Data[i] = F(1 / count)
		}
	}
	found, err := c.rec.Backward(seed, flow.Sweep{})
	if err != nil {
		return 0, err
	}
	g := found.Inputs["y"]
	for r := range y.B * y.C {
		to := d.Row(r)
		for i, v := range g.Row(r)[:n] {
			to[i] += v
		}
	}
	return sum, nil
}

// first returns the first frames of a stream.
func first[F node.Float](t node.Tensor[F], n int) node.Tensor[F] {
	if n == t.N {
		return t
	}
	out := node.Tensor[F]{Data: make([]F, 0, t.B*t.C*n), B: t.B, C: t.C, N: n}
	for r := range t.B * t.C {
		out.Data = append(out.Data, t.Row(r)[:n]...)
	}
	return out
}
