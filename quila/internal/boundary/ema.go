package boundary

import (
	"fmt"
	"math"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// An EMA learns the rows of a book: every row follows the mean of the vectors
// that it is nearest to (A. van den Oord et al., Neural discrete representation
// learning, arXiv 1711.00937, appendix A.1).
//
//	N ← γ·N + (1−γ)·n        n: vectors of the batch that chose the row
//	m ← γ·m + (1−γ)·Σ x      row ← m ÷ N
type EMA struct {
	book   *Book
	decay  float64
	dead   int
	count  []float64 // N
	sum    []float64 // m
	unused []int     // batches since the row was chosen
	usage  []uint64
	batch  []float64 // scratch: n and Σ x
	search search
}

// NewEMA learns the rows of a book that is not frozen. A row that no vector
// chose for dead batches is dead.
func NewEMA(b *Book, decay float64, dead int) (*EMA, error) {
	switch {
	case b.frozen:
		return nil, fmt.Errorf("learn: %w", ErrFrozen)
	case !(decay >= 0 && decay < 1):
		return nil, fmt.Errorf("%w: the decay is %v, want at least 0 and less than 1", errCodebookShape, decay)
	case dead < 1:
		return nil, &codebookError{"batches until a row is dead, at least", 1, dead, errCodebookShape}
	}
	e := &EMA{book: b, decay: decay, dead: dead, count: make([]float64, b.n), sum: make([]float64, len(b.rows)), unused: make([]int, b.n),
		usage: make([]uint64, b.n), batch: make([]float64, b.n+len(b.rows)), search: search{work: grad.NewWork[float32](nil)}}
	for i := range e.count {
		e.restart(i)
	}
	return e, nil
}

// restart makes a row the mean of one vector, itself.
func (e *EMA) restart(code int) {
	e.count[code], e.unused[code] = 1, 0
	for d, x := range e.book.Row(code) {
		e.sum[code*e.book.dim+d] = float64(x)
	}
}

// Assign writes the codes of the rows nearest to the vectors x to dst. It is not
// counted, because nothing that is learned is a boundary yet.
func (e *EMA) Assign(dst []int32, x []float32) error {
	half, most := halves(e.book.rows, e.book.n, e.book.dim)
	return e.search.nearest(dst, x, e.book.rows, half, most, e.book.n, e.book.dim)
}

// Update moves the rows towards the vectors that chose them.
func (e *EMA) Update(x []float32, codes []int32) error {
	b := e.book
	if b.frozen {
		return fmt.Errorf("learn: %w", ErrFrozen)
	}
	if len(x) != len(codes)*b.dim {
		return &codebookError{"update: values", len(codes) * b.dim, len(x), errCodebookShape}
	}
	clear(e.batch)
	n, sums := e.batch[:b.n], e.batch[b.n:]
	for i, c := range codes {
		if c < 0 || int(c) >= b.n {
			return &codebookError{"update", b.n, int(c), errCode}
		}
		n[c]++
		e.usage[c]++
		for d, v := range x[i*b.dim : (i+1)*b.dim] {
			sums[int(c)*b.dim+d] += float64(v)
		}
	}
	for c := range b.n {
		e.unused[c]++
		if n[c] > 0 {
			e.unused[c] = 0
		}
		e.count[c] = e.decay*e.count[c] + (1-e.decay)*n[c]
		row := b.Row(c)
		for d := range row {
			k := c*b.dim + d
			e.sum[k] = e.decay*e.sum[k] + (1-e.decay)*sums[k]
			// Both decay together, so a row that is not chosen stays where it is.
			row[d] = float32(e.sum[k] / math.Max(e.count[c], 1e-30))
		}
	}
	return nil
}

// Revive puts every dead row on a random vector of x and returns how many there
// were.
func (e *EMA) Revive(x []float32, s weights.Stream) int {
	m := len(x) / e.book.dim
	if m == 0 || e.book.frozen {
		return 0
	}
	revived := 0
	for c, age := range e.unused {
		if age < e.dead {
			continue
		}
		s.Neuron = uint32(c)
		i := weights.Choice(s.Words(1)[0], m)
		copy(e.book.Row(c), x[i*e.book.dim:(i+1)*e.book.dim])
		e.restart(c)
		revived++
	}
	return revived
}

// Usage returns how often each code was chosen since the last call.
func (e *EMA) Usage() []uint64 {
	u := e.usage
	e.usage = make([]uint64, len(u))
	return u
}

// perplexity is how many codes are in use, as the exponential of the entropy of
// their frequencies.
func perplexity(usage []uint64) float64 {
	var all, h float64
	for _, u := range usage {
		all += float64(u)
	}
	for _, u := range usage {
		if u > 0 {
			p := float64(u) / all
			h -= p * math.Log(p)
		}
	}
	if all == 0 {
		return 0
	}
	return math.Exp(h)
}
