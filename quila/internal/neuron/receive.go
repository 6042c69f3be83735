package neuron

import (
	"atenia/grad"
)

// kernelIn is the side of a receiver's kernel, and offsetIn how far its middle
// is from its corner.
const (
	kernelIn = 8
	offsetIn = 3
)

// Convolve writes a receiver's convolution of its board, H on a side:
// dst[i,j] = Σ k[p,q]·b[i−p+3, j−q+3], zero outside.
func Convolve[F grad.Float](dst, b, k []F, h int) {
	clear(dst[:h*h])
	for i := range h {
		row := dst[i*h : (i+1)*h]
		for p := range kernelIn {
			r := i - p + offsetIn
			if r < 0 || r >= h {
				continue
			}
			src := b[r*h : (r+1)*h]
			for q := range kernelIn {
				x, o := k[p*kernelIn+q], offsetIn-q // source column − target column
				lo, hi := max(0, -o), min(h, h-o)
				if lo >= hi {
					continue
				}
				from := src[lo+o : hi+o]
				for j := range row[lo:hi] {
					row[lo+j] += F(x * from[j])
				}
			}
		}
	}
}

// ConvolveBack writes what [Convolve] makes of a functional on its result:
// dst[r,c] = Σ k[p,q]·w[r+p−3, c+q−3], zero outside.
func ConvolveBack[F grad.Float](dst, w, k []F, h int) {
	clear(dst[:h*h])
	for p := range kernelIn {
		for q := range kernelIn {
			x, o := k[p*kernelIn+q], q-offsetIn
			lo, hi := max(0, -o), min(h, h-o)
			if x == 0 || lo >= hi {
				continue
			}
			for r := max(0, offsetIn-p); r < min(h, h+offsetIn-p); r++ {
				from := w[(r+p-offsetIn)*h+lo+o : (r+p-offsetIn)*h+hi+o]
				row := dst[r*h+lo : r*h+hi]
				for j, y := range from {
					row[j] += F(x * y)
				}
			}
		}
	}
}

// KroneckerRow writes row o of the [D, H²] matrix that [Kronecker] applies.
func KroneckerRow[F grad.Float](dst, l, rr []F, o, side, d1, d2 int) {
	clear(dst[:side*side])
	i, k := o/d2, o%d2
	for q := range len(l) / (d1 * side) {
		lq, rq := l[(q*d1+i)*side:][:side], rr[(q*d2+k)*side:][:side]
		for m, x := range lq {
			row := dst[m*side : (m+1)*side]
			for n, y := range rq {
				row[n] += F(x * y)
			}
		}
	}
}

// Kronecker writes vec(Σ_q L_q·b·R_qᵀ) to h, of d1·d2 values. l is [r, d1, H],
// rr is [r, d2, H], and work has d1·H values.
func Kronecker[F grad.Float](h, b, l, rr, work []F, side, d1, d2 int) {
	clear(h[:d1*d2])
	t := work[:d1*side]
	for q := range len(l) / (d1 * side) {
		lq, rq := l[q*d1*side:(q+1)*d1*side], rr[q*d2*side:(q+1)*d2*side]
		clear(t)
		for i := range d1 {
			ti := t[i*side : (i+1)*side]
			for m, x := range lq[i*side : (i+1)*side] {
				for j, y := range b[m*side : (m+1)*side] {
					ti[j] += F(x * y)
				}
			}
		}
		for i := range d1 {
			for k := range d2 {
				h[i*d2+k] += dot(t[i*side:(i+1)*side], rq[k*side:(k+1)*side])
			}
		}
	}
}

// Dense writes w·b, w being [len(h), H²].
func Dense[F grad.Float](h, b, w []F) {
	n := len(b)
	for i := range h {
		h[i] = dot(w[i*n:(i+1)*n], b)
	}
}

func dot[F grad.Float](a, b []F) F {
	var sum F
	for i, x := range a {
		sum += F(x * b[i])
	}
	return sum
}
