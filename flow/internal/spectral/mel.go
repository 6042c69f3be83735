package spectral

import (
	"encoding/json"
	"errors"

	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// melSettings reads the settings of a node: a preset, overridden by the
// parameters of the plan, which are named as in [media.MelSettings].
func melSettings(n *graph.Node) (media.MelSettings, error) {
	preset := "whisper"
	over := map[string]any{}
	for _, p := range n.Params {
		var v any
		switch {
		case p.Name == node.Heat || p.Name == "input" || p.Name == "n_mfcc" || p.Name == "most_frames":
			continue
		case p.Text != nil:
			v = *p.Text
		case p.Flag != nil:
			v = *p.Flag
		case p.Value != nil && len(p.Value.Data) == 1:
			v = p.Value.Data[0]
		default:
			return media.MelSettings{}, node.Bad(n, p.Name, "a word or one number wanted")
		}
		if word, ok := v.(string); ok && p.Name == "preset" {
			preset = word
			continue
		}
		over[p.Name] = v
	}
	s, err := media.MelPreset(preset)
	if err != nil {
		return s, node.Bad(n, "preset", err.Error())
	}
	for _, p := range n.Params { // one at a time, so that an error names its setting
		v, ok := over[p.Name]
		if !ok {
			continue
		}
		text, err := json.Marshal(map[string]any{p.Name: v})
		if err == nil {
			s, err = s.With(text)
		}
		if err != nil {
			return s, node.Bad(n, p.Name, err.Error())
		}
	}
	if s.Peak == "" {
		s.Peak = "running"
	}
	if err := s.Check(); err != nil {
		name := "preset"
		if e, ok := errors.AsType[*media.MelSettingError](err); ok {
			name = e.Setting
		}
		return s, node.Bad(n, name, err.Error())
	}
	return s, nil
}

// refineMel describes Mel.
func refineMel(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	m, err := melSettings(n)
	if err != nil {
		return err
	}
	per := inputChannels(s, m)
	spec.Shapes = func(in []graph.Shape) ([]graph.Shape, error) {
		if in[0].C%per != 0 {
			return nil, node.Mismatch(n, "a spectrum has n_fft + 2 channels for each of the signal's, one of power half of them")
		}
		return []graph.Shape{{B: in[0].B, C: in[0].C / per * m.Mels}}, nil
	}
	return nil
}

// inputChannels is the number of a spectrum's channels per channel of the
// signal.
func inputChannels(s node.Settings, m media.MelSettings) int {
	if s.Word("input") == "power" {
		return m.Bins()
	}
	return 2 * m.Bins()
}

// A melNode sums powers over bands: y = sum of w |x|², or of w x if the input
// already is power.
type melNode[F node.Float] struct {
	node.Reporter
	bands     []media.MelBand
	weights   [][]F
	bins, per int
	groups    int // channels of the signal, of all batches
	power     bool
}

func newMel[F node.Float](cfg node.Config) (node.Instance[F], error) {
	s, err := melSettings(cfg.Node.Node)
	if err != nil {
		return nil, err
	}
	bands, err := media.MelMatrix(s)
	if err != nil {
		return nil, err
	}
	m := &melNode[F]{Reporter: node.NewReporter(cfg, 0), bands: bands, bins: s.Bins(), per: inputChannels(cfg.Settings, s), power: cfg.Settings.Word("input") == "power"}
	m.groups = cfg.Node.InShape[0].B * cfg.Node.InShape[0].C / m.per
	for _, b := range bands {
		w := make([]F, len(b.Weights))
		for i, v := range b.Weights {
			w[i] = F(v)
		}
		m.weights = append(m.weights, w)
	}
	return m, nil
}

func (m *melNode[F]) Reset()                       {}
func (m *melNode[F]) ResetAdjoint()                {}
func (m *melNode[F]) FinishAdjoint([]node.Grad[F]) {}
func (m *melNode[F]) Needs() node.Needs {
	if m.power {
		return 0
	}
	return node.NeedX
}

func (m *melNode[F]) Forward(c *node.Call[F]) graph.Code {
	for g := range m.groups {
		for i, w := range m.weights {
			y := c.Out[0].Row(g*len(m.bands) + i)
			clear(y)
			for k, v := range w {
				k += m.bands[i].First
				re := c.In[0].Row(g*m.per + k)
				if m.power {
					dsp.AddScaled(y, re, v)
					continue
				}
				im := c.In[0].Row(g*m.per + m.bins + k)
				for t, r := range re {
					y[t] += F(v * (F(r*r) + F(im[t]*im[t])))
				}
			}
		}
	}
	node.Report(m.Reporter, c)
	return graph.Success
}

func (m *melNode[F]) Backward(b *node.Back[F]) graph.Code {
	if b.DIn[0].Data == nil {
		node.Report(m.Reporter, &b.Call)
		return graph.Success
	}
	for g := range m.groups {
		for k := range m.per {
			clear(b.DIn[0].Row(g*m.per + k))
		}
		for i, w := range m.weights {
			dy := b.DOut[0].Row(g*len(m.bands) + i)
			for k, v := range w {
				dsp.AddScaled(b.DIn[0].Row(g*m.per+m.bands[i].First+k), dy, v)
			}
		}
		for k := range m.bins {
			if m.power {
				break
			}
			// So far the gradient of the power is stored at the real part.
			at := g*m.per + k
			re, im, dRe, dIm := b.In[0].Row(at), b.In[0].Row(at+m.bins), b.DIn[0].Row(at), b.DIn[0].Row(at+m.bins)
			for t, d := range dRe {
				dRe[t], dIm[t] = 2*d*re[t], 2*d*im[t]
			}
		}
	}
	node.Report(m.Reporter, &b.Call)
	return graph.Success
}
