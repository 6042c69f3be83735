// Passes over float32 vectors, specified operation by operation so that
// assembly yields the same bits.

package dense

import (
	"atenia/internal/kernel"
)

func addMulGeneric(dst, a, b []float32) {
	for i, v := range a {
		dst[i] += float32(v * b[i])
	}
}

func weighGeneric(d, p []float32, c float32) {
	for i, v := range p {
		d[i] = v * (d[i] - c)
	}
}

func addWeighedGeneric(dst, p, d []float32, c float32) {
	for i, v := range p {
		dst[i] += float32(v * (d[i] - c))
	}
}

func scaledGeneric(dst, x []float32, s float32) {
	for i, v := range x {
		dst[i] = s * v
	}
}

func expsGeneric(x []float32, c float32) {
	for i := range x {
		x[i] -= c
	}
	kernel.Exp(x, x)
}

func addExpsGeneric(dst, x []float32, c, s float32) {
	var piece [tileCols]float32
	for len(x) > 0 {
		part := piece[:copy(piece[:], x)]
		expsGeneric(part, c)
		for i, e := range part {
			dst[i] += float32(s * e)
		}
		dst, x = dst[len(part):], x[len(part):]
	}
}

func sumExpsGeneric(acc *kernel.Lanes, x []float32, c float32) {
	var piece [tileCols]float32
	for len(x) > 0 {
		part := piece[:copy(piece[:], x)]
		expsGeneric(part, c)
		for i, e := range part {
			acc[i] += e
		}
		x = x[len(part):]
	}
}

// slopesGeneric writes the derivatives at x of the activations that assembly
// implements, and reports whether a is one of them.
func slopesGeneric(a Activation, dst, x []float32) bool {
	dst = dst[:len(x)]
	switch a {
	case Sigmoid:
		kernel.Sigmoid(dst, x)
		for i, s := range dst {
			dst[i] = s * (1 - s)
		}
	case Tanh:
		kernel.Tanh(dst, x)
		for i, t := range dst {
			dst[i] = 1 - float32(t*t)
		}
	case SiLU:
		kernel.Sigmoid(dst, x)
		for i, s := range dst {
			dst[i] = s * (1 + float32(x[i]*(1-s)))
		}
	case GELUTanh:
		for i, v := range x {
			dst[i] = geluScale * (v + float32(geluCubic*float32(float32(v*v)*v)))
		}
		kernel.Tanh(dst, dst)
		for i, t := range dst {
			v := x[i]
			slope := geluScale * (1 + float32(3*geluCubic*float32(v*v)))
			dst[i] = float32(0.5*(1+t)) + float32(float32(float32(0.5*v)*(1-float32(t*t)))*slope)
		}
	default:
		return false
	}
	return true
}

// dotLanesGeneric adds products to 32 lanes; the first product is column at.
func dotLanesGeneric(acc *[2]kernel.Lanes, a, b []float32, at int) {
	for i, v := range a {
		lane := (at + i) % (2 * tileCols)
		l := &acc[lane/tileCols][lane%tileCols]
		*l = kernel.FMA(v, b[i], *l)
	}
}

// dot32 returns a sum of 32 folded lanes.
func dot32(a, b []float32) float32 {
	var acc [2]kernel.Lanes
	dotLanes32(&acc, a, b)
	for i, v := range acc[1] {
		acc[0][i] += v
	}
	return acc[0].Sum()
}

func matVecGeneric(dst, m, x []float32) {
	for i := range dst {
		dst[i] += dot32(m[i*len(x):][:len(x)], x)
	}
}

// matVecTGeneric adds columns from first on.
func matVecTGeneric(dst, m, x []float32, first int) {
	for j := first; j < len(dst); j++ {
		sum := float32(0)
		for i, v := range x {
			sum = kernel.FMA(m[i*len(dst)+j], v, sum)
		}
		dst[j] += sum
	}
}

// addOuterGeneric changes columns from first on.
func addOuterGeneric(m []float32, s float32, x, y []float32, first int) {
	for i, v := range x {
		row, t := m[i*len(y):][:len(y)], s*v
		for j := first; j < len(y); j++ {
			row[j] = kernel.FMA(y[j], t, row[j])
		}
	}
}

// scaleAddOuterGeneric changes columns from first on.
func scaleAddOuterGeneric(m []float32, r, s float32, x, y []float32, first int) {
	for i, v := range x {
		row, t := m[i*len(y):][:len(y)], s*v
		for j := first; j < len(y); j++ {
			row[j] = kernel.FMA(y[j], t, r*row[j])
		}
	}
}
