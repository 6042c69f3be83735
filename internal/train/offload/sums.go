package offload

import (
	"context"
	"fmt"
	"iter"
	"os"
)

// An accumulator sums gradients since the last step, in memory up to a limit and
// in scratch files beyond it, which do not survive a kill.
type accumulator struct {
	s             *State
	batches       int
	memory        map[int][]byte // float32 of a layer
	files         map[int]bool
	left          int64 // bytes that may still be allocated
	buffer        []byte
	read, written uint64
}

// reset drops all sums.
func (a *accumulator) reset(s *State) {
	*a = accumulator{s: s, memory: map[int][]byte{}, files: map[int]bool{}, left: s.cfg.SumBytes, buffer: a.buffer}
}

func (a *accumulator) has(layer int) bool { return a.memory[layer] != nil || a.files[layer] }

func (a *accumulator) path(layer int) string { return a.s.path(fmt.Sprintf("layer-%05d.sum", layer)) }

// Accumulate adds the gradients of one more batch to those of the next step, in
// float32. It returns the sum of squares of this batch's gradients, in float64,
// with which a caller can clip the norm through [Update.Scale]. An error drops
// everything accumulated since the last step.
func (s *State) Accumulate(ctx context.Context, grads iter.Seq2[Gradient, error]) (squares float64, err error) {
	leave, err := s.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	for g, err := range grads {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.check(g.Layer, g.Values)
		}
		if err == nil {
			err = s.sums.add(g.Layer, g.Values)
		}
		if err != nil {
			s.sums.reset(s)
			return 0, fmt.Errorf("accumulate: %w", err)
		}
		for _, x := range g.Values {
			squares += float64(x) * float64(x)
		}
	}
	s.sums.batches++
	return squares, nil
}

// add adds a batch's gradients of a layer.
func (a *accumulator) add(layer int, g []float32) error {
	bytes := int64(len(g)) * momentBytes
	if !a.has(layer) && (a.s.dir == "" || bytes <= a.left) {
		a.left -= bytes
		a.memory[layer] = make([]byte, bytes)
	}
	if b := a.memory[layer]; b != nil {
		addTo(b, g)
		return nil
	}
	return a.addToFile(layer, g)
}

func addTo(b []byte, g []float32) {
	for i, x := range g {
		store(b, i, load(b, i)+x)
	}
}

// addToFile reads, adds and writes a layer's sums piece by piece.
func (a *accumulator) addToFile(layer int, g []float32) error {
	flag := os.O_RDWR
	if !a.files[layer] {
		flag |= os.O_CREATE | os.O_TRUNC
	}
	f, err := a.s.cfg.FS.OpenFile(a.path(layer), flag, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	perChunk := a.s.journal.Load().chunkElements
	for first := 0; first < len(g); first += perChunk {
		part := g[first:min(first+perChunk, len(g))]
		if len(a.buffer) < len(part)*momentBytes {
			a.buffer = make([]byte, len(part)*momentBytes)
		}
		b := a.buffer[:len(part)*momentBytes]
		clear(b)
		if a.files[layer] {
			if n, err := f.ReadAt(b, int64(first)*momentBytes); n < len(b) {
				return short(f.Name(), err)
			}
			a.read += uint64(len(b))
		}
		addTo(b, part)
		if _, err := f.WriteAt(b, int64(first)*momentBytes); err != nil {
			return err
		}
		a.written += uint64(len(b))
	}
	a.files[layer] = true
	return nil
}

// load gives a chunk the sums of its elements, if any.
func (a *accumulator) load(c *chunk, first, n int) error {
	if b := a.memory[c.layer]; b != nil {
		c.sum = b[first*momentBytes : (first+n)*momentBytes]
		return nil
	}
	if !a.files[c.layer] {
		c.sum = nil
		return nil
	}
	if len(c.sumBuffer) < n*momentBytes {
		c.sumBuffer = make([]byte, n*momentBytes)
	}
	c.sum = c.sumBuffer[:n*momentBytes]
	f, err := a.s.cfg.FS.OpenFile(a.path(c.layer), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if m, err := f.ReadAt(c.sum, int64(first)*momentBytes); m < len(c.sum) {
		return short(f.Name(), err)
	}
	return nil
}
