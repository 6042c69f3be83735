package boundary

import (
	"fmt"
	"math"

	"atenia/grad"
)

// searchRows is how many vectors are searched in one matrix product.
const searchRows = 64

// enter counts a call.
func (b *Book) enter(c Caller) error {
	if c < Encoder || c >= callers {
		return fmt.Errorf("%w: %v", ErrCaller, c)
	}
	b.calls[c].Add(1)
	return nil
}

// Lookup writes the rows of codes to dst, one after the other.
func (b *Book) Lookup(c Caller, dst []float32, codes []int32) error {
	if err := b.enter(c); err != nil {
		return err
	}
	if len(dst) != len(codes)*b.dim {
		return &codebookError{"look-up: values", len(codes) * b.dim, len(dst), errCodebookShape}
	}
	for i, code := range codes {
		if code < 0 || int(code) >= b.n {
			return &codebookError{"look-up", b.n, int(code), errCode}
		}
		copy(dst[i*b.dim:], b.Row(int(code)))
	}
	return nil
}

// Nearest writes the codes of the rows nearest to the vectors x to dst. Of rows
// at the same distance it is the smaller code; a vector with a NaN is refused.
func (b *Book) Nearest(c Caller, dst []int32, x []float32) error {
	if err := b.enter(c); err != nil {
		return err
	}
	half, most := b.half, b.most
	if !b.frozen {
		half, most = halves(b.rows, b.n, b.dim)
	}
	s, _ := b.pool.Get().(*search)
	if s == nil {
		s = &search{work: grad.NewWork[float32](nil)}
	}
	defer b.pool.Put(s)
	return s.nearest(dst, x, b.rows, half, most, b.n, b.dim)
}

// Logits writes y·c − ½|c|², divided by the temperature, for every vector of y
// and every row: what a decoder turns into probabilities of codes [R-10.6b].
func (b *Book) Logits(c Caller, dst, y []float32, temperature float64) error {
	if err := b.enter(c); err != nil {
		return err
	}
	m := len(y) / b.dim
	if len(y) != m*b.dim || len(dst) != m*b.n {
		return &codebookError{"logits: values", m * b.n, len(dst), errCodebookShape}
	}
	half := b.half
	if !b.frozen {
		half, _ = halves(b.rows, b.n, b.dim)
	}
	s, _ := b.pool.Get().(*search)
	if s == nil {
		s = &search{work: grad.NewWork[float32](nil)}
	}
	s.work.MulT(dst, y, b.rows, m, b.dim, b.n)
	b.pool.Put(s)
	scale := float32(1 / temperature)
	for i := range m {
		row := dst[i*b.n : (i+1)*b.n]
		for j, h := range half {
			row[j] = (row[j] - h) * scale
		}
	}
	return nil
}

// A search has the memory of a search for nearest rows.
type search struct {
	work   *grad.Work[float32]
	scores []float32
}

// nearest is the search over a table that need not be a book's.
func (s *search) nearest(dst []int32, x, rows, half []float32, most float64, n, dim int) error {
	if len(x) != len(dst)*dim {
		return &codebookError{"nearest: values", len(dst) * dim, len(x), errCodebookShape}
	}
	if len(s.scores) < searchRows*n {
		s.scores = make([]float32, searchRows*n)
	}
	for lo := 0; lo < len(dst); lo += searchRows {
		m := min(searchRows, len(dst)-lo)
		part := x[lo*dim : (lo+m)*dim]
		s.work.MulT(s.scores, part, rows, m, dim, n)
		for i := range m {
			v := part[i*dim : (i+1)*dim]
			code, ok := pick(v, s.scores[i*n:(i+1)*n], rows, half, most)
			if !ok {
				return fmt.Errorf("%w: vector %d is not finite", errCodebookShape, lo+i)
			}
			dst[lo+i] = int32(code)
		}
	}
	return nil
}

// pick returns the nearest row of one vector, given its products with all rows.
func pick(x, dots, rows, half []float32, most float64) (int, bool) {
	best, code := float32(math.Inf(-1)), -1
	for j, d := range dots {
		if s := d - half[j]; s > best {
			best, code = s, j
		}
	}
	if code < 0 || math.IsInf(float64(best), 1) {
		return 0, false
	}
	var norm float64
	for _, v := range x {
		norm += float64(v) * float64(v)
	}
	// A score's rounding error grows with the norms of both factors.
	margin := float32(4e-6 * (math.Sqrt(norm*most) + most))
	if !(margin >= 0) || math.IsInf(float64(margin), 0) {
		return 0, false
	}
	rivals, dim := 0, len(x)
	for j, d := range dots {
		if d-half[j] >= best-margin {
			rivals++
			if rivals > 1 {
				break
			}
			code = j
		}
	}
	if rivals < 2 {
		return code, true
	}
	least := math.Inf(1)
	for j, d := range dots {
		if d-half[j] < best-margin {
			continue
		}
		if q := squared(x, rows[j*dim:(j+1)*dim]); q < least {
			least, code = q, j
		}
	}
	return code, true
}
