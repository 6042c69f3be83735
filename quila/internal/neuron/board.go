package neuron

import (
	"atenia/grad"
	"atenia/quila/config"
	"atenia/tensor"
)

// A Board adds the messages that a neuron reads. Every cell is the mean of the
// messages that wrote it; cells that none wrote are 0.
type Board[F grad.Float] struct {
	Pairwise bool // the specification's letter: mean(B, m), one message after another

	h, d  int
	sum   []F     // [H, H]
	count []int32 // [H, H], of messages that do not cover the board
	full  int32   // messages that cover it
	some  bool    // count is not all zero
	seen  []bool  // [H, H], Pairwise only

	doubt, row []F // [D]: sum of uncertainty, and one message's
	doubts     int // messages that carried it
	values     []F // a decoded payload
	single     []float32
}

// NewBoard makes an empty board.
func NewBoard[F grad.Float](c *config.Config) *Board[F] {
	n := c.H * c.H
	b := &Board[F]{Pairwise: c.PairwiseMean, h: c.H, d: c.D, sum: make([]F, n), count: make([]int32, n),
		doubt: make([]F, c.D), row: make([]F, c.D), values: make([]F, n), single: make([]float32, n)}
	if b.Pairwise {
		b.seen = make([]bool, n)
	}
	return b
}

// Reset empties the board.
func (b *Board[F]) Reset() {
	clear(b.sum)
	if b.some {
		clear(b.count)
	}
	clear(b.seen)
	b.full, b.some = 0, false
	if b.doubts > 0 {
		clear(b.doubt)
	}
	b.doubts = 0
}

// Receive adds a message of the wire.
func (b *Board[F]) Receive(m *Message) {
	n := len(m.Payload)
	tensor.DecodeE4M3(b.single[:n], m.Payload)
	for i, x := range b.single[:n] {
		b.values[i] = F(x)
	}
	b.Add(b.values[:n], m.Pos, m.Flags)
}

// Add adds a payload, whose side follows from its length. Rows and columns wrap.
// The last row of one that carries uncertainty is not placed.
func (b *Board[F]) Add(payload []F, pos uint16, f Flags) {
	side := b.h
	if f&Partial != 0 {
		side = b.h / Tiles
	}
	rows := side
	if f&Uncertainty != 0 {
		rows--
		Resample(b.row, payload[rows*side:side*side])
		for j, x := range b.row {
			b.doubt[j] += x
		}
		b.doubts++
	}
	row, col := int(pos>>8), int(pos&255)
	covers := rows == b.h
	if covers {
		b.full++
	} else {
		b.some = true
	}
	first := min(side, b.h-col) // columns before the wrap
	for i := range rows {
		r := row + i
		if r >= b.h {
			r -= b.h
		}
		src, at := payload[i*side:(i+1)*side], r*b.h
		b.place(at+col, src[:first], covers)
		b.place(at, src[first:], covers)
	}
}

// place adds part of a row.
func (b *Board[F]) place(at int, src []F, covers bool) {
	dst := b.sum[at : at+len(src)]
	if b.Pairwise {
		for j, x := range src {
			if b.seen[at+j] {
				dst[j] = F(dst[j]+x) / 2
			} else {
				dst[j], b.seen[at+j] = x, true
			}
		}
		return
	}
	for j, x := range src {
		dst[j] += x
	}
	if !covers {
		for j := range src {
			b.count[at+j]++
		}
	}
}

// Mean writes the board: sums by counts.
func (b *Board[F]) Mean(dst []F) {
	switch {
	case b.Pairwise:
		copy(dst, b.sum)
	case !b.some:
		n := F(max(b.full, 1))
		for i, x := range b.sum {
			dst[i] = x / n
		}
	default:
		for i, x := range b.sum {
			dst[i] = x / F(max(b.full+b.count[i], 1))
		}
	}
}

// Counts writes how many messages wrote each cell.
func (b *Board[F]) Counts(dst []int32) {
	for i, n := range b.count {
		dst[i] = n + b.full
	}
}

// Messages is how many messages the board has that covered it; for a board
// without partial sends and uncertainty that is all of them.
func (b *Board[F]) Messages() int { return int(b.full) }

// Doubt writes the mean uncertainty of the messages that carried some, and
// reports whether there were any.
func (b *Board[F]) Doubt(dst []F) bool {
	if b.doubts == 0 {
		return false
	}
	for j, x := range b.doubt {
		dst[j] = x / F(b.doubts)
	}
	return true
}
