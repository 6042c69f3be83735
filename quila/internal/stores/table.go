package stores

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"atenia/grad"
	"atenia/internal/memory"
	"atenia/tensor"
)

// The errors of a table, for [errors.Is].
var (
	errEngramShape = errors.New("wrong length")
	errRow         = errors.New("no such row")
)

// A engramValueError says which operation was given what. It matches its Err.
type engramValueError struct {
	Op, Want, Got string
	Err           error
}

func (e *engramValueError) Error() string {
	return fmt.Sprintf("engram %s: want %s, got %s: %v", e.Op, e.Want, e.Got, e.Err)
}

// Unwrap returns what the error is matched by.
func (e *engramValueError) Unwrap() error { return e.Err }

// pageRows is how many rows move as one.
const pageRows = 1024

// A EngramConfig is the shape of a table and where it may be.
type EngramConfig struct {
	Bits int // log2 of the rows
	Dim  int
	Mul  Multipliers
	// Cold lets pages go to L5, the least recently asked for first; L4 is what may
	// stay in RAM, 0 all.
	Cold bool
	L4   uint64
}

// A EngramTable is 2^Bits rows in half precision. Reading is safe for concurrent use as
// long as nothing else runs.
type EngramTable struct {
	c     EngramConfig
	group *Group
	pages []*Page
	asked map[*Page]uint64 // when a page was last asked for
	clock uint64
	reads int64
}

// NewEngramTable makes a table of zeros.
func NewEngramTable(c EngramConfig, m *Memory) (*EngramTable, error) {
	if c.Bits < 1 || c.Bits > 32 || c.Dim < 1 {
		return nil, &engramValueError{"table", "1 to 32 bits and a dimension", fmt.Sprintf("%d, %d", c.Bits, c.Dim), errEngramShape}
	}
	if m == nil {
		m = NewMemory(TierConfig{})
	}
	if c.L4 == 0 {
		c.L4 = memory.NoQuota
	}
	t := &EngramTable{c: c, asked: map[*Page]uint64{}}
	quotas := []Quota{{Level: L4, Bytes: c.L4, Soft: !c.Cold}}
	if c.Cold {
		quotas = append(quotas, Quota{Level: L5, Bytes: memory.NoQuota, Soft: true})
	}
	var err error
	if t.group, err = m.Group("engram", Engram, quotas, func(_ Level, pages []*Page, out []float64) {
		for i, p := range pages {
			out[i] = float64(t.asked[p])
		}
	}); err != nil {
		return nil, err
	}
	for at := 0; at < t.Rows(); at += pageRows {
		p, err := t.group.Page(fmt.Sprint(at/pageRows), min(pageRows, t.Rows())*2*c.Dim, L4)
		if err == nil {
			t.pages = append(t.pages, p)
			err = t.group.Settle(context.Background(), nil)
		}
		if err != nil {
			return nil, errors.Join(err, t.group.Close())
		}
	}
	return t, nil
}

// Rows returns how many rows there are.
func (t *EngramTable) Rows() int { return 1 << t.c.Bits }

// Config returns what the table was made with.
func (t *EngramTable) Config() EngramConfig { return t.c }

// Close frees the table.
func (t *EngramTable) Close() error { return t.group.Close() }

// Reads returns how many rows were read by [Lookup].
func (t *EngramTable) Reads() int64 { return t.reads }

// Prefetch asks for the pages of every position of a context: what Phase 1 calls
// the initialization of the memory.
func (t *EngramTable) Prefetch(ctx context.Context, codes []uint32) error {
	for i := range codes {
		rows, n := Probes(codes[:i+1], t.c.Bits, &t.c.Mul)
		for _, r := range rows[:n] {
			if err := t.need(ctx, t.pages[r/pageRows]); err != nil {
				return err
			}
		}
	}
	return nil
}

// need brings a page to RAM as the one that was asked for last.
func (t *EngramTable) need(ctx context.Context, p *Page) error {
	t.clock++
	t.asked[p] = t.clock
	if p.Level().InRAM() {
		return nil
	}
	if err := t.group.Move(ctx, p, L4); err != nil {
		return err
	}
	return t.group.Settle(ctx, p)
}

// row returns the bytes of a row, from disk if it is there.
func (t *EngramTable) row(ctx context.Context, r int) ([]byte, error) {
	if r < 0 || r >= t.Rows() {
		return nil, &engramValueError{"row", fmt.Sprintf("a row below %d", t.Rows()), fmt.Sprint(r), errRow}
	}
	p := t.pages[r/pageRows]
	if !p.Level().InRAM() {
		if err := t.need(ctx, p); err != nil {
			return nil, err
		}
	}
	at := r % pageRows * 2 * t.c.Dim
	return p.Bytes()[at : at+2*t.c.Dim], nil
}

// Lookup writes the rows of the last codes into dst [8, D] and returns how many
// there are. It reads eight rows at most, whatever the table's size.
func Lookup[F grad.Float](ctx context.Context, t *EngramTable, dst []F, codes []uint32) (int, error) {
	if len(dst) != Heads*t.c.Dim {
		return 0, &engramValueError{"lookup", fmt.Sprintf("room for %d values", Heads*t.c.Dim), fmt.Sprint(len(dst)), errEngramShape}
	}
	rows, n := Probes(codes, t.c.Bits, &t.c.Mul)
	for i, r := range rows[:n] {
		b, err := t.row(ctx, int(r))
		if err != nil {
			return 0, err
		}
		t.reads++
		for j := range t.c.Dim {
			dst[i*t.c.Dim+j] = F(tensor.F16ToF32(binary.LittleEndian.Uint16(b[2*j:])))
		}
	}
	return n, nil
}

// Load writes rows [n, D] of half precision, little endian, from row at on: a
// model file, or what training made.
func (t *EngramTable) Load(ctx context.Context, at int, half []byte) error {
	w := 2 * t.c.Dim
	if len(half)%w != 0 {
		return &engramValueError{"load", fmt.Sprintf("rows of %d bytes", w), fmt.Sprint(len(half)), errEngramShape}
	}
	for i := range len(half) / w {
		b, err := t.row(ctx, at+i)
		if err != nil {
			return err
		}
		copy(b, half[i*w:(i+1)*w])
		t.pages[(at+i)/pageRows].Changed()
	}
	return nil
}

// Save appends n rows from row at on to dst, as [EngramTable.Load] takes them.
func (t *EngramTable) Save(ctx context.Context, dst []byte, at, n int) ([]byte, error) {
	for i := range n {
		b, err := t.row(ctx, at+i)
		if err != nil {
			return dst, err
		}
		dst = append(dst, b...)
	}
	return dst, nil
}
