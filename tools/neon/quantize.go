package main

// quantize makes what writes one xBlock and its cells: bytes first, then for 8
// blocks of 32 columns d, n and m, then n and m of their halves.
func quantize() {
	const d, n, m, n16, m16 = 256, 288, 320, 352, 416
	text("quantizeNEON", "dst, cells *byte, stride int, src *float32", "does quantizeGeneric; stride is bytes from cell to cell.", func() {
		dst, cell, stride, src := arg("dst"), arg("cells"), arg("stride"), arg("src")
		q, count, at := gp(), gp(), gp()
		raw("MOVD %v, %v", dst, q)
		raw("MOVD $2, %v", count)
		top, tiny, inf := float(127), word(7<<23-1), word(0x7f800000)
		out := vecs(8) // as in a cell: d, n, m, n16, m16 of four blocks, and zero
		loop(count, 1, func() {
			scope(func() {
				inv, all := vec(), vec()
				scope(func() {
					amax := across(umaxp, []v{magnitude(src, 0), magnitude(src, 128), magnitude(src, 256), magnitude(src, 384)})
					fdiv(out[0], amax, top)
					fdiv(inv, top, amax)
					enough, finite := vec(), vec()
					cmgt(enough, amax, tiny)
					cmgt(finite, inf, amax)
					and(inv, inv, enough)
					and(inv, inv, finite)
				})
				zero(all, out[7])
				raw("MOVD %v, %v", cell, at)
				var sums [2][]v
				for b := range 4 {
					for h := range 2 {
						sum := vec()
						scope(func() { round16(q, at, src, 128*b+64*h, 16*h, inv, b, sum) })
						sums[h] = append(sums[h], sum)
					}
					raw("ADD %v, %v, %v", stride, at, at)
				}
				for h := range 2 {
					s := across(addp, sums[h])
					add(all, all, s)
					scaleSums(out[3+h], out[5+h], s, out[0])
				}
				scaleSums(out[1], out[2], all, out[0])
				for i, off := range []int{d, n, m, n16, n16 + 32, m16, m16 + 32} {
					str(out[i], dst, off)
				}
				for b := range 4 {
					raw("ADD $32, %v, %v", cell, at)
					st4(out[0], b, at)
					raw("ADD $48, %v, %v", cell, at)
					st4(out[4], b, at)
					raw("ADD %v, %v, %v", stride, cell, cell)
				}
				advance(dst, 16)
				advance(src, 512)
			})
		})
	})
}

// across combines the lanes of four registers with a pairwise operation: lane
// i of the result, the first of them, is what list[i] held.
func across(pairwise func(d, n, m v), list []v) v {
	pairwise(list[0], list[0], list[1])
	pairwise(list[2], list[2], list[3])
	pairwise(list[0], list[0], list[2])
	return list[0]
}

// magnitude returns maxima of the bits of 32 absolute values.
func magnitude(src r, off int) v {
	a := load(src, off)
	fabs(a, a)
	scope(func() {
		for k := 1; k < 8; k++ {
			x := load(src, off+16*k)
			fabs(x, x)
			umax(a, a, x)
		}
	})
	return a
}

// round16 stores 16 values times lane b of inv as bytes, in the block,
// advancing q, and in a cell, and stores their sums in four lanes.
func round16(q, cell, src r, off, half int, inv v, b int, sum v) {
	x := make([]v, 4)
	for k := range x {
		x[k] = load(src, off+16*k)
		fmulElement(x[k], x[k], inv, b)
		fcvtns(x[k], x[k])
	}
	t := vec()
	add(sum, x[0], x[1])
	add(t, x[2], x[3])
	add(sum, sum, t)
	xtn16(x[0], x[0])
	xtn16h(x[0], x[1])
	xtn16(x[2], x[2])
	xtn16h(x[2], x[3])
	xtn8(x[0], x[0])
	xtn8h(x[0], x[2])
	str(x[0], q, 0)
	str(x[0], cell, half)
	advance(q, 16)
}

// scaleSums makes n of -128·s and m of d·s.
func scaleSums(n, m, s, d v) {
	shl(n, s, 7)
	neg(n, n)
	scvtf(m, s)
	fmul(m, m, d)
}
