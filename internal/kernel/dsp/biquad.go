// Biquad filters, independent rows processed side by side.

package dsp

import "unsafe"

// Coefficients are those of a biquad, divided by a0.
type Coefficients struct{ B0, B1, B2, A1, A2 float64 }

// Direct returns the coefficients of the recursion that is computed: the state
// of the transposed direct form II (s1, s2), with the output y = b0·x + s1
// substituted into its equations,
//
//	s1' = b1·x − a1·y + s2 = c1·x − a1·s1 + s2      c1 = b1 − a1·b0
//	s2' = b2·x − a2·y      = c2·x − a2·s1           c2 = b2 − a2·b0
//
// so that only one multiply-add per frame depends on the previous frame. Round
// them to the type of the samples.
func (c Coefficients) Direct() (b0, c1, c2, a1, a2 float64) {
	return c.B0, c.B1 - c.A1*c.B0, c.B2 - c.A2*c.B0, c.A1, c.A2
}

// laneRows is the number of rows in a group.
const laneRows = 16

// flushFrames is the number of frames after which float32 sums of gradients are
// moved to float64 ones.
const flushFrames = 256

// A group is 16 rows; assembly depends on the offsets of its fields.
type group[F Float] struct {
	coef    [5][laneRows]F // b0, c1, c2, a1, a2
	state   [2][laneRows]F // s1, s2
	adjoint [2][laneRows]F // gradients of s1 and s2 after the next frame
	part    [5][laneRows]F // gradients of b0, b1, b2, −a1, −a2 since the last flush
	sum     [5][laneRows]float64
	rows    [4]pointers[F] // set by Bind and BindBack
}

// pointers holds the first frames of a group's rows.
type pointers[F Float] [laneRows]*F

// A Bank filters rows, each with separate coefficients and state. Rows are
// processed 16 at a time.
type Bank[F Float] struct {
	groups []group[F]
	rows   int
}

// NewBank returns a bank of rows rows, which output zeros until Set.
func NewBank[F Float](rows int) *Bank[F] {
	return &Bank[F]{make([]group[F], (rows+laneRows-1)/laneRows), rows}
}

// in returns how many lanes of group i hold rows.
func (b *Bank[F]) in(i int) int { return min(laneRows, b.rows-i*laneRows) }

// at returns the group and lane of a row.
func (b *Bank[F]) at(row int) (*group[F], int) { return &b.groups[row/laneRows], row % laneRows }

// repeated returns the lane that a group's unused lanes duplicate, so that they
// write the same values again: the first of the last eight that are used, since
// registers of eight lanes read all inputs before they write.
func repeated(used int) int { return (used - 1) &^ 7 }

// put sets the lanes that hold a row: its own and unused ones that duplicate
// it.
func (b *Bank[F]) put(row int, set func(g *group[F], lane int)) {
	g, lane := b.at(row)
	set(g, lane)
	if used := b.in(row / laneRows); lane == repeated(used) {
		for l := used; l < laneRows; l++ {
			set(g, l)
		}
	}
}

// Set sets the coefficients of a row and keeps its state.
func (b *Bank[F]) Set(row int, c Coefficients) {
	b.put(row, func(g *group[F], l int) {
		b0, c1, c2, a1, a2 := c.Direct()
		for k, v := range [5]float64{b0, c1, c2, a1, a2} {
			g.coef[k][l] = F(v)
		}
	})
}

// State returns a row's state.
func (b *Bank[F]) State(row int) [2]F {
	g, l := b.at(row)
	return [2]F{g.state[0][l], g.state[1][l]}
}

// SetState sets a row's state.
func (b *Bank[F]) SetState(row int, s [2]F) {
	b.put(row, func(g *group[F], l int) { g.state[0][l], g.state[1][l] = s[0], s[1] })
}

// Reset clears the states of all rows.
func (b *Bank[F]) Reset() {
	for i := range b.groups {
		b.groups[i].state = [2][laneRows]F{}
	}
}

// ResetAdjoint clears what Backward has accumulated: gradients of the states
// and of the coefficients.
func (b *Bank[F]) ResetAdjoint() {
	for i := range b.groups {
		g := &b.groups[i]
		g.adjoint, g.part, g.sum = [2][laneRows]F{}, [5][laneRows]F{}, [5][laneRows]float64{}
	}
}

// Gradient returns the gradients of a row's coefficients over all frames that
// Backward processed since [Bank.ResetAdjoint].
func (b *Bank[F]) Gradient(row int) Coefficients {
	g, l := b.at(row)
	var s [5]float64
	for k := range s {
		s[k] = g.sum[k][l] + float64(g.part[k][l])
	}
	return Coefficients{s[0], s[1], s[2], -s[3], -s[4]}
}

// Forward filters n frames. Row r of dst and of src begins at r·stride; dst
// may be src.
func (b *Bank[F]) Forward(dst, src []F, stride, n int) {
	if n == 0 || b.rows == 0 {
		return
	}
	_, _ = dst[(b.rows-1)*stride+n-1], src[(b.rows-1)*stride+n-1]
	for i := range b.groups {
		var x, y pointers[F]
		used := b.in(i)
		x.strided(src[i*laneRows*stride:], stride, used)
		y.strided(dst[i*laneRows*stride:], stride, used)
		b.groups[i].forward(&y, &x, used, n)
	}
}

// Bind sets where a row's frames are, for [Bank.Run].
func (b *Bank[F]) Bind(row int, dst, src []F) {
	b.put(row, func(g *group[F], l int) {
		g.rows[0][l], g.rows[1][l] = unsafe.SliceData(dst), unsafe.SliceData(src)
	})
}

// Run filters n frames of the bound rows, all of which must be at least n
// frames long.
func (b *Bank[F]) Run(n int) {
	for i := range b.groups {
		g := &b.groups[i]
		g.forward(&g.rows[0], &g.rows[1], b.in(i), n)
	}
}

// strided sets the pointers of rows that are stride frames apart.
func (p *pointers[F]) strided(x []F, stride, rows int) {
	for l := range p {
		at := l
		if l >= rows {
			at = repeated(rows)
		}
		p[l] = &x[at*stride]
	}
}

func (g *group[F]) forward(y, x *pointers[F], used, n int) {
	done := 0
	if single[F]() {
		done = forward32((*group[float32])(unsafe.Pointer(g)), (*pointers[float32])(unsafe.Pointer(y)), (*pointers[float32])(unsafe.Pointer(x)), used, n)
	}
	if done == n {
		return
	}
	for l := range used {
		g.forwardGeneric(l, unsafe.Slice(y[l], n)[done:], unsafe.Slice(x[l], n)[done:])
	}
	for l := used; l < laneRows; l++ {
		g.state[0][l], g.state[1][l] = g.state[0][repeated(used)], g.state[1][repeated(used)]
	}
}

// forwardGeneric filters one row.
func (g *group[F]) forwardGeneric(l int, y, x []F) {
	y = y[:len(x)]
	b0, c1, c2, a1, a2 := g.coef[0][l], g.coef[1][l], g.coef[2][l], g.coef[3][l], g.coef[4][l]
	s1, s2 := g.state[0][l], g.state[1][l]
	for i, v := range x {
		y[i] = fma(b0, v, s1)
		t := fma(c1, v, s2)
		s2 = fma(-a2, s1, c2*v)
		s1 = fma(-a1, s1, t)
	}
	g.state[0][l], g.state[1][l] = s1, s2
}
