package nested

import "slices"

// A Context is the memory of one stream of tokens: the state of every level of
// every layer, and the tail that a convolution over keys needs. Only steps
// change it.
type Context[F Float] struct {
	states [][]F // [layer·levels + level]
	tails  [][]F // [layer][(taps−1)·width], the last rows of a layer's input

	// The result of the current step; commit makes it current.
	nextStates [][]F
	nextTails  [][]F
	written    []bool // of nextStates

	model *Model[F]
}

// NewContext returns the memory of a new stream.
func (m *Model[F]) NewContext() *Context[F] {
	c := &Context[F]{model: m}
	for range m.cfg.Layers {
		for range m.cfg.Periods {
			c.states = append(c.states, make([]F, m.layout.StateLen))
			c.nextStates = append(c.nextStates, make([]F, m.layout.StateLen))
			c.written = append(c.written, false)
		}
		tail := max(m.cfg.KeyTaps-1, 0) * m.cfg.Width
		c.tails, c.nextTails = append(c.tails, make([]F, tail)), append(c.nextTails, make([]F, tail))
	}
	c.Reset()
	return c
}

// Reset forgets everything, as at the start of a document: every level returns
// to its initial state, which is always the same.
func (c *Context[F]) Reset() {
	for i, s := range c.states {
		copy(s, c.model.initial[i])
	}
	for _, t := range c.tails {
		clear(t)
	}
}

// State returns the flat state of a level, in the order of [rule.Layout.State].
// It is valid until the next step; writing to it changes the memory.
func (c *Context[F]) State(layer, level int) []F {
	return c.states[layer*len(c.model.cfg.Periods)+level]
}

// CopyFrom copies the memory of d to c.
func (c *Context[F]) CopyFrom(d *Context[F]) {
	for i := range c.states {
		copy(c.states[i], d.states[i])
	}
	for i := range c.tails {
		copy(c.tails[i], d.tails[i])
	}
}

// Equal reports whether two memories are bitwise equal.
func (c *Context[F]) Equal(d *Context[F]) bool {
	return slices.EqualFunc(c.states, d.states, slices.Equal) && slices.EqualFunc(c.tails, d.tails, slices.Equal)
}

// commit makes the result of the step current.
func (c *Context[F]) commit() {
	for i, w := range c.written {
		if w {
			c.states[i], c.nextStates[i] = c.nextStates[i], c.states[i]
		}
		c.written[i] = false
	}
	c.tails, c.nextTails = c.nextTails, c.tails
}
