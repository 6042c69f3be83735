package nested

import (
	"fmt"
	"math"
	"strconv"

	"atenia/grad"
	"atenia/nested/rule"
)

// A slot is the place of one parameter in a model's flat vector.
type slot struct {
	name  string
	shape []int
	at, n int
	layer int
	level int // −1: shared by all levels
	bound float64
}

// A layerSlots says where one layer's parameters are; levels holds the offset
// of each level's flat parameters.
type layerSlots struct {
	q, k, v, o   int // indexes into slots
	persistent   int
	freqW, freqB int
	taps         int
	levels       []int // offsets into the flat vector
}

// A parameters is all slots in the order of the flat vector.
type parameters struct {
	slots          []slot
	embed, unembed int
	layers         []layerSlots
	size           int
}

func (p *parameters) add(layer, level int, name string, bound float64, shape ...int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	p.slots = append(p.slots, slot{name: name, shape: shape, at: p.size, n: n, layer: layer, level: level, bound: bound})
	p.size += n
	return len(p.slots) - 1
}

// arrange lays out the parameters of a configuration. Initial values are
// uniform within ±bound: √(3/d) for tables, Glorot and Bengio's bound for
// projections; those of the levels are the rule's.
func arrange(c *Config, l *rule.Layout) *parameters {
	p := &parameters{}
	d := c.Width
	table, glorot := math.Sqrt(3/float64(d)), math.Sqrt(3/float64(d))
	p.embed = p.add(0, -1, "W_embed", table, c.Vocab, d)
	for i := range c.Layers {
		name := func(s string) string { return "layers." + strconv.Itoa(i) + "." + s }
		s := layerSlots{persistent: -1, freqW: -1, freqB: -1, taps: -1}
		s.q = p.add(i, -1, name("W_Q"), glorot, d, d)
		s.k = p.add(i, -1, name("W_K"), glorot, d, d)
		s.v = p.add(i, -1, name("W_V"), glorot, d, d)
		s.o = p.add(i, -1, name("W_O"), glorot, d, d)
		if c.Persistent > 0 {
			s.persistent = p.add(i, -1, name("persistent"), table, c.Persistent, d)
		}
		if c.Learned {
			s.freqW = p.add(i, -1, name("W_freq"), 1/math.Sqrt(float64(d)), len(c.Periods), d)
			s.freqB = p.add(i, -1, name("b_freq"), 0, len(c.Periods))
		}
		if c.KeyTaps > 0 {
			s.taps = p.add(i, -1, name("key_taps"), 0, c.KeyTaps, d)
		}
		for level := range c.Periods {
			s.levels = append(s.levels, p.size)
			for _, a := range l.Params {
				p.add(i, level, name(fmt.Sprintf("levels.%d.%s", level, a.Name)), 0, a.Shape...)
			}
		}
		p.layers = append(p.layers, s)
	}
	p.unembed = p.add(0, -1, "W_unembed", table, c.Vocab, d)
	return p
}

// initialise fills the flat vector with initial values.
func initialise[F Float](p *parameters, c *Config, l *rule.Layout, v []F) {
	r := rule.NewRand(c.Seed)
	for _, s := range p.slots {
		if s.level < 0 {
			rule.Uniform(r, v[s.at:][:s.n], s.bound)
		}
	}
	for _, s := range p.layers {
		for level, at := range s.levels {
			w := v[at:][:l.ParamLen]
			rule.InitParams(l, w, level, r)
			if s.taps >= 0 {
				// Initially a token queries with the key it was stored under.
				copy(rule.Param(l, w, "W_Q"), rule.Param(l, w, "W_K"))
			}
		}
		if s.taps >= 0 {
			shiftTaps(v[p.slots[s.taps].at:], c.Width)
		}
	}
}

// shiftTaps initializes a convolution as a shift by one token plus a little of
// the token itself, so that the first key of a document is not zero. With one
// tap there is only the token itself.
func shiftTaps[F Float](v []F, d int) {
	for i := range d {
		v[i] = 1
		if len(v) >= 2*d {
			v[i], v[d+i] = 0.25, 1
		}
	}
}

// views returns the individual parameters, as an optimizer takes them.
func views[F Float](p *parameters, values, grads []F) []*grad.Param[F] {
	all := make([]*grad.Param[F], len(p.slots))
	for i, s := range p.slots {
		all[i] = &grad.Param[F]{Name: s.name, Shape: s.shape, Value: values[s.at:][:s.n:s.n], Grad: grads[s.at:][:s.n:s.n],
			Table: i == p.embed || i == p.unembed}
	}
	return all
}
