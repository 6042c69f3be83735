package spectral

import (
	"atenia/flow/graph"
	"atenia/flow/mel"
	"atenia/flow/node"
)

// refineFeatures describes LogMel and MFCC.
func refineFeatures(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	m, err := melSettings(n)
	if err != nil {
		return err
	}
	count := m.Mels
	if n.Type == "MFCC" {
		if count = s.Int("n_mfcc"); count > m.Mels {
			return node.Bad(n, "n_mfcc", "at most n_mels wanted")
		}
	}
	spec.Cons = []int{m.Hop}
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		return []graph.Shape{{B: in[0].B, C: in[0].C * count}}, nil
	}
	return nil
}

// A features computes features frame by frame.
type features[F node.Float] struct {
	node.Reporter
	hop, latency, count int
	streams             []*mel.Stream[F] // of each row
	level               []F              // [mels]
	basis               []float64        // [count, mels] of the cosine transform, nil: none
	tokens              []float64        // token count, in the form of a snapshot
}

func newFeatures[F node.Float](cfg node.Config) (node.Instance[F], error) {
	s, err := melSettings(cfg.Node.Node)
	if err != nil {
		return nil, err
	}
	f := &features[F]{hop: s.Hop, count: s.Mels, level: make([]F, s.Mels), tokens: make([]float64, 1)}
	if cfg.Node.Type == "MFCC" {
		f.count = cfg.Settings.Int("n_mfcc")
		f.basis = mel.Cosines(f.count, s.Mels)
	}
	for range cfg.Node.InShape[0].B * cfg.Node.InShape[0].C {
		st, err := mel.NewStream[F](s)
		if err != nil {
			return nil, err
		}
		f.streams = append(f.streams, st)
		f.latency = st.Latency()
	}
	f.Reporter = node.NewReporter(cfg, f.latency)
	return f, nil
}

func (f *features[F]) Forward(c *node.Call[F]) graph.Code {
	for r, s := range f.streams {
		x := c.In[0].Row(r)
		for t := range c.Tokens {
			s.Push(x[t*f.hop:][:f.hop])
			if int(f.tokens[0])+t < f.latency || !s.Next(f.level) {
				clear(f.level)
			}
			f.write(&c.Out[0], r, t)
		}
	}
	f.tokens[0] += float64(c.Tokens)
	node.Report(f.Reporter, c)
	return graph.Success
}

// write stores the bands or their cosine transform in a frame of the output.
func (f *features[F]) write(y *node.Tensor[F], r, t int) {
	for k := range f.count {
		v := f.level[min(k, len(f.level)-1)]
		if f.basis != nil {
			sum := 0.0
			for m, w := range f.basis[k*len(f.level):][:len(f.level)] {
				sum += float64(w * float64(f.level[m]))
			}
			v = F(sum)
		}
		y.Row(r*f.count + k)[t] = v
	}
}

func (f *features[F]) Reset() {
	for _, s := range f.streams {
		s.Reset()
	}
	f.tokens[0] = 0
}

func (f *features[F]) StateBytes() int {
	n := node.FloatBytes[float64](1)
	for _, s := range f.streams {
		n += s.StateBytes()
	}
	return n
}

func (f *features[F]) Save(dst []byte) int {
	n := node.PutFloats(dst, f.tokens)
	for _, s := range f.streams {
		n += s.Save(dst[n:])
	}
	return n
}

func (f *features[F]) Load(src []byte) graph.Code {
	if len(src) != f.StateBytes() {
		return graph.State
	}
	n := node.GetFloats(f.tokens, src)
	for _, s := range f.streams {
		if s.Load(src[n:][:s.StateBytes()]) != nil {
			return graph.State
		}
		n += s.StateBytes()
	}
	return graph.Success
}
