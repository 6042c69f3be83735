package main

import (
	"fmt"
	"strings"
)

// A packing is one packed block format (as in package kernel): a cell, 32
// columns of 16 rows, is 64·low bytes of low bits of codes and 64·high of high
// ones, in vectors of 4 columns of all rows, of which a register has 4 rows.
type packing struct {
	name      string // as in package tensor
	low, high int
	scale     int      // bytes of scales and minima, for a cell
	block     int      // the same, for 256 columns
	table     [16]int8 // values of codes
	bias      int      // what codes exceed weights by, as a power of two
	halves    bool     // a scale for 16 columns
	constant  uint32   // one that scales needs
	large     bool     // more than two products may exceed 16 bits
	scales    func(c *cell, s, m []v)
}

var packings = []packing{
	{name: "Q8_0", low: 8, scale: 32, large: true, scales: halfScales},
	{name: "Q4_0", low: 4, scale: 32, bias: 3, scales: halfScales},
	{name: "Q4_1", low: 4, scale: 64, scales: halfScales},
	{name: "Q5_0", low: 4, high: 1, scale: 32, bias: 4, scales: halfScales},
	{name: "Q5_1", low: 4, high: 1, scale: 64, scales: halfScales},
	{name: "IQ4_NL", low: 4, scale: 32, table: iq4, large: true, scales: halfScales},
	{name: "IQ4_XS", low: 4, scale: 16, block: 32, table: iq4, large: true, scales: byteScales},
	{name: "MXFP4", low: 4, scale: 16, table: [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}, constant: 1, scales: powerScales},
	{name: "Q2_K", low: 2, scale: 32, block: 64, halves: true, constant: 15, scales: nibbleScales},
	{name: "Q3_K", low: 2, high: 1, scale: 32, block: 32, bias: 2, halves: true, scales: byteScales},
	{name: "Q4_K", low: 4, scale: 32, block: 64, scales: byteScales},
	{name: "Q5_K", low: 4, high: 1, scale: 32, block: 64, scales: byteScales},
	{name: "Q6_K", low: 4, high: 2, scale: 32, block: 32, bias: 5, halves: true, scales: byteScales},
}

var iq4 = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func (f *packing) mins() bool { return f.block == 64 || f.scale == 64 }

func (f *packing) groups() int {
	if f.halves {
		return 2
	}
	return 1
}

// A cell is the state of the code for one cell: addresses, constants, and the
// current 4 of its 16 rows.
type cell struct {
	packing
	codes, scaleAt, blockAt r
	x                       []r // cells of each activation row
	mask, highMask, lookup  v
	small                   v   // constant
	rows                    int // the four
}

// packedProducts makes products of packed weights.
func packedProducts() {
	for _, kind := range []struct {
		name string
		rows []int
		make func(c *cell) multiplier
	}{{"Dot", []int{1, 2, 4, 8}, newDot}, {"NEON", []int{1}, newPairs}} {
		fmt.Fprintf(&wrappers, "\nfunc tiles%s(d tensor.DType, rows int, sums *float32, codes, scales, blocks *byte, x *xCell, xStride, n, full int) {\nswitch d {\n", kind.name)
		for _, f := range packings {
			fmt.Fprintf(&wrappers, "case tensor.%s:\nswitch rows {\n", f.name)
			for _, rows := range kind.rows {
				if rows == 8 && f.halves {
					continue // registers
				}
				name := fmt.Sprintf("tiles%sx%d%s", strings.ReplaceAll(f.name, "_", ""), rows, kind.name)
				packedProduct(name, f, rows, kind.make)
				fmt.Fprintf(&wrappers, "case %d:\n%s(sums, codes, scales, blocks, x, xStride, n, full)\n", rows, name)
			}
			wrappers.WriteString("}\n")
		}
		wrappers.WriteString("}\n}\n")
	}
	foldTiles("foldTiles8NEON", 8)
	foldTiles("foldTiles16NEON", 16)
}

// packedProduct makes the passes of one chunk of a tile with some activation
// rows. Sums of few rows are in registers, those of many in memory, where the
// caller has cleared them.
func packedProduct(name string, f packing, rows int, kind func(c *cell) multiplier) {
	doc := fmt.Sprintf("writes the lanes [16][%d][16] of a tile of n blocks, of which full passes have all.", rows)
	text(name, "sums *float32, codes, scales, blocks *byte, x *xCell, xStride, n, full int", doc, func() {
		c := &cell{packing: f}
		sums, blocks, n, full := arg("sums"), arg("blocks"), arg("n"), arg("full")
		c.codes, c.scaleAt = arg("codes"), arg("scales")
		if f.block > 0 {
			c.blockAt = gp()
		}
		c.x = append(c.x, arg("x"))
		if rows > 1 {
			stride := arg("xStride")
			for i := 1; i < rows; i++ {
				c.x = append(c.x, gp())
				raw("ADD %v, %v, %v", stride, c.x[i-1], c.x[i])
			}
		}
		c.constants()
		var acc []v
		if rows*f.groups() <= 2 {
			acc = vecs(4 * rows * f.groups())
		}
		passes, count, whole := gp(), gp(), gp()
		raw("MOVD $8, %v", passes)
		loop(passes, 1, func() {
			zero(acc...)
			if f.block > 0 {
				raw("MOVD %v, %v", blocks, c.blockAt)
			}
			raw("CMP $0, %v", full) // passes that are left with all blocks
			raw("CSET GT, %v", whole)
			raw("SUB %v, %v, %v", whole, full, full)
			raw("SUB $1, %v, %v", n, count)
			raw("ADD %v, %v, %v", whole, count, count)
			unless(count, func() {
				loop(count, 1, func() { c.multiply(sums, acc, kind) })
			})
			raw("EOR $1, %v, %v", whole, whole)
			unless(whole, func() {
				for _, x := range c.x {
					advance(x, 64)
				}
			})
			for i, a := range acc {
				str(a, sums, lane(i, rows))
			}
			advance(sums, 64*rows)
		})
	})
}

// lane is the position of the sums of register i: [half][row][four of 16
// outputs], halves 8 lanes apart.
func lane(i, rows int) int { return i/(4*rows)*8*64*rows + i%(4*rows)*16 }

func (c *cell) constants() {
	switch c.low {
	case 8:
		c.mask = word(0x80808080)
	case 4:
		c.mask = word(0x0f0f0f0f)
	case 2:
		c.mask = word(0x03030303)
	}
	if c.high > 0 {
		c.highMask = word((1<<c.high - 1) << c.low * 0x01010101)
	}
	if c.constant != 0 {
		c.small = word(c.constant)
	}
	if c.table != [16]int8{} {
		c.lookup = vec()
		for half := range 2 {
			var bits uint64
			for i := range 8 {
				bits |= uint64(uint8(c.table[8*half+i])) << (8 * i)
			}
			raw("MOVD $%#x, R26", bits)
			raw("VMOV R26, %v.D[%d]", c.lookup, half)
		}
	}
}

// multiply adds the products of one cell with all activation rows and moves on.
func (c *cell) multiply(sums r, acc []v, kind func(c *cell) multiplier) {
	scope(func() {
		m := kind(c)
		for c.rows = range 4 {
			scope(func() {
				m.start()
				c.weights(m.add)
				c.add(sums, acc, m)
			})
		}
	})
	advance(c.codes, 64*(c.low+c.high))
	advance(c.scaleAt, c.scale)
	if c.block > 0 {
		advance(c.blockAt, c.block)
	}
	for _, x := range c.x {
		advance(x, 64)
	}
}

// add scales the integers of four weight rows and adds them to the sums.
func (c *cell) add(sums r, acc []v, m multiplier) {
	s := vecs(c.groups())
	var mins []v
	if c.mins() {
		mins = vecs(c.groups())
	}
	scope(func() { c.scales(c, s, mins) })
	for row := range c.x {
		scope(func() {
			meta, more := load(c.x[row], 32), v(0) // d, n, m, n16[0]; n16[1], m16
			if c.halves {
				more = load(c.x[row], 48)
			}
			for h := range c.groups() {
				i := (h*len(c.x)+row)*4 + c.rows
				var a v
				if acc != nil {
					a = acc[i]
				} else {
					a = load(sums, lane(i, len(c.x)))
				}
				q := m.sum(row, h, meta, more)
				switch {
				case mins != nil && c.halves:
					fmlsElement(a, mins[h], more, 1+h)
				case mins != nil:
					fmlsElement(a, mins[h], meta, 2)
				}
				t := vec()
				fmulElement(t, s[h], meta, 0)
				scvtf(q, q)
				fmla(a, q, t)
				if acc == nil {
					str(a, sums, lane(i, len(c.x)))
				}
			}
		})
	}
}

// weights gives f the codes of every four columns of four rows, as signed
// bytes, more than the weights by the bias.
func (c *cell) weights(f func(k int, w v)) {
	at := func(vector int) int { return 64*vector + 16*c.rows }
	var high []v
	for i := range c.high {
		high = append(high, load(c.codes, at(c.low+i)))
	}
	finish := func(k int, w v) {
		if c.high > 0 {
			per := 8 / c.high // fours of columns that share a vector
			t := vec()
			by := c.low - k%per*c.high
			switch src := high[k/per]; {
			case by > 0:
				shl8(t, src, by)
			case by < 0:
				ushr8(t, src, -by)
			default:
				t = src
			}
			bit(w, t, c.highMask)
		}
		if c.lookup != 0 {
			tbl(w, c.lookup, w)
		}
		f(k, w)
	}
	switch c.low {
	case 8:
		for k := range 8 {
			scope(func() {
				w := load(c.codes, at(k))
				eor(w, w, c.mask)
				f(k, w)
			})
		}
	case 4:
		for k := range 4 {
			scope(func() {
				q, w := load(c.codes, at(k)), vec()
				and(w, q, c.mask)
				finish(k, w)
				ushr8(q, q, 4)
				finish(k+4, q)
			})
		}
	case 2:
		for k := range 8 {
			scope(func() {
				q := load(c.codes, at(k/4))
				if k%4 > 0 {
					ushr8(q, q, k%4*2)
				}
				if k%4 < 3 {
					and(q, q, c.mask)
				}
				finish(k, q)
			})
		}
	}
}

// start4 loads four bytes of scales as 32 bits each.
func (c *cell) start4(x v, at int, signed bool) {
	raw("FMOVS %d(%v), F%d", at+4*c.rows, c.scaleAt, int(x))
	if signed {
		sxtl8(x, x, 0)
		sxtl16(x, x, 0)
	} else {
		uxtl8(x, x, 0)
		uxtl16(x, x, 0)
	}
}

// half4 loads four halves.
func (c *cell) half4(x v, p r, at int) {
	ldr64(x, p, at+8*c.rows)
	widen(x, x)
}

func halfScales(c *cell, s, m []v) {
	c.half4(s[0], c.scaleAt, 0)
	if m != nil {
		c.half4(m[0], c.scaleAt, 32)
	}
}

// byteScales are bytes times a scale of 256 columns: one, or one for each half
// and signed, or one and a minimum.
func byteScales(c *cell, s, m []v) {
	for i, x := range append(append([]v(nil), s...), m...) {
		d := vec()
		if i < len(s) {
			c.half4(d, c.blockAt, 0)
		} else {
			c.half4(d, c.blockAt, 32)
		}
		c.start4(x, 16*i, m == nil)
		scvtf(x, x)
		fmul(x, x, d)
	}
}

// nibbleScales are a scale and a minimum in a byte, for each half.
func nibbleScales(c *cell, s, m []v) {
	d, dmin := vec(), vec()
	c.half4(d, c.blockAt, 0)
	c.half4(dmin, c.blockAt, 32)
	for h := range s {
		c.start4(s[h], 16*h, false)
		ushr(m[h], s[h], 4)
		and(s[h], s[h], c.small)
		scvtf(s[h], s[h])
		scvtf(m[h], m[h])
		fmul(s[h], s[h], d)
		fmul(m[h], m[h], dmin)
	}
}

// powerScales are bytes e for 2^(e-128), subnormal for the smallest two.
func powerScales(c *cell, s, _ []v) {
	one, small := c.small, vec()
	c.start4(s[0], 0, false)
	umin(small, s[0], one)
	sub(s[0], s[0], one)
	add(small, small, one)
	shl(small, small, 21)
	shl(s[0], s[0], 23)
	smax(s[0], s[0], small)
}

// foldTiles makes the addition of lanes of n vectors of four outputs, stride
// bytes from lane to lane, to dst.
func foldTiles(name string, lanes int) {
	text(name, "dst, sums *float32, stride, n int", fmt.Sprintf("adds %d lanes of n times four outputs, folded, to dst.", lanes), func() {
		dst, sums, stride, n, at := arg("dst"), arg("sums"), arg("stride"), arg("n"), gp()
		loop(n, 1, func() {
			scope(func() {
				a := vecs(lanes)
				raw("MOVD %v, %v", sums, at)
				for i := range a {
					ldr(a[i], at, 0)
					raw("ADD %v, %v, %v", stride, at, at)
				}
				if lanes == 16 {
					for i := range 8 {
						fadd(a[i], a[i], a[i+8])
					}
				}
				for i := range 4 {
					fadd(a[i], a[i], a[i+4])
				}
				fadd(a[0], a[0], a[1])
				fadd(a[2], a[2], a[3])
				fadd(a[0], a[0], a[2])
				ldr(a[1], dst, 0)
				fadd(a[1], a[1], a[0])
				str(a[1], dst, 0)
			})
			advance(sums, 16)
			advance(dst, 16)
		})
	})
}
