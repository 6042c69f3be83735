package signal

import (
	"atenia/flow/node"
)

// The stages of an ADSR envelope, as its state counts them.
const (
	idle = iota
	rising
	falling
	holding
	releasing
)

// An adsr turns a gate (above 0.5: key down) into an envelope of straight
// segments. Its state is level, stage and gate.
type adsr[F node.Float] struct {
	rate     F
	channels int
}

func newADSR[F node.Float](cfg node.Config) (node.Instance[F], error) {
	return newRowwise(cfg, &adsr[F]{F(cfg.SampleRate), cfg.Node.Rows.C}, 0), nil
}

func (a *adsr[F]) States() int { return 3 }

func (a *adsr[F]) Forward(c *node.Call[F], r int, s []F) {
	of := func(k int) rowValues[F] { return rowValuesOf(c, k, r, a.channels) }
	attack, decay, sustain, release := of(0), of(1), of(2), of(3)
	y, level, stage, down := c.Out[0].Row(r), s[0], int(s[1]), s[2] != 0
	for i, x := range c.In[0].Row(r) {
		on := x > 0.5
		switch {
		case on && !down:
			stage = rising
		case !on && level == 0:
			stage = idle
		case !on && stage != idle:
			stage = releasing
		}
		down = on
		hold := sustain.At(i)
		switch stage {
		case rising:
			if level += 1 / F(attack.At(i)*a.rate); level >= 1 {
				level, stage = 1, falling
			}
		case falling:
			if level -= (1 - hold) / F(decay.At(i)*a.rate); level <= hold {
				level, stage = hold, holding
			}
		case holding:
			level = hold
		case releasing:
			if level -= hold / F(release.At(i)*a.rate); level <= 0 {
				level, stage = 0, idle
			}
		}
		y[i] = level
	}
	s[0], s[1], s[2] = level, F(stage), 0
	if down {
		s[2] = 1
	}
}
