package rule

import (
	"fmt"
	"math"
)

// A Gate is a scalar per token that a rule computes from the token's embedding.
type Gate int

// The gates, in the order of the parameters.
const (
	Alpha Gate = iota // forget gate, a sigmoid: retention is 1 - alpha
	Theta             // inner learning rate, a softplus
	Eta               // momentum, a sigmoid
	Gamma             // weight of a token inside the window, a sigmoid
	gates
)

// String returns the gate's name in parameters: "alpha", "theta" …
func (g Gate) String() string { return [gates]string{"alpha", "theta", "eta", "gamma"}[g] }

// An Array is a named part of a flat vector.
type Array struct {
	Name  string
	Shape []int
	At    int // index of its first element
}

// Len returns the number of elements.
func (a Array) Len() int {
	n := 1
	for _, s := range a.Shape {
		n *= s
	}
	return n
}

// A Layout describes a block: its widths, and the positions of its parameters
// and its state in the two flat vectors that hold them.
type Layout struct {
	Rule   Name
	Config Config // with defaults filled in
	D      int    // width of the model, of values and of outputs
	DK     int    // width of keys and queries
	Code   int    // width of the write code of Trellis, else 0
	Gates  []Gate

	Params []Array // W_K, W_V, W_Q, [W_C], then w and b of each gate
	State  []Array

	ParamLen, StateLen int
}

// kind is the static description of a rule.
type kind struct {
	gates []Gate
	theta float64 // bias of the learning rate at level 0, in the rule's unit
	state func(l *Layout) []Array
}

var kinds = map[Name]kind{
	Delta:   {[]Gate{Alpha, Theta}, -1, matrixState},
	Titans:  {[]Gate{Alpha, Theta, Eta}, -1.5, momentumState},
	Hebbian: {[]Gate{Alpha}, 0, matrixState},
	Moneta:  {[]Gate{Alpha, Theta}, -4, mlpState("A1", "A2")},
	YAAD:    {[]Gate{Alpha, Theta}, 0, mlpState("W1", "W2")},
	MEMORA:  {[]Gate{Alpha, Theta}, 3, mlpState("L1", "L2")},
	Lattice: {[]Gate{Alpha, Theta}, -1, slotState("S")},
	Trellis: {[]Gate{Alpha, Theta}, -2, slotState("MK", "MV")},
	Atlas:   {[]Gate{Alpha, Theta, Eta, Gamma}, -2, windowState},
}

func matrixState(l *Layout) []Array { return []Array{{Name: "M", Shape: []int{l.D, l.D}}} }

func momentumState(l *Layout) []Array {
	return []Array{{Name: "M", Shape: []int{l.D, l.D}}, {Name: "S", Shape: []int{l.D, l.D}}}
}

func mlpState(first, second string) func(l *Layout) []Array {
	return func(l *Layout) []Array {
		h := l.Config.Hidden
		return []Array{{Name: first, Shape: []int{h, l.D}}, {Name: second, Shape: []int{l.D, h}}}
	}
}

func slotState(names ...string) func(l *Layout) []Array {
	return func(l *Layout) (all []Array) {
		for _, n := range names {
			all = append(all, Array{Name: n, Shape: []int{l.Config.Slots, l.D}})
		}
		return all
	}
}

func windowState(l *Layout) []Array {
	f, w := featureDim(l.D, l.Config.Feature), l.Config.Window-1
	return []Array{{Name: "M", Shape: []int{l.D, f}}, {Name: "S", Shape: []int{l.D, f}},
		{Name: "BK", Shape: []int{w, f}}, {Name: "BV", Shape: []int{w, l.D}}, {Name: "BG", Shape: []int{w}}}
}

// Bounds that keep sizes from overflowing: the width of a model or a memory,
// and the elements of parameters or state.
const (
	maxWidth = 1 << 20
	maxLen   = 1 << 30
)

// NewLayout returns the layout of a rule's block at width d. Its error matches
// [ErrConfig] and lists every fault of the configuration.
func NewLayout(name Name, d int, c Config) (*Layout, error) {
	k, ok := kinds[name]
	if !ok {
		return nil, &ConfigError{"rule", fmt.Sprintf("%q", string(name)), fmt.Sprint("one of ", Names())}
	}
	if d < 1 || d > maxWidth {
		return nil, &ConfigError{"width", d, fmt.Sprint("1 to ", maxWidth)}
	}
	c = c.withDefaults(d)
	if err := c.check(); err != nil {
		return nil, err
	}
	l := &Layout{Rule: name, Config: c, D: d, DK: d, Gates: k.gates}
	switch name {
	case Lattice:
		l.DK = c.Slots
	case Trellis:
		l.Code = c.Slots
	}
	l.Params = []Array{{Name: "W_K", Shape: []int{l.DK, d}}, {Name: "W_V", Shape: []int{d, d}}, {Name: "W_Q", Shape: []int{l.DK, d}}}
	if l.Code > 0 {
		l.Params = append(l.Params, Array{Name: "W_C", Shape: []int{l.Code, d}})
	}
	for _, g := range l.Gates {
		l.Params = append(l.Params, Array{Name: "w_" + g.String(), Shape: []int{d}}, Array{Name: "b_" + g.String(), Shape: []int{1}})
	}
	l.State = k.state(l)
	l.ParamLen, l.StateLen = place(l.Params), place(l.State)
	if n := max(l.ParamLen, l.StateLen); n > maxLen {
		return nil, &ConfigError{"size of parameters or state", n, fmt.Sprint("at most ", maxLen, ": a smaller width")}
	}
	return l, nil
}

// place assigns each array its index and returns the total length.
func place(all []Array) (n int) {
	for i := range all {
		all[i].At = n
		n += all[i].Len()
	}
	return n
}

// rows returns the total number of rows of all projections.
func (l *Layout) rows() int { return 2*l.DK + l.D + l.Code }

// query returns the index of W_Q's first row among them.
func (l *Layout) query() int { return l.DK + l.D }

// find returns a named array of a flat vector.
func find[F Float](all []Array, flat []F, name string) []F {
	for _, a := range all {
		if a.Name == name {
			return flat[a.At:][:a.Len():a.Len()]
		}
	}
	return nil
}

// Param returns the array with that name in flat parameters (or their
// gradients), nil if the rule has none.
func Param[F Float](l *Layout, flat []F, name string) []F { return find(l.Params, flat, name) }

// State returns the array with that name in a flat state, nil if the rule has
// none.
func State[F Float](l *Layout, flat []F, name string) []F { return find(l.State, flat, name) }

// Bias returns the initial bias of a gate at a level of the hierarchy: slower
// levels forget less, learn in smaller steps and have more momentum.
func (l *Layout) Bias(g Gate, level int) float64 {
	n := float64(level)
	switch g {
	case Alpha:
		if level == 0 {
			return -3
		}
		return -3.5 - n/2
	case Theta:
		return kinds[l.Rule].theta - n/2
	case Eta:
		return 1.5 + n/2
	}
	return 2
}

// InitParams initializes the flat parameters of a level: projections as in
// Glorot and Bengio (2010), gates with [Layout.Bias].
func InitParams[F Float](l *Layout, dst []F, level int, r *Rand) {
	for _, a := range l.Params {
		v := dst[a.At:][:a.Len()]
		switch a.Name[:2] {
		case "W_":
			Uniform(r, v, math.Sqrt(6/float64(a.Shape[0]+a.Shape[1])))
		case "w_":
			Uniform(r, v, 1/math.Sqrt(float64(l.D)))
		}
	}
	for _, g := range l.Gates {
		Param(l, dst, "b_"+g.String())[0] = F(l.Bias(g, level))
	}
}
