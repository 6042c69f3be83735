package weights

import (
	"math"
	"strings"

	"atenia/quila/config"
)

// initial returns the rule of a tensor's first values, one of those by name or
// one that it shares with others of its kind; without one it starts at zero.
func initial(c *config.Config, byName map[string]filler, s *Spec) (filler, bool) {
	name := s.Name
	if port, ok := strings.CutPrefix(name, "port."); ok {
		name = "port." + port[strings.LastIndex(port, ".")+1:]
		switch {
		case strings.Contains(port, ".wmq."):
			name = "wmq." + port[strings.LastIndex(port, ".")+1:]
		case strings.HasPrefix(port, "base."):
			return nil, false
		case strings.HasPrefix(port, "generator."), strings.HasPrefix(port, "tool."):
			return logits(c.WMax), true
		}
	}
	if strings.HasPrefix(name, "boundary.") {
		name = "boundary" + name[strings.LastIndex(name, "."):]
	}
	name = strings.Replace(name, "cm.ema.", "cm.f.", 1)
	if strings.HasPrefix(s.Name, "codebook.") {
		return sphere, true
	}
	f, ok := byName[name]
	return f, ok
}

// logits are v on the diagonal and −v elsewhere.
func logits(v float64) filler { return diagonal(2*v, constant(-v)) }

// rules are the first values by name: normal with a deviation unless said.
func rules(c *config.Config) map[string]filler {
	d, h := c.D, c.H
	return map[string]filler{
		"n.k_in": func(v []float32, _ *Spec, _ Stream) {
			for i := 3*8 + 3; i < len(v); i += 64 {
				v[i] = 1
			}
		},
		"n.w_in":         normal(1 / float64(h)),
		"n.w_in.l":       normal(half(h)),
		"n.w_in.r":       normal(2 / math.Sqrt(float64(max(c.R, 1)*h))),
		"n.norm_gain":    constant(1),
		"n.wkv_w":        along(func(i, n int) float64 { return -5 + 6*math.Pow(ramp(i, n), .7) }),
		"n.w_conf":       normal(.1 * half(d)),
		"n.ssm.dt_b":     along(func(i, n int) float64 { return math.Log(math.Expm1(math.Exp(math.Log(.01) + ramp(i, n)*math.Log(50)))) }),
		"n.ssm.skip":     constant(1),
		"n.nsa":          normal(half(d)),
		"n.rwkv":         normal(half(d)),
		"n.ssm.dt_down":  normal(half(d)),
		"n.ssm.dt_up":    normal(.1 * half(c.DT())),
		"n.ssm.a":        along(func(i, _ int) float64 { return math.Log(float64(i + 1)) }),
		"n.ssm.b":        normal(half(d)),
		"n.ssm.c":        normal(half(d)),
		"n.drc.pred":     diagonal(1, normal(.02)),
		"n.drc.corr":     diagonal(.5, normal(.02)),
		"n.gate":         normal(.02),
		"n.fxaa":         constant(c.FXAARaw),
		"n.rho":          constant(c.RhoRaw),
		"n.wout_proto":   constant(1),
		"s4.receptive":   constant(1),
		"s4.spec":        normal(1),
		"s5.calibration": constant(c.ConfT),

		"edge.w_out":      normal(1),
		"edge.kernel":     normal(1),
		"boundary.w_out":  normal(1),
		"boundary.kernel": normal(1),

		"cm.f.1.w":   normal(half(d)),
		"cm.sigma_d": constant(1),

		"port.w_r":      normal(half(d)),
		"port.w_k":      normal(half(d)),
		"port.w_v":      normal(half(d)),
		"port.w_decay":  constant(-math.Log(float64(c.N))),
		"port.q":        normal(half(d)),
		"port.k":        normal(half(d)),
		"port.v":        normal(half(d)),
		"port.mhc":      logits(c.MHCInit),
		"port.compress": normal(half(c.CompressIn())),
		"port.tau":      constant(alignTau(c)),
		"port.abg":      along(func(i, _ int) float64 { return []float64{c.DeltaAlpha, c.BRaw}[i] }),
		"port.slot":     normal(half(d)),

		"wmq.r1":    orthogonal,
		"wmq.r2":    orthogonal,
		"wmq.c":     normal(.1 * half(d)),
		"wmq.q":     normal(.1 * half(d)),
		"wmq.scale": constant(1),
		"wmq.slope": constant(.1),
		"wmq.null":  constant(4),

		"agg.planner.q": diagonal(1, nil), "agg.planner.k": diagonal(1, nil), "agg.planner.v": diagonal(1, nil),
		"agg.contra.q": diagonal(1, nil), "agg.contra.k": diagonal(1, nil), "agg.contra.v": diagonal(1, nil),

		"head.read":       diagonal(1, nil),
		"head.drift":      along(func(i, _ int) float64 { return []float64{1, c.ThetaDrift}[i] }),
		"head.tau_contra": constant(contradiction(c)),

		"rope.text": constant(math.Log(c.BaseText)), "rope.img.row": constant(math.Log(c.BaseRow)), "rope.img.col": constant(math.Log(c.BaseCol)),
		"rope.aud.time": constant(math.Log(c.BaseTime)), "rope.aud.freq": constant(math.Log(c.BaseFreq)), "rope.vid.time": constant(math.Log(c.BaseTime)),

		"evict.w": along(func(i, _ int) float64 { return c.EvictW[i] }),
	}
}

func alignTau(c *config.Config) float64 {
	if c.AlignTau > 0 {
		return c.AlignTau
	}
	return math.Sqrt(float64(c.D))
}

func contradiction(c *config.Config) float64 {
	if c.TauContradiction > 0 {
		return c.TauContradiction
	}
	return 1.5 * math.Sqrt(float64(c.D))
}
