package neuron

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/quila/internal/weights"
)

// side is the side of the receiver's kernel k_in, centre its offset.
const side, centre = 8, 3

// edgeMaps are the linear maps from what neurons send to h_in, composed: rows of
// a source's h_final times mT [in·D][D], the incoming edges of a neuron side by
// side in ascending source.
type edgeMaps[F grad.Float] struct {
	ready bool
	win   [][]F   // [N] of [H·H][D]: W_in, a row a cell of B'
	cells [][]F   // [N] of [H·H][D]: W_in after k_in, a row a cell of B
	mT, m [][]F   // [N] of [in·D][D], and transposed
	bT    [][][]F // [modality][N] of [De][D]
}

// bindMaps composes the maps, unless they are ready.
func (g *Grid[F]) bindMaps() {
	e, c := &g.maps, g.c
	if e.ready {
		return
	}
	if e.win == nil {
		e.win, e.cells, e.mT, e.m = make([][]F, c.N), make([][]F, c.N), make([][]F, c.N), make([][]F, c.N)
		e.bT = make([][][]F, c.Modalities)
		for m := range e.bT {
			e.bT[m] = make([][]F, c.N)
		}
	}
	g.job.kind = jobMaps
	g.threads.Range(c.N, 1, &g.job)
	e.ready = true
}

// mapsOf composes the maps of one target.
func (g *Grid[F]) mapsOf(n int) {
	e, c, w := &g.maps, g.c, g.w
	d, area := c.D, c.H*c.H
	e.win[n], e.cells[n] = size(e.win[n], area*d), size(e.cells[n], area*d)
	g.winOf(e.win[n], n)
	clear(e.cells[n])
	receive(e.cells[n], e.win[n], w.Rows("n.k_in", n), c.H, d)

	in := g.graph.Incoming(n)
	e.mT[n], e.m[n] = size(e.mT[n], len(in)*d*d), size(e.m[n], len(in)*d*d)
	clear(e.mT[n])
	for i, edge := range in {
		g.sender(w, int(edge)).compose(e.mT[n][i*d*d:(i+1)*d*d], e.cells[n], d)
	}
	transpose(e.m[n], len(in)*d, 0, e.mT[n], len(in)*d, d)
	for m := range e.bT {
		e.bT[m][n] = size(e.bT[m][n], c.DE*d)
		clear(e.bT[m][n])
		g.boundary(w, m, n).compose(e.bT[m][n], e.cells[n], d)
	}
}

// winOf writes W_in of a neuron, a row a cell of B'.
func (g *Grid[F]) winOf(win []F, n int) {
	c, w := g.c, g.w
	d, side := c.D, c.H
	if c.R == 0 {
		transpose(win, d, 0, w.Rows("n.w_in", n), d, side*side)
		return
	}
	clear(win)
	left, right := w.Rows("n.w_in.l", n), w.Rows("n.w_in.r", n)
	for q := range c.R {
		for i := range c.D1 {
			for y, l := range left[(q*c.D1+i)*side:][:side] {
				for k := range c.D2 {
					for x, r := range right[(q*c.D2+k)*side:][:side] {
						win[(y*side+x)*d+i*c.D2+k] += l * r
					}
				}
			}
		}
	}
}

// winBack adds the gradient of W_in's factors, given that of W_in.
func (g *Grid[F]) winBack(dl, dr, dense []F, dwin []F, n int) {
	c, w := g.c, g.w
	d, side := c.D, c.H
	if c.R == 0 {
		if dense == nil {
			return
		}
		for i := range d {
			for cell := range side * side {
				dense[(n*d+i)*side*side+cell] += dwin[cell*d+i]
			}
		}
		return
	}
	left, right := w.Rows("n.w_in.l", n), w.Rows("n.w_in.r", n)
	for q := range c.R {
		for i := range c.D1 {
			for y, l := range left[(q*c.D1+i)*side:][:side] {
				var sum F
				for k := range c.D2 {
					at := (q*c.D2 + k) * side
					for x, r := range right[at:][:side] {
						v := dwin[(y*side+x)*d+i*c.D2+k]
						sum += v * r
						if dr != nil {
							dr[n*len(right)+at+x] += v * l
						}
					}
				}
				if dl != nil {
					dl[n*len(left)+(q*c.D1+i)*side+y] += sum
				}
			}
		}
	}
}

// receive adds to cells what win sees of them through the receiver's kernel:
// B'[i,j] = Σ k[p,q]·B[i−p+3, j−q+3], zero outside.
func receive[F grad.Float](cells, win, kernel []F, h, d int) {
	eachTap(kernel, h, func(k F, _, from, to int) {
		if k != 0 {
			dense.Axpy(cells[to*d:(to+1)*d], k, win[from*d:(from+1)*d])
		}
	})
}

// eachTap calls f for every element of a kernel and every pair of a cell of B,
// to, and the cell of B' that it reaches through the element.
func eachTap[F grad.Float](kernel []F, h int, f func(k F, tap, from, to int)) {
	for tap, k := range kernel {
		dy, dx := tap/side-centre, tap%side-centre
		for y := max(0, -dy); y < min(h, h-dy); y++ {
			for x := max(0, -dx); x < min(h, h-dx); x++ {
				f(k, tap, (y+dy)*h+x+dx, y*h+x)
			}
		}
	}
}

// receiveBack adds the gradients of the kernel and of win, given that of cells.
func receiveBack[F grad.Float](dkernel, dwin, dcells, win, kernel []F, h, d int) {
	eachTap(kernel, h, func(k F, tap, from, to int) {
		g := dcells[to*d : (to+1)*d]
		if k != 0 {
			dense.Axpy(dwin[from*d:(from+1)*d], k, g)
		}
		if dkernel != nil {
			dkernel[tap] += dense.Dot(g, win[from*d:(from+1)*d])
		}
	})
}

// A sender is the first half of an edge: how a vector becomes a message, and where
// it is placed.
type sender[F grad.Float] struct {
	wOut, kernel             []F
	dim                      int // of the vector
	a, stride, kappa, pad, h int
	row, col                 int
}

func (g *Grid[F]) shape(pos uint16, dim int) sender[F] {
	c := g.c
	return sender[F]{dim: dim, a: c.A, stride: c.S, kappa: c.Kappa, pad: (c.Kappa - c.S) / 2, h: c.H, row: int(pos >> 8), col: int(pos & 255)}
}

func (g *Grid[F]) sender(w *weights.Set[F], edge int) sender[F] {
	s := g.shape(g.graph.Pos[edge], g.c.D)
	s.wOut, s.kernel = w.Rows("edge.w_out", edge), w.Rows("edge.kernel", edge)
	return s
}

func (g *Grid[F]) boundary(w *weights.Set[F], modality, n int) sender[F] {
	s := g.shape(weights.Place(g.c, modality), g.c.DE)
	name := &boundaryNames[modality]
	s.wOut, s.kernel = w.Rows(name[0], n), w.Rows(name[1], n)
	return s
}

// each calls f for every weight i of W_out, which multiplies component j of the
// vector, every element of the kernel and the cell of B they reach.
func (s sender[F]) each(f func(i, j, tap, cell int)) {
	for i := range s.wOut {
		j, seed := i%s.dim, i%(s.a*s.a)
		y0, x0 := seed/s.a*s.stride-s.pad, seed%s.a*s.stride-s.pad
		for u := range s.kappa {
			for v := range s.kappa {
				y, x := y0+u, x0+v
				if y < 0 || x < 0 || y >= s.h || x >= s.h {
					continue // cropped
				}
				f(i, j, u*s.kappa+v, (y+s.row)%s.h*s.h+(x+s.col)%s.h)
			}
		}
	}
}

// compose adds the composite map [dim][D] of cells [H·H][D].
func (s sender[F]) compose(mT, cells []F, d int) {
	s.each(func(i, j, tap, cell int) {
		dense.Axpy(mT[j*d:(j+1)*d], s.wOut[i]*s.kernel[tap], cells[cell*d:(cell+1)*d])
	})
}

// back adds the gradients of W_out, the kernel and cells, given that of the map.
func (s sender[F]) back(dwOut, dkernel, dcells, dmT, cells []F, d int) {
	s.each(func(i, j, tap, cell int) {
		g := dmT[j*d : (j+1)*d]
		dot := dense.Dot(g, cells[cell*d:(cell+1)*d])
		if dwOut != nil {
			dwOut[i] += s.kernel[tap] * dot
		}
		if dkernel != nil {
			dkernel[tap] += s.wOut[i] * dot
		}
		dense.Axpy(dcells[cell*d:(cell+1)*d], s.wOut[i]*s.kernel[tap], g)
	})
}

// EdgeMap is the composite map of an edge, D×D, column vectors of the source's
// h_final from the right.
func (g *Grid[F]) EdgeMap(edge int) []F {
	g.bindMaps()
	d := g.c.D
	target := int(g.graph.Dst[edge])
	out := make([]F, d*d)
	for i, e := range g.graph.Incoming(target) {
		if int(e) == edge {
			transpose(out, d, 0, g.maps.mT[target][i*d*d:], d, d)
		}
	}
	return out
}
