package main

import "fmt"

// A source is how 16 values, which multiply one column of all activation rows,
// are loaded: of 16 weight rows, of 16 keys, or of one value's columns.
type source struct {
	name string
	load func(c *chain, out []v)
	keys bool // blocks of 32 after 16 scales, instead of steps
}

var sources = []source{
	{name: "F32", load: func(c *chain, out []v) {
		for i, x := range out {
			ldr(x, c.w, 16*i)
		}
	}},
	{name: "F16", load: func(c *chain, out []v) { c.widen(out, widen, widen2) }},
	{name: "BF16", load: func(c *chain, out []v) { c.widen(out, shll16, shll16h) }},
	{name: "Q80", load: func(c *chain, out []v) {
		d := halfScale(c.scales, 0)
		for _, x := range bytesToFloats(out, load(c.w, 0)) {
			fmulElement(x, x, d, 0)
		}
	}},
	{name: "Q80Keys", keys: true, load: func(c *chain, out []v) {
		for i, x := range bytesToFloats(out, load(c.w, 0)) {
			fmul(x, x, c.d[i])
		}
	}},
}

// A chain is the registers of fused multiply-adds, one after another.
type chain struct {
	w, scales, step r
	x               []r // of each activation row
	d               []v // scales of a block of keys
	acc             []v // [activation rows][4]
}

func (c *chain) widen(out []v, low, high func(d, n v)) {
	for i := range 2 {
		h := load(c.w, 16*i)
		low(out[2*i], h)
		high(out[2*i+1], h)
	}
}

// chains makes products of 16 values with some activation rows, which continue
// the sums in dst.
func chains() {
	wrappers.WriteString("\nfunc chainsNEON(s source, rows int, dst *float32, dstStride int, w, scales *byte, step int, x *float32, xStride, count int) {\nswitch s {\n")
	for _, s := range sources {
		fmt.Fprintf(&wrappers, "case source%s:\nswitch rows {\n", s.name)
		for _, rows := range []int{1, 2, 4} {
			name := fmt.Sprintf("chains%sx%dNEON", s.name, rows)
			chainsOf(name, s, rows)
			fmt.Fprintf(&wrappers, "case %d:\n%s(dst, dstStride, w, scales, step, x, xStride, count)\n", rows, name)
		}
		wrappers.WriteString("}\n")
	}
	wrappers.WriteString("}\n}\n")
}

func chainsOf(name string, s source, rows int) {
	doc := fmt.Sprintf("adds count times 16 values, step bytes apart, times those of %d rows of x, to dst.", rows)
	text(name, "dst *float32, dstStride int, w, scales *byte, step int, x *float32, xStride, count int", doc, func() {
		c := &chain{w: arg("w"), x: []r{arg("x")}}
		dst, stride, count := arg("dst"), arg("dstStride"), arg("count")
		if s.name != "Q80Keys" {
			c.step = arg("step")
		}
		if s.name == "Q80" {
			c.scales = arg("scales")
		}
		out := []r{dst}
		if rows > 1 {
			xStride := arg("xStride")
			for i := 1; i < rows; i++ {
				c.x, out = append(c.x, gp()), append(out, gp())
				raw("ADD %v, %v, %v", xStride, c.x[i-1], c.x[i])
				raw("ADD %v, %v, %v", stride, out[i-1], out[i])
			}
		}
		for _, p := range out {
			for k := range 4 {
				c.acc = append(c.acc, load(p, 16*k))
			}
		}
		if s.keys {
			c.d = vecs(4)
			loop(count, 32, func() {
				for i, x := range c.d {
					ldr64(x, c.w, 8*i)
					widen(x, x)
				}
				advance(c.w, 32)
				eight := gp()
				raw("MOVD $8, %v", eight)
				loop(eight, 1, func() { c.columns(s, 4) })
			})
		} else {
			c.counted(s, count)
		}
		for i, a := range c.acc {
			str(a, out[i/4], i%4*16)
		}
	})
}

// counted goes by four, then by one.
func (c *chain) counted(s source, count r) {
	fours := gp()
	raw("LSR $2, %v, %v", count, fours)
	raw("AND $3, %v, %v", count, count)
	unless(fours, func() { loop(fours, 1, func() { c.columns(s, 4) }) })
	unless(count, func() { loop(count, 1, func() { c.columns(s, 1) }) })
}

// columns multiplies n columns.
func (c *chain) columns(s source, n int) {
	scope(func() {
		x := vecs(len(c.x))
		for i, p := range c.x {
			if n == 4 {
				ldr(x[i], p, 0)
			} else {
				raw("FMOVS (%v), F%d", p, int(x[i]))
			}
			advance(p, 4*n)
		}
		for k := range n {
			scope(func() {
				w := vecs(4)
				scope(func() { s.load(c, w) })
				if s.keys {
					advance(c.w, 16)
				} else {
					raw("ADD %v, %v, %v", c.step, c.w, c.w)
				}
				if s.name == "Q80" {
					raw("ADD %v, %v, %v", c.step, c.scales, c.scales)
				}
				for i, a := range c.acc {
					fmlaElement(a, w[i%4], x[i/4], k)
				}
			})
		}
	})
}
