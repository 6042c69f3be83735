package boundary

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"atenia/grad"
)

// maxRows is the largest book: beyond it a flat search is no longer the right
// one.
const maxRows = 16384

// minDistance is how far apart the rows of a frozen book are at least, as a part
// of their root mean square norm.
const minDistance = 1e-4

// Errors of a book.
var (
	ErrFrozen        = errors.New("codebook: the book is frozen")
	errCodebookShape = errors.New("codebook: bad shape")
	errCode          = errors.New("codebook: no such code")
	errClose         = errors.New("codebook: two rows are too close")
	ErrSum           = errors.New("codebook: the rows have changed since they were frozen")
	ErrCaller        = errors.New("codebook: not a caller that may use a book")
)

// An codebookError says which operation went wrong. It matches its sentinel.
type codebookError struct {
	Op        string
	Want, Got int
	Sentinel  error
}

func (e *codebookError) Error() string {
	return fmt.Sprintf("%v: %s: want %d, got %d", e.Sentinel, e.Op, e.Want, e.Got)
}

// Unwrap returns the sentinel.
func (e *codebookError) Unwrap() error { return e.Sentinel }

// A closeError says which rows [Book.Freeze] found too close.
type closeError struct {
	A, B            int
	Distance, Least float64
}

func (e *closeError) Error() string {
	return fmt.Sprintf("codebook: rows %d and %d are %.3g apart, want at least %.3g", e.A, e.B, e.Distance, e.Least)
}

// Is matches [errClose].
func (e *closeError) Is(target error) bool { return target == errClose }

// A Caller says on whose behalf a book is used.
type Caller uint8

// Callers that may use a book.
const (
	Encoder    Caller = 1 + iota // of input
	Decoder                      // of output
	SCT                          // the builder of the compressed context
	ToolReturn                   // what encodes the returns of tools
	callers
)

var callerNames = [callers]string{"", "encoder", "decoder", "sct", "tool-return"}

func (c Caller) String() string {
	if c < callers && c > 0 {
		return callerNames[c]
	}
	return fmt.Sprintf("Caller(%d)", uint8(c))
}

// Calls are how often each caller used a book.
type Calls struct{ Encoder, Decoder, SCT, ToolReturn uint64 }

// Total is the number of all calls.
func (c Calls) Total() uint64 { return c.Encoder + c.Decoder + c.SCT + c.ToolReturn }

// A Book is a table of rows. Until it is frozen it belongs to one goroutine;
// afterwards it may be used by many.
type Book struct {
	n, dim int
	rows   []float32
	half   []float32 // ½|c|² of every row, once frozen
	most   float64   // largest |c|²
	mean   []float32
	usage  []uint64
	sum    [sha256.Size]byte
	gap    float64
	frozen bool
	calls  [callers]atomic.Uint64
	pool   sync.Pool
}

// NewBook makes a book of n rows of so many dimensions. It keeps the slice, whose
// owner must not write to it once the book is frozen; [Book.Verify] would tell.
func NewBook(rows []float32, n, dim int) (*Book, error) {
	switch {
	case n < 1 || n > maxRows:
		return nil, &codebookError{"rows, at most", maxRows, n, errCodebookShape}
	case dim < 1 || dim > 1<<16:
		return nil, &codebookError{"dimensions, at most", 1 << 16, dim, errCodebookShape}
	case len(rows) != n*dim:
		return nil, &codebookError{"values", n * dim, len(rows), errCodebookShape}
	}
	return &Book{n: n, dim: dim, rows: rows, usage: make([]uint64, n)}, nil
}

// Len returns the number of rows.
func (b *Book) Len() int { return b.n }

// Dim returns the number of dimensions.
func (b *Book) Dim() int { return b.dim }

// Rows returns the table, row-major, which must not be written to.
func (b *Book) Rows() []float32 { return b.rows }

// Row returns a row, which must not be written to. It is not counted: it is for
// files and indexes, not for computing.
func (b *Book) Row(code int) []float32 { return b.rows[code*b.dim : (code+1)*b.dim : (code+1)*b.dim] }

// Usage returns how often each code was used when the book was frozen.
func (b *Book) Usage() []uint64 { return b.usage }

// Mean returns the mean of the rows, nil before the book is frozen. Phase 1
// centres embeddings with it.
func (b *Book) Mean() []float32 { return b.mean }

// Frozen reports whether the book takes no writes any more.
func (b *Book) Frozen() bool { return b.frozen }

// Sum is the SHA-256 of the rows as little-endian float32, recorded when the
// book was frozen.
func (b *Book) Sum() [sha256.Size]byte { return b.sum }

// Gap is the smallest distance of two rows, measured when the book was frozen.
func (b *Book) Gap() float64 { return b.gap }

// Calls returns how often the book was used so far.
func (b *Book) Calls() Calls {
	return Calls{b.calls[Encoder].Load(), b.calls[Decoder].Load(), b.calls[SCT].Load(), b.calls[ToolReturn].Load()}
}

// Set replaces a row. A frozen book refuses.
func (b *Book) Set(code int, row []float32) error {
	switch {
	case b.frozen:
		return fmt.Errorf("set row %d: %w", code, ErrFrozen)
	case code < 0 || code >= b.n:
		return &codebookError{"set", b.n, code, errCode}
	case len(row) != b.dim:
		return &codebookError{"set: values", b.dim, len(row), errCodebookShape}
	}
	copy(b.Row(code), row)
	return nil
}

// Freeze checks that the rows are finite and distinct, records their hash, their
// mean and how often each was used (nil where that is not known), and refuses
// writes from then on. Freezing twice is an error.
func (b *Book) Freeze(usage []uint64) error {
	switch {
	case b.frozen:
		return fmt.Errorf("freeze: %w", ErrFrozen)
	case usage != nil && len(usage) != b.n:
		return &codebookError{"freeze: usage", b.n, len(usage), errCodebookShape}
	}
	for i, x := range b.rows {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("freeze: %w: row %d has the value %v", errCodebookShape, i/b.dim, x)
		}
	}
	b.half, b.most = halves(b.rows, b.n, b.dim)
	if err := b.distinct(); err != nil {
		return err
	}
	b.mean = make([]float32, b.dim)
	for d := range b.dim {
		var sum float64
		for i := d; i < len(b.rows); i += b.dim {
			sum += float64(b.rows[i])
		}
		b.mean[d] = float32(sum / float64(b.n))
	}
	copy(b.usage, usage)
	b.sum, b.frozen = b.hash(), true
	return nil
}

// Verify compares the rows with the hash of when they were frozen.
func (b *Book) Verify() error {
	if b.frozen && b.hash() != b.sum {
		return ErrSum
	}
	return nil
}

func (b *Book) hash() [sha256.Size]byte {
	h := sha256.New()
	var buf [4096]byte
	for x := b.rows; len(x) > 0; {
		n := min(len(x), len(buf)/4)
		for i, v := range x[:n] {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(v))
		}
		h.Write(buf[:4*n])
		x = x[n:]
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// distinct measures the smallest distance of two rows.
func (b *Book) distinct() error {
	var sum float64
	for _, h := range b.half {
		sum += 2 * float64(h)
	}
	least := minDistance * math.Sqrt(sum/float64(b.n))
	w := grad.NewWork[float32](nil)
	scores := make([]float32, searchRows*b.n)
	slack := 1e-5 * b.most // more than the rounding error of a score
	best, at, with := math.Inf(1), 0, 0
	for lo := 0; lo < b.n; lo += searchRows {
		m := min(searchRows, b.n-lo)
		w.MulT(scores, b.rows[lo*b.dim:(lo+m)*b.dim], b.rows, m, b.dim, b.n)
		for r := range m {
			i := lo + r
			for j, dot := range scores[r*b.n : r*b.n+i] {
				if 2*(float64(b.half[i])+float64(b.half[j])-float64(dot))-slack >= best {
					continue
				}
				if d := squared(b.Row(i), b.Row(j)); d < best {
					best, at, with = d, j, i
				}
			}
		}
	}
	b.gap = math.Sqrt(best)
	if b.n > 1 && !(b.gap > 0 && b.gap >= least) {
		return &closeError{at, with, b.gap, least}
	}
	return nil
}

// halves returns half the squared norms of rows, and the largest squared norm.
func halves(rows []float32, n, dim int) (half []float32, most float64) {
	half = make([]float32, n)
	for i := range half {
		var s float64
		for _, x := range rows[i*dim : (i+1)*dim] {
			s += float64(x) * float64(x)
		}
		half[i], most = float32(s/2), math.Max(most, s)
	}
	return half, most
}

// squared is the squared distance of two rows.
func squared(a, b []float32) float64 {
	var s float64
	for i, x := range a {
		d := float64(x) - float64(b[i])
		s += d * d
	}
	return s
}
