package offload

import (
	"fmt"
	"strings"
	"unicode"
)

// A Layer is a group of parameters that are stepped together, such as those of
// one transformer block, in a layout chosen by the trainer.
type Layer struct {
	Name     string
	Elements int  // parameters
	NoDecay  bool // excluded from weight decay, as is usual for norms and biases
}

// Bytes per parameter.
const (
	momentBytes = 4 // float32: master, m, v and a gradient each
	stateBytes  = 3 * momentBytes
	paramBytes  = 2 // the bfloat16 used by a forward pass
)

// A ref names one chunk: the elements of a layer from index × chunk elements on.
type ref struct{ layer, index int }

// A chunk is a part of a layer's state during a step. Numbers are little endian,
// as in the files.
type chunk struct {
	ref
	master, m, v []byte        // float32, one region each: the state as stored in the file
	params       []byte        // bfloat16, rounded from master
	sum          []byte        // float32: accumulated gradients; nil if there are none
	gen          int           // generation of the read plan it was read for
	err          error         // of reading it
	done         chan struct{} // closed once it has been read
	out          *output       // the files it is written to

	state, sumBuffer []byte // backing of the slices above
}

// cut resizes the chunk to n elements.
func (c *chunk) cut(n int) {
	s := c.state[:n*stateBytes]
	c.master, c.m, c.v = s[:n*momentBytes], s[n*momentBytes:2*n*momentBytes], s[2*n*momentBytes:]
	c.params = c.params[:n*paramBytes]
}

// chunks returns the number of chunks of a layer.
func chunks(elements, perChunk int) int { return (elements + perChunk - 1) / perChunk }

// span returns the first element of a chunk and the number of elements.
func span(elements, perChunk, index int) (first, n int) {
	first = index * perChunk
	return first, min(perChunk, elements-first)
}

// checkLayers validates a list of layers.
func checkLayers(layers []Layer) error {
	if len(layers) == 0 {
		return fmt.Errorf("%w: no layers", errConfig)
	}
	seen := map[string]bool{}
	for i, l := range layers {
		switch {
		case l.Name == "" || strings.ContainsFunc(l.Name, unicode.IsControl):
			return fmt.Errorf("%w: layer %d has the name %q; want a line of text", errConfig, i, l.Name)
		case seen[l.Name]:
			return fmt.Errorf("%w: two layers have the name %q", errConfig, l.Name)
		case l.Elements <= 0 || l.Elements > maxElements:
			return fmt.Errorf("%w: layer %q has %d parameters; want 1 to %d", errConfig, l.Name, l.Elements, maxElements)
		}
		seen[l.Name] = true
	}
	return nil
}

// maxElements keeps every file offset of a layer within an int64.
const maxElements = 1 << 56
