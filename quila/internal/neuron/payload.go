package neuron

import (
	"atenia/grad"
	"atenia/quila/config"
)

// A Shape has the sizes of payloads.
type Shape struct {
	H, A, S, Kappa int // side of a payload, side of the seeds, stride, side of a kernel
}

// ShapeOf is a configuration's.
func ShapeOf(c *config.Config) Shape { return Shape{c.H, c.A, c.S, c.Kappa} }

// Seeds weighs a vector with W_out and folds it into a map of a² values: a
// shorter vector is repeated, a longer one adds the entries that are equal
// modulo a².
func Seeds[F grad.Float](dst, h, w []F, a int) {
	n := a * a
	clear(dst[:n])
	j, k := 0, 0
	for _, x := range w {
		dst[j] += F(x * h[k])
		if j++; j == n {
			j = 0
		}
		if k++; k == len(h) {
			k = 0
		}
	}
}

// convT writes the transposed convolution of the seeds with an edge's kernel:
// out[i·s+p−(κ−s)/2, j·s+q−(κ−s)/2] += seed[i,j]·k[p,q].
func convT[F grad.Float](dst, seeds, kernel []F, z Shape) {
	h, kp := z.H, z.Kappa
	clear(dst[:h*h])
	pad := (kp - z.S) / 2
	for i := range z.A {
		for j := range z.A {
			x := seeds[i*z.A+j]
			c0 := j*z.S - pad
			lo, hi := max(0, -c0), min(kp, h-c0)
			for p := max(0, pad-i*z.S); p < kp; p++ {
				r := i*z.S + p - pad
				if r >= h {
					break
				}
				row := dst[r*h+c0+lo : r*h+c0+hi]
				for q, k := range kernel[p*kp+lo : p*kp+hi] {
					row[q] += F(x * k)
				}
			}
		}
	}
}

// Payload writes the square that an edge with these weights makes of h. seeds is
// scratch of a² values.
func Payload[F grad.Float](dst, seeds, h, wOut, kernel []F, z Shape) {
	Seeds(seeds, h, wOut, z.A)
	convT(dst, seeds, kernel, z)
}

// Tiles is how many tiles a partial send divides a side into.
const Tiles = 4

// A Tile is the part of a payload that a partial send carries.
type Tile struct {
	Row, Col int    // of the 4×4 tiles
	Pos      uint16 // where the receiver puts it
}

// Choose returns the tile that has more than threshold of what an edge sends, by
// attention [R-8.6b]: a cell weighs the mean attention of its dimension's key
// group times the magnitude of the seed there. attn is [groups, groups], rows
// the queries. It reports false for a full send: no such tile, one that would
// wrap, or a seed map that four does not divide.
func Choose[F grad.Float](attn, h, wOut []F, pos uint16, c *config.Config, threshold F, work *TileWork[F]) (Tile, F, bool) {
	if c.A < Tiles || c.A%Tiles != 0 {
		return Tile{}, 0, false
	}
	groups := len(h) / c.G
	mass := work.mass[:len(h)]
	for k := range groups {
		var sum F
		for q := range groups {
			sum += attn[q*groups+k]
		}
		sum /= F(groups)
		for d := k * c.G; d < (k+1)*c.G; d++ {
			mass[d] = sum * abs(h[d])
		}
	}
	for i, x := range wOut {
		work.w[i] = abs(x)
	}
	Seeds(work.cells, mass, work.w[:len(wOut)], c.A)
	var share [Tiles * Tiles]F
	var total F
	side := c.A / Tiles
	for i := range c.A {
		for j := range c.A {
			x := work.cells[i*c.A+j]
			share[i/side*Tiles+j/side] += x
			total += x
		}
	}
	best := 0
	for t, x := range share {
		if x > share[best] {
			best = t
		}
	}
	part := share[best] / max(total, 1e-30)
	t, q := TileAt(best, pos, c.H), c.H/Tiles
	if !(part > threshold) || int(t.Pos>>8)+q > c.H || int(t.Pos&255)+q > c.H {
		return Tile{}, part, false
	}
	return t, part, true
}

// TileAt is tile i, row by row, of a full payload of side h that lands at pos.
func TileAt(i int, pos uint16, h int) Tile {
	q := h / Tiles
	row, col := (int(pos>>8)+i/Tiles*q)%h, (int(pos&255)+i%Tiles*q)%h
	return Tile{i / Tiles, i % Tiles, uint16(row<<8 | col)}
}

// TileWork is the scratch memory of [Choose].
type TileWork[F grad.Float] struct{ mass, w, cells []F }

// NewTileWork makes the scratch memory for a configuration.
func NewTileWork[F grad.Float](c *config.Config) *TileWork[F] {
	return &TileWork[F]{mass: make([]F, max(c.D, c.DE)), w: make([]F, max(c.WOutLen(), c.DE)), cells: make([]F, c.A*c.A)}
}

// Cut copies a tile out of a full payload.
func Cut[F grad.Float](dst, payload []F, t Tile, h int) {
	q := h / Tiles
	for i := range q {
		at := (t.Row*q+i)*h + t.Col*q
		copy(dst[i*q:(i+1)*q], payload[at:at+q])
	}
}

func abs[F grad.Float](x F) F {
	if x < 0 {
		return -x
	}
	return x
}

// Resample writes u with as many components as dst has: u repeats, or component
// j is the mean of u[j], u[j+n], … [R-8.3b]. The receiver goes back by the same
// rule.
func Resample[F grad.Float](dst, u []F) {
	n, d := len(dst), len(u)
	if n >= d {
		for j := range dst {
			dst[j] = u[j%d]
		}
		return
	}
	for j := range dst {
		var sum F
		count := 0
		for i := j; i < d; i += n {
			sum += u[i]
			count++
		}
		dst[j] = sum / F(count)
	}
}

// Doubt writes a neuron's uncertainty: what arrived with its input, and its own
// want of confidence where it is most active. in is nil if no message
// carried uncertainty.
func Doubt[F grad.Float](dst, in []F, conf F, h []F) {
	most := F(1e-6)
	for _, x := range h {
		most = max(most, abs(x))
	}
	for j, x := range h {
		own := F((1 - conf) * abs(x) / most)
		var before F
		if in != nil {
			before = in[j]
		}
		dst[j] = 1 - F((1-before)*(1-own))
	}
}
