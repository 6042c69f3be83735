package main

// quantise makes what writes one xBlock: bytes first, then for 8 blocks of 32
// columns d, n and m, then n and m of their halves.
func quantise() {
	const d, n, m, n16, m16 = 256, 288, 320, 352, 416
	text("quantiseNEON", "dst *byte, src *float32", "does quantiseGeneric.", func() {
		dst, src := arg("dst"), arg("src")
		q, count := gp(), gp()
		raw("MOVD %v, %v", dst, q)
		raw("MOVD $2, %v", count)
		top, tiny, inf := float(127), word(7<<23-1), word(0x7f800000)
		loop(count, 1, func() { // four blocks of 32
			scales, inv := vec(), vec()
			scope(func() {
				amax := across(umaxp, []v{magnitude(src, 0), magnitude(src, 128), magnitude(src, 256), magnitude(src, 384)})
				fdiv(scales, amax, top)
				str(scales, dst, d)
				fdiv(inv, top, amax)
				enough, finite := vec(), vec()
				cmgt(enough, amax, tiny)
				cmgt(finite, inf, amax)
				and(inv, inv, enough)
				and(inv, inv, finite)
			})
			var sums [2][]v
			for b := range 4 {
				for h := range 2 {
					sum := vec()
					scope(func() { round16(q, src, 128*b+64*h, inv, b, sum) })
					sums[h] = append(sums[h], sum)
				}
			}
			all := vec()
			for h := range 2 {
				s := across(addp, sums[h])
				if h == 0 {
					raw("VMOV %v.B16, %v.B16", s, all)
				} else {
					add(all, all, s)
				}
				storeSums(dst, s, scales, n16+32*h, m16+32*h)
			}
			storeSums(dst, all, scales, n, m)
			advance(dst, 16)
			advance(src, 512)
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

// round16 stores 16 values times lane b of inv as bytes, moves q on, and
// leaves their sums in four lanes.
func round16(q, src r, off int, inv v, b int, sum v) {
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
	advance(q, 16)
}

// storeSums writes -128·s and d·s.
func storeSums(dst r, s, d v, n, m int) {
	x, y := vec(), vec()
	shl(x, s, 7)
	neg(x, x)
	str(x, dst, n)
	scvtf(y, s)
	fmul(y, y, d)
	str(y, dst, m)
}
