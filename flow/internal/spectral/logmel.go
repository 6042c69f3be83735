package spectral

import (
	"encoding/binary"

	"atenia/flow/graph"
	"atenia/flow/media"
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

// A features computes features frame by frame. A token gives at most one frame:
// none while the first one waits for its samples, and the rest comes when the
// stream has ended.
type features[F node.Float] struct {
	node.Reporter
	media.MelSettings
	count   int
	most    int                   // frames that may wait for the global maximum
	streams []*media.MelStream[F] // of each row
	level   []F                   // [mels]
	basis   []float64             // [count, mels] of the cosine transform, nil: none
	// For backward calls:
	adjoints []*media.MelAdjoint[F]
	dy       []float64 // [frames, mels] gradients of the bands
	dx       []F       // of the samples of a row
}

func newFeatures[F node.Float](cfg node.Config) (node.Instance[F], error) {
	s, err := melSettings(cfg.Node.Node)
	if err != nil {
		return nil, err
	}
	f := &features[F]{MelSettings: s, count: s.Mels, level: make([]F, s.Mels), most: cfg.Settings.Int("most_frames")}
	if cfg.Node.Type == "MFCC" {
		f.count = cfg.Settings.Int("n_mfcc")
		f.basis = media.Cosines(f.count, s.Mels)
	}
	late := 0
	for range cfg.Node.InShape[0].B * cfg.Node.InShape[0].C {
		st, err := media.NewMelStream[F](s)
		if err != nil {
			return nil, err
		}
		st.Reserve(f.most + st.Latency() + 4)
		f.streams, late = append(f.streams, st), st.Latency()
	}
	f.Reporter = node.NewReporter(cfg, late)
	if !cfg.Training {
		return f, nil
	}
	samples := (cfg.MaxTokens + 1) * s.Hop
	f.dy, f.dx = make([]float64, cfg.MaxTokens*s.Mels), make([]F, samples)
	for range f.streams {
		a, err := media.NewMelAdjoint[F](s, samples)
		if err != nil {
			return nil, err
		}
		a.Reserve(f.most + late + 4)
		f.adjoints = append(f.adjoints, a)
	}
	return f, nil
}

func (f *features[F]) Forward(c *node.Call[F]) graph.Code {
	made := 0
	for r, s := range f.streams {
		x := c.In[0].Row(r)
		made = 0
		for t := range c.Tokens {
			if s.Held() >= f.most {
				return graph.NoMemory // see most_frames
			}
			s.Push(x[t*f.Hop:][:f.Hop])
			if s.Next(f.level) {
				f.write(&c.Out[0], r, made)
				made++
			}
		}
	}
	c.Produced = made
	node.Report(f.Reporter, c)
	return graph.Success
}

// Drain gives the frames that the end of the signal determines.
func (f *features[F]) Drain(c *node.Call[F]) graph.Code {
	for r, s := range f.streams {
		if c.In[0].N > 0 {
			s.Push(c.In[0].Row(r))
		}
		s.Flush()
		for c.Produced = 0; c.Produced < c.Out[0].N && s.Next(f.level); c.Produced++ {
			f.write(&c.Out[0], r, c.Produced)
		}
	}
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

// read takes the gradients of a row's bands, [frames, mels], from those of the
// output.
func (f *features[F]) read(d *node.Tensor[F], r int) []float64 {
	mels := f.Mels
	dy := f.dy[:d.N*mels]
	clear(dy)
	for k := range f.count {
		for t, v := range d.Row(r*f.count + k) {
			if f.basis == nil {
				dy[t*mels+k] = float64(v)
				continue
			}
			for m, w := range f.basis[k*mels:][:mels] {
				dy[t*mels+m] += float64(w * float64(v))
			}
		}
	}
	return dy
}

func (f *features[F]) Needs() node.Needs            { return node.NeedX | node.NeedS0 }
func (f *features[F]) FinishAdjoint([]node.Grad[F]) {}
func (f *features[F]) ResetAdjoint() {
	for _, a := range f.adjoints {
		a.Reset()
	}
}

// Backward computes the frames of the call again and goes back through them.
func (f *features[F]) Backward(b *node.Back[F]) graph.Code {
	at := 0
	for r, a := range f.adjoints {
		state, ok := cutState(b.State0, &at)
		if !ok {
			return graph.State
		}
		x := b.In[0].Row(r)
		dx := f.dx[:len(x)]
		if a.Backward(state, dx, x, b.Final, f.read(&b.DOut[0], r)) != nil {
			return graph.State
		}
		if b.DIn[0].Data != nil {
			copy(b.DIn[0].Row(r), dx)
		}
	}
	node.Report(f.Reporter, &b.Call)
	return graph.Success
}

func (f *features[F]) Reset() {
	for _, s := range f.streams {
		s.Reset()
	}
}

// StateBytes returns the size of the state as it is now: a length and a stream
// for each row.
func (f *features[F]) StateBytes() (n int) {
	for _, s := range f.streams {
		n += 8 + s.StateBytes()
	}
	return n
}

func (f *features[F]) Save(dst []byte) (n int) {
	for _, s := range f.streams {
		binary.LittleEndian.PutUint64(dst[n:], uint64(s.StateBytes()))
		n += 8 + s.Save(dst[n+8:])
	}
	return n
}

func (f *features[F]) Load(src []byte) graph.Code {
	at := 0
	for _, s := range f.streams {
		state, ok := cutState(src, &at)
		if !ok || s.Load(state) != nil {
			return graph.State
		}
	}
	if at != len(src) {
		return graph.State
	}
	return graph.Success
}

// cutState returns the state of the next row.
func cutState(src []byte, at *int) ([]byte, bool) {
	rest := src[*at:]
	if len(rest) < 8 {
		return nil, false
	}
	n := binary.LittleEndian.Uint64(rest)
	if rest = rest[8:]; n > uint64(len(rest)) {
		return nil, false
	}
	*at += 8 + int(n)
	return rest[:n], true
}
