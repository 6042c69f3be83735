package main

import "fmt"

// The functions of internal/kernel/activate.go on whole vectors. Operations and their order
// are those of the portable code, which fuses in the exponential alone.

// An activation is prepared once, which loads its constants, and then maps x,
// which it may change, to a result.
type activation struct {
	name, op string
	prepare  func() func(x v) v
}

func activations() {
	list := []activation{
		{"exp", "opExp", exp}, {"sigmoid", "opSigmoid", sigmoid}, {"tanh", "opTanh", tanh}, {"silu", "opSiLU", silu},
		{"geluTanh", "opGELUTanh", geluTanh}, {"geluErf", "opGELUErf", geluErf}, {"relu", "opReLU", relu}, {"relu2", "opReLU2", relu2},
	}
	cases := ""
	for _, a := range list {
		text(a.name+"NEON", "dst, src *float32, n int", "applies the function to a multiple of 4 values.", func() {
			dst, src, n := arg("dst"), arg("src"), arg("n")
			f := a.prepare()
			each(n, []r{dst, src}, func() { str(f(load(src, 0)), dst, 0) })
		})
		cases += fmt.Sprintf("case %s:\n%sNEON(d, s, n)\n", a.op, a.name)
	}
	fmt.Fprintf(&wrappers, `
func apply(op unary, dst, src []float32) {
	dst = dst[:len(src)]
	n := whole(len(src), 4)
	if n > 0 {
		d, s := &dst[0], &src[0]
		switch op {
		%s}
	}
	applyGeneric(op, dst[n:], src[n:])
}
`, cases)

	text("expSumNEON", "acc, x *float32, n int, top float32", "does expSumGeneric for a multiple of 16.", func() {
		acc, x, n := arg("acc"), arg("x"), arg("n")
		top, a, f := scalar("top"), vecs(4), exp()
		for k := range a {
			ldr(a[k], acc, 16*k)
		}
		eachOf(16, n, []r{x}, func() {
			for k := range a {
				scope(func() {
					y := load(x, 16*k)
					fsub(y, y, top)
					y = f(y)
					str(y, x, 16*k)
					fadd(a[k], a[k], y)
				})
			}
		})
		for k := range a {
			str(a[k], acc, 16*k)
		}
	})
	text("maxNEON", "x *float32, n int, top *[4]float32", "raises four maxima; numbers win over NaN.", func() {
		x, n, out := arg("x"), arg("n"), arg("top")
		m := load(out, 0)
		each(n, []r{x}, func() {
			y, larger := load(x, 0), vec()
			fcmgt(larger, y, m)
			bit(m, y, larger)
		})
		str(m, out, 0)
	})
}

// exp needs about 3 registers beyond x and its constants.
func exp() func(x v) v {
	lo, hi, log2e, shift := float(-104), float(89), float(1.44269504088896341), float(12582912)
	hi2, lo2 := float(-0.693359375), float(2.12194440e-4)
	c := floats([]float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1})
	one, bias := float(1), word(127)
	return func(x v) v {
		n, t, p := vec(), vec(), vec()
		fmax(x, x, lo)
		fmin(x, x, hi)
		and(t, shift, shift)
		fmla(t, x, log2e)
		fsub(n, t, shift)
		fmla(x, n, hi2)
		fmla(x, n, lo2) // r
		sub(n, t, shift)
		and(p, c[0], c[0])
		for _, k := range append(c[1:], one, one) {
			and(t, k, k)
			fmla(t, p, x)
			p, t = t, p
		}
		sshr(t, n, 1)
		sub(n, n, t)
		for _, e := range []v{t, n} {
			add(e, e, bias)
			shl(e, e, 23)
			fmul(p, p, e)
		}
		return p
	}
}

// logistic returns x and 1 + e⁻ˣ.
func logistic() func(x v) (x0, d v) {
	one, e := float(1), exp()
	return func(x v) (v, v) {
		y := vec()
		fneg(y, x)
		y = e(y)
		fadd(y, y, one)
		return x, y
	}
}

func sigmoid() func(x v) v {
	one, f := float(1), logistic()
	return func(x v) v {
		_, d := f(x)
		fdiv(d, one, d)
		return d
	}
}

func silu() func(x v) v {
	f := logistic()
	return func(x v) v {
		x, d := f(x)
		fdiv(d, x, d)
		return d
	}
}

// rational is x·P(x²)/Q(x²) for x within ±limit.
func rational(limit float32, p, q []float32) func(x v) v {
	lo, hi, pc, qc := float(-limit), float(limit), floats(p), floats(q)
	horner := func(c []v, s v) v {
		y := vec()
		fmul(y, c[len(c)-1], s)
		for i := len(c) - 2; i > 0; i-- {
			fadd(y, y, c[i])
			fmul(y, y, s)
		}
		fadd(y, y, c[0])
		return y
	}
	return func(x v) v {
		y, s := vec(), vec()
		fmax(y, x, lo)
		fmin(y, y, hi)
		fmul(s, y, y)
		a, b := horner(pc, s), horner(qc, s)
		fmul(y, y, a)
		fdiv(y, y, b)
		return y
	}
}

func tanh() func(x v) v {
	tiny := float(0.0004)
	f := rational(9,
		[]float32{4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08, -8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16},
		[]float32{4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06})
	return func(x v) v {
		y, small := f(x), vec()
		fabs(small, x)
		fcmgt(small, tiny, small)
		bit(y, x, small)
		return y
	}
}

func erf() func(x v) v {
	return rational(4,
		[]float32{-1.60960333262415e-02, -2.95459980854025e-03, -7.34990630326855e-04, -5.69250639462346e-05, -2.10102402082508e-06, 2.77068142495902e-08, -2.72614225801306e-10},
		[]float32{-1.42647390514189e-02, -7.37332916720468e-03, -1.68282697438203e-03, -2.13374055278905e-04, -1.45660718464996e-05})
}

// halfOnePlus is ½x·(1+t).
func halfOnePlus() func(x, t v) v {
	half, one := float(0.5), float(1)
	return func(x, t v) v {
		fadd(t, t, one)
		fmul(x, x, half)
		fmul(x, x, t)
		return x
	}
}

func geluTanh() func(x v) v {
	scale, cubic, f, end := float(0.79788456080286535588), float(0.044715), tanh(), halfOnePlus()
	return func(x v) v {
		y := vec()
		fmul(y, x, x)
		fmul(y, y, x)
		fmul(y, y, cubic)
		fadd(y, y, x)
		fmul(y, y, scale)
		return end(x, f(y))
	}
}

func geluErf() func(x v) v {
	scale, f, end := float(0.70710678118654752440), erf(), halfOnePlus()
	return func(x v) v {
		y := vec()
		fmul(y, x, scale)
		return end(x, f(y))
	}
}

func relu() func(x v) v {
	return func(x v) v {
		y := vec()
		fcmle0(y, x)
		bic(x, x, y)
		return x
	}
}

func relu2() func(x v) v {
	f := relu()
	return func(x v) v {
		x = f(x)
		fmul(x, x, x)
		return x
	}
}
