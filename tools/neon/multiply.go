package main

// A multiplier adds the products of weights, four columns of four rows at a
// time, with the same columns of all activation rows.
type multiplier interface {
	start()                            // for four more weight rows
	add(k int, w v)                    // columns 4k to 4k+3
	sum(row, half int, meta, more v) v // the four sums, less the bias
}

// dot multiplies with SDOT: four products a lane at once.
type dot struct {
	*cell
	x, sums []v
}

func newDot(c *cell) multiplier {
	d := &dot{cell: c}
	for _, x := range c.x {
		d.x = append(d.x, load(x, 0), load(x, 16))
	}
	return d
}

func (d *dot) start() {
	d.sums = vecs(len(d.cell.x) * d.groups())
	zero(d.sums...)
}

func (d *dot) add(k int, w v) {
	for row := range d.cell.x {
		sdotElement(d.sums[d.at(row, k/4)], w, d.x[2*row+k/4], k%4)
	}
}

// at is the place of the sums of columns of a half.
func (d *dot) at(row, half int) int { return row*d.groups() + half%d.groups() }

func (d *dot) sum(row, half int, meta, more v) v {
	s := d.sums[d.at(row, half)]
	d.unbias(s, half, meta, more)
	return s
}

// unbias subtracts what codes are too large by, times the activations' sum.
func (c *cell) unbias(s v, half int, meta, more v) {
	if c.bias == 0 {
		return
	}
	t, from, lane := vec(), meta, 1 // -128·Σq
	if c.halves {
		if lane = 3; half == 1 {
			from, lane = more, 0
		}
	}
	raw("VDUP %v.S[%d], %v.S4", from, lane, t)
	sshr(t, t, 7-c.bias)
	add(s, s, t)
}

// pairs multiplies without SDOT: products of two columns are added in 16 bits,
// those of two times two, or of small codes all, too; then pairs of columns in
// 32 bits, of the rows 0 and 1 in one register and 2 and 3 in another.
type pairs struct {
	*cell
	x      []v // four columns each, repeated
	short  [2][2]v
	sums   [2][2]v
	filled [2]int
}

func newPairs(c *cell) multiplier {
	p := &pairs{cell: c, x: vecs(8)}
	scope(func() {
		lo, hi := load(c.x[0], 0), load(c.x[0], 16)
		for k, x := range p.x {
			from := lo
			if k >= 4 {
				from = hi
			}
			raw("VDUP %v.S[%d], %v.S4", from, k%4, x)
		}
	})
	return p
}

func (p *pairs) start() {
	p.filled = [2]int{}
	for h := range p.groups() {
		p.short[h] = [2]v{vec(), vec()}
		if p.sums[h] = p.short[h]; p.large {
			p.sums[h] = [2]v{vec(), vec()}
			zero(p.sums[h][:]...)
		}
	}
}

func (p *pairs) add(k int, w v) {
	h := k / 4 % p.groups()
	if p.filled[h] == 0 {
		smull(p.short[h][0], w, p.x[k])
		smull2(p.short[h][1], w, p.x[k])
	} else {
		smlal(p.short[h][0], w, p.x[k])
		smlal2(p.short[h][1], w, p.x[k])
	}
	if p.filled[h]++; p.large && p.filled[h] == 2 {
		sadalp(p.sums[h][0], p.short[h][0])
		sadalp(p.sums[h][1], p.short[h][1])
		p.filled[h] = 0
	}
}

func (p *pairs) sum(_, half int, meta, more v) v {
	s := p.sums[half][0]
	if !p.large {
		saddlp(s, s)
		saddlp(p.sums[half][1], p.sums[half][1])
	}
	addp(s, s, p.sums[half][1])
	p.unbias(s, half, meta, more)
	return s
}
