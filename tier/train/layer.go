package train

import (
	"fmt"
	"strings"
	"unicode"
)

// A Layer is a group of parameters that are stepped together: the parameters
// of one transformer block, say, laid out as its trainer likes.
type Layer struct {
	Name     string
	Elements int  // parameters
	NoDecay  bool // weight decay leaves it alone, as is usual for norms and biases
}

// Bytes of one parameter's state.
const (
	momentBytes = 4 // of a float32: master, m, v and a gradient each
	stateBytes  = 3 * momentBytes
	paramBytes  = 2 // of the bfloat16 that a forward pass computes with
)

// A ref names one chunk: the elements of a layer from index × chunk elements.
type ref struct{ layer, index int }

// A chunk is a piece of a layer's state on its way through a step. Numbers are
// little endian, as in the files.
type chunk struct {
	ref
	master, m, v []byte        // float32, one region each: the state as it is in the file
	params       []byte        // bfloat16, of master
	sum          []byte        // float32: gradients accumulated so far; nil if there are none
	gen          int           // of the reading plan that it was read for
	err          error         // of reading it
	done         chan struct{} // closed when it was read
	out          *output       // where it is written

	state, sumBuffer []byte // what the slices above are cut from
}

// cut makes the chunk one of n elements.
func (c *chunk) cut(n int) {
	s := c.state[:n*stateBytes]
	c.master, c.m, c.v = s[:n*momentBytes], s[n*momentBytes:2*n*momentBytes], s[2*n*momentBytes:]
	c.params = c.params[:n*paramBytes]
}

// chunks is how many chunks a layer has.
func chunks(elements, perChunk int) int { return (elements + perChunk - 1) / perChunk }

// span returns the elements of a chunk: the first and how many.
func span(elements, perChunk, index int) (first, n int) {
	first = index * perChunk
	return first, min(perChunk, elements-first)
}

// checkLayers says what is wrong with a list of layers.
func checkLayers(layers []Layer) error {
	if len(layers) == 0 {
		return fmt.Errorf("%w: no layers", ErrConfig)
	}
	seen := map[string]bool{}
	for i, l := range layers {
		switch {
		case l.Name == "" || strings.ContainsFunc(l.Name, unicode.IsControl):
			return fmt.Errorf("%w: layer %d has the name %q; want a line of text", ErrConfig, i, l.Name)
		case seen[l.Name]:
			return fmt.Errorf("%w: two layers have the name %q", ErrConfig, l.Name)
		case l.Elements <= 0 || l.Elements > maxElements:
			return fmt.Errorf("%w: layer %q has %d parameters; want 1 to %d", ErrConfig, l.Name, l.Elements, maxElements)
		}
		seen[l.Name] = true
	}
	return nil
}

// maxElements keeps every file offset of a layer inside an int64.
const maxElements = 1 << 56
