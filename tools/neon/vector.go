package main

import (
	"fmt"
	"strings"
)

// wrapped makes a function of some slices and scalars, whose portable twin has
// the same parameters: assembly for whole vectors and Go that calls both.
func wrapped(name, slices, scalars string, body func(p []r)) {
	names := strings.Split(slices, ", ")
	params := slices + " *float32, n int"
	rest := ""
	if scalars != "" {
		params += ", " + scalars + " float32"
		rest = ", " + scalars
	}
	text(name+"NEON", params, fmt.Sprintf("does %sGeneric for a multiple of 4.", name), func() {
		var p []r
		for _, s := range names {
			p = append(p, arg(s))
		}
		n := arg("n")
		body(append(p, n))
	})
	f := func(format string) (list []string) {
		for _, s := range names {
			list = append(list, fmt.Sprintf(format, s))
		}
		return list
	}
	typed := ""
	if scalars != "" {
		typed = ", " + scalars + " float32"
	}
	fmt.Fprintf(&wrappers, "\nfunc %s(%s []float32%s) {\nn := whole(len(%s), 4)\nif n > 0 {\n%sNEON(%s, n%s)\n}\n%sGeneric(%s%s)\n}\n",
		name, slices, typed, names[len(names)-1], name, strings.Join(f("&%s[0]"), ", "), rest, name, strings.Join(f("%s[n:]"), ", "), rest)
}

// dispatch makes Go that passes whole vectors to assembly, and the rest to
// portable code.
func dispatch(signature, length string, lanes int, call, rest string) {
	fmt.Fprintf(&wrappers, "\nfunc %s {\nn := whole(%s, %d)\nif n > 0 {\n%s\n}\n%s\n}\n", signature, length, lanes, call, rest)
}

// irregular dispatches what wrapped does not fit.
func irregular() {
	dispatch("ropeInterleaved(x, cos, sin []float32)", "len(cos)", 4,
		"ropeInterleavedNEON(&x[0], &cos[0], &sin[0], n)", "ropeInterleavedGeneric(x[2*n:], cos[n:], sin[n:])")
	dispatch("sumLanes(a *lanes64, x []float32)", "len(x)", 16,
		"sumLanesNEON(&a[0], &x[0], n)", "sumLanesGeneric(a, x[n:])")
	dispatch("sumSquaresLanes(a *lanes64, x []float32, mean float64)", "len(x)", 16,
		"sumSquaresLanesNEON(&a[0], &x[0], n, mean)", "sumSquaresLanesGeneric(a, x[n:], mean)")
	dispatch("expSum(a *lanes, x []float32, top float32)", "len(x)", 16,
		"expSumNEON(&a[0], &x[0], n, top)", "expSumGeneric(a, x[n:], top)")
	for _, d := range []string{"F16", "BF16"} {
		dispatch("load"+d+"(dst []float32, src []byte)", "len(dst)", 8,
			"load"+d+"NEON(&dst[0], &src[:2*n][0], n)", "load"+d+"Generic(dst[n:], src[2*n:])")
	}
	dispatch("storeF16(dst []byte, src []float32)", "len(src)", 4,
		"storeF16NEON(&dst[:2*n][0], &src[0], n)", "storeF16Generic(dst[2*n:], src[n:])")
	dispatch("readAll(b []byte)", "len(b)", 256, "readNEON(&b[0], n)", "readAllGeneric(b[n:])")
}

func elementwise() {
	wrapped("addScaled", "dst, a, b", "scale", func(p []r) {
		s := scalar("scale")
		each(p[3], p[:3], func() {
			x, y := load(p[1], 0), load(p[2], 0)
			fmul(y, y, s)
			fadd(x, x, y)
			str(x, p[0], 0)
		})
	})
	wrapped("mul", "dst, a, b", "", func(p []r) {
		each(p[3], p[:3], func() {
			x, y := load(p[1], 0), load(p[2], 0)
			fmul(x, x, y)
			str(x, p[0], 0)
		})
	})
	wrapped("scaleBy", "dst", "s", func(p []r) {
		s := scalar("s")
		each(p[1], p[:1], func() {
			x := load(p[0], 0)
			fmul(x, x, s)
			str(x, p[0], 0)
		})
	})
	wrapped("ropeHalves", "a, b, cos, sin", "", func(p []r) {
		each(p[4], p[:4], func() {
			a, b := rotate(load(p[0], 0), load(p[1], 0), load(p[2], 0), load(p[3], 0))
			str(a, p[0], 0)
			str(b, p[1], 0)
		})
	})
	text("ropeInterleavedNEON", "x, cos, sin *float32, n int", "does ropeInterleavedGeneric for n pairs, a multiple of 4.", func() {
		x, cos, sin, n := arg("x"), arg("cos"), arg("sin"), arg("n")
		each(n, []r{cos, sin}, func() {
			a, b := vec(), vec()
			raw("VLD2 (%v), [%v.S4, %v.S4]", x, a, b)
			c, d := rotate(a, b, load(cos, 0), load(sin, 0))
			raw("VST2.P [%v.S4, %v.S4], 32(%v)", c, d, x)
		})
	})
}

// rotate returns a·c − b·s and b·c + a·s, in registers that follow each other.
func rotate(a, b, c, s v) (v, v) {
	x, y, t := vec(), vec(), vec()
	fmul(x, a, c)
	fmul(t, b, s)
	fsub(x, x, t)
	fmul(y, b, c)
	fmul(t, a, s)
	fadd(y, y, t)
	return x, y
}

func norms() {
	sums := func(name, extra, doc string) {
		text(name, "acc *float64, x *float32, n int"+extra, doc, func() {
			acc, x, n := arg("acc"), arg("x"), arg("n")
			a := vecs(8)
			for k := range a {
				ldr(a[k], acc, 16*k)
			}
			mean := vec()
			if extra != "" {
				raw("FMOVD %s, F%d", fn.args["mean"], int(mean))
				raw("VDUP %v.D[0], %v.D2", mean, mean)
			}
			eachOf(16, n, []r{x}, func() {
				for k := range 4 {
					t := load(x, 16*k)
					lo, hi := vec(), vec()
					double(lo, t)
					double2(hi, t)
					for i, w := range []v{lo, hi} {
						if extra != "" {
							fsub64(w, w, mean)
							fmul64(w, w, w)
						}
						fadd64(a[2*k+i], a[2*k+i], w)
					}
				}
			})
			for k := range a {
				str(a[k], acc, 16*k)
			}
		})
	}
	sums("sumLanesNEON", "", "does sumLanesGeneric for a multiple of 16.")
	sums("sumSquaresLanesNEON", ", mean float64", "does sumSquaresLanesGeneric for a multiple of 16.")

	text("normalizeNEON", "dst, src, weight, bias *float32, n int, mean, inv, offset float32", "does normalizeGeneric for a multiple of 4.", func() {
		dst, src, weight, bias, n := arg("dst"), arg("src"), arg("weight"), arg("bias"), arg("n")
		mean, inv, offset := scalar("mean"), scalar("inv"), scalar("offset")
		each(n, []r{dst, src}, func() {
			x := load(src, 0)
			fsub(x, x, mean)
			fmul(x, x, inv)
			unless(weight, func() {
				w := load(weight, 0)
				fadd(w, w, offset)
				fmul(x, x, w)
				advance(weight, 16)
			})
			unless(bias, func() {
				fadd(x, x, load(bias, 0))
				advance(bias, 16)
			})
			str(x, dst, 0)
		})
	})
}

// rows makes what reads and writes rows of halves and of Q8_0.
func rows() {
	halves := func(name string, f func(x v, dst r)) {
		text("load"+name+"NEON", "dst *float32, src *byte, n int", "widens a multiple of 8 values.", func() {
			dst, src, n := arg("dst"), arg("src"), arg("n")
			eachOf(8, n, []r{dst}, func() {
				f(load(src, 0), dst)
				advance(src, 16)
			})
		})
	}
	halves("F16", func(x v, dst r) { widenTo(widen, widen2, x, dst) })
	halves("BF16", func(x v, dst r) { widenTo(shll16, shll16h, x, dst) })

	text("storeF16NEON", "dst *byte, src *float32, n int", "does storeF16Generic for a multiple of 4.", func() {
		dst, src, n := arg("dst"), arg("src"), arg("n")
		each(n, []r{src}, func() {
			x := load(src, 0)
			narrow(x, x)
			str64(x, dst, 0)
			advance(dst, 8)
		})
	})
	text("loadQ80NEON", "dst *float32, src *byte, blocks int", "dequantizes blocks of Q8_0.", func() {
		dst, src, n := arg("dst"), arg("src"), arg("blocks")
		loop(n, 1, func() {
			scope(func() {
				d := halfScale(src, 0)
				for k := range 2 {
					for i, x := range bytesToFloats(vecs(4), load(src, 2+16*k)) {
						fmulElement(x, x, d, 0)
						str(x, dst, 64*k+16*i)
					}
				}
			})
			advance(src, 34)
			advance(dst, 128)
		})
	})
	text("expandNEON", "dst *float32, w *byte, n int", "does expandGeneric for n times 16 values.", func() {
		dst, w, n := arg("dst"), arg("w"), arg("n")
		s := gp()
		raw("ADD $256, %v, %v", w, s)
		loop(n, 1, func() {
			scope(func() {
				d, m := vec(), vec()
				raw("FMOVS (%v), F%d", s, int(d))
				raw("FMOVS 64(%v), F%d", s, int(m))
				raw("VDUP %v.S[0], %v.S4", m, m)
				for i, x := range bytesToFloats(vecs(4), load(w, 0)) {
					fmulElement(x, x, d, 0)
					fsub(x, x, m)
					str(x, dst, 16*i)
				}
			})
			advance(w, 16)
			advance(s, 4)
			advance(dst, 64)
		})
	})
}

func widenTo(low, high func(d, n v), x v, dst r) {
	a, b := vec(), vec()
	low(a, x)
	high(b, x)
	str(a, dst, 0)
	str(b, dst, 16)
}

// halfScale loads one half as a float32, in lane 0.
func halfScale(p r, off int) v {
	x := vec()
	raw("MOVHU %d(%v), R26", off, p)
	raw("FMOVS R26, F%d", int(x))
	widen(x, x)
	return x
}

// bytesToFloats widens 16 signed bytes, of a register that is lost, to four
// registers.
func bytesToFloats(out []v, x v) []v {
	high := vec()
	sxtl8h(high, x, 0)
	sxtl8(x, x, 0)
	for i, h := range []v{x, high} {
		sxtl16(out[2*i], h, 0)
		sxtl16h(out[2*i+1], h, 0)
	}
	for _, y := range out {
		scvtf(y, y)
	}
	return out
}

// roof makes the probes of the rooflines.
func roof() {
	text("readNEON", "b *byte, n int", "reads a multiple of 256 bytes.", func() {
		b, n := arg("b"), arg("n")
		loop(n, 256, func() {
			raw("PRFM 4096(%v), PLDL1KEEP", b)
			for range 4 {
				raw("VLD1.P 64(%v), [V0.B16, V1.B16, V2.B16, V3.B16]", b)
			}
		})
	})
	steps := func(name, doc string, op func(acc, x v)) {
		text(name, "steps int", "does steps times 12 "+doc+" of whole vectors.", func() {
			n := arg("steps")
			a, x := vecs(12), vec()
			zero(append(a, x)...)
			loop(n, 1, func() {
				for _, y := range a {
					op(y, x)
				}
			})
		})
	}
	steps("fmaNEON", "multiply-adds", func(a, x v) { fmla(a, x, x) })
	steps("pairsNEON", "multiply-adds of bytes to 16 bits", func(a, x v) { smlal(a, x, x) })
	steps("dotDot", "SDOT", func(a, x v) { sdotElement(a, x, x, 0) })
}
