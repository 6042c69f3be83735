//go:build !noasm

package kernel

import "atenia/tensor"

// scoreRows gives assembly groups of four rows whose width is a multiple of
// 16, for four heads at a time or one.
func scoreRows(dst []float32, dstStride int, q []float32, heads int, k *Rows, scale float32, j int) {
	groups := whole(k.N-j, 4) / 4
	if groups == 0 || k.Dim%16 != 0 {
		scoreRowsGeneric(dst, dstStride, q, heads, k, scale, j)
		return
	}
	many := level.Load() == levelAVX512
	for h := 0; h < heads; {
		n := 1
		if many && heads-h >= 4 {
			n = 4
		}
		scoreGroups(&dst[h*dstStride+j], 4*dstStride, &q[h*k.Dim], &k.Data[j*k.Stride], k, groups, scale, n)
		h += n
	}
	if j += 4 * groups; j < k.N {
		scoreRowsGeneric(dst, dstStride, q, heads, k, scale, j)
	}
}

func scoreGroups(d *float32, ds int, q *float32, b *byte, k *Rows, groups int, scale float32, heads int) {
	qs, ks, n := 4*k.Dim, k.Stride, k.Dim
	switch wide := level.Load() == levelAVX512; k.DType {
	case tensor.F32:
		switch {
		case heads == 4:
			scoresF32x4AVX512(d, ds, q, qs, b, ks, groups, n, scale)
		case wide:
			scoresF32x1AVX512(d, ds, q, qs, b, ks, groups, n, scale)
		default:
			scoresF32x1AVX2(d, ds, q, qs, b, ks, groups, n, scale)
		}
	case tensor.F16:
		switch {
		case heads == 4:
			scoresF16x4AVX512(d, ds, q, qs, b, ks, groups, n, scale)
		case wide:
			scoresF16x1AVX512(d, ds, q, qs, b, ks, groups, n, scale)
		default:
			scoresF16x1AVX2(d, ds, q, qs, b, ks, groups, n, scale)
		}
	case tensor.Q8_0:
		switch {
		case heads == 4:
			scoresQ80x4AVX512(d, ds, q, qs, b, ks, groups, n, scale)
		case wide:
			scoresQ80x1AVX512(d, ds, q, qs, b, ks, groups, n, scale)
		default:
			scoresQ80x1AVX2(d, ds, q, qs, b, ks, groups, n, scale)
		}
	}
}

// axpyRows gives assembly as many heads and columns as its registers hold,
// then single heads, then fewer columns, and the rest to portable code.
func axpyRows(dst []float32, p []float32, pStride, heads int, v *Rows, c int) {
	wide, narrow, many := 64, 16, 4
	switch level.Load() {
	case 0:
		axpyRowsGeneric(dst, p, pStride, heads, v, c)
		return
	case levelAVX2:
		wide, many = 32, 2
	}
	if v.DType == tensor.Q8_0 {
		narrow = 32
	}
	for v.Dim-c >= narrow {
		cols := narrow
		if v.Dim-c >= wide {
			cols = wide
		}
		at := typeRowBytes(v.DType, c)
		for h := 0; h < heads; {
			n := 1
			if heads-h >= many {
				n = many
			}
			axpyTile(&dst[h*v.Dim+c], 4*v.Dim, &p[h*pStride], 4*pStride, &v.Data[at], v, n > 1, cols > narrow)
			h += n
		}
		c += cols
	}
	if c < v.Dim {
		axpyRowsGeneric(dst, p, pStride, heads, v, c)
	}
}

func axpyTile(d *float32, ds int, p *float32, ps int, b *byte, v *Rows, many, wide bool) {
	if level.Load() == levelAVX512 {
		axpyTile512(d, ds, p, ps, b, v, many, wide)
		return
	}
	vs, n := v.Stride, v.N
	f16 := v.DType == tensor.F16
	switch {
	case v.DType == tensor.Q8_0 && many:
		weightedQ80h2c32AVX2(d, ds, p, ps, b, vs, n)
	case v.DType == tensor.Q8_0:
		weightedQ80h1c32AVX2(d, ds, p, ps, b, vs, n)
	case f16 && many && wide:
		weightedF16h2c32AVX2(d, ds, p, ps, b, vs, n)
	case f16 && many:
		weightedF16h2c16AVX2(d, ds, p, ps, b, vs, n)
	case f16 && wide:
		weightedF16h1c32AVX2(d, ds, p, ps, b, vs, n)
	case f16:
		weightedF16h1c16AVX2(d, ds, p, ps, b, vs, n)
	case many && wide:
		weightedF32h2c32AVX2(d, ds, p, ps, b, vs, n)
	case many:
		weightedF32h2c16AVX2(d, ds, p, ps, b, vs, n)
	case wide:
		weightedF32h1c32AVX2(d, ds, p, ps, b, vs, n)
	default:
		weightedF32h1c16AVX2(d, ds, p, ps, b, vs, n)
	}
}

func axpyTile512(d *float32, ds int, p *float32, ps int, b *byte, v *Rows, many, wide bool) {
	vs, n := v.Stride, v.N
	f16, q8 := v.DType == tensor.F16, v.DType == tensor.Q8_0
	switch {
	case q8 && many && wide:
		weightedQ80h4c64AVX512(d, ds, p, ps, b, vs, n)
	case q8 && many:
		weightedQ80h4c32AVX512(d, ds, p, ps, b, vs, n)
	case q8 && wide:
		weightedQ80h1c64AVX512(d, ds, p, ps, b, vs, n)
	case q8:
		weightedQ80h1c32AVX512(d, ds, p, ps, b, vs, n)
	case f16 && many && wide:
		weightedF16h4c64AVX512(d, ds, p, ps, b, vs, n)
	case f16 && many:
		weightedF16h4c16AVX512(d, ds, p, ps, b, vs, n)
	case f16 && wide:
		weightedF16h1c64AVX512(d, ds, p, ps, b, vs, n)
	case f16:
		weightedF16h1c16AVX512(d, ds, p, ps, b, vs, n)
	case many && wide:
		weightedF32h4c64AVX512(d, ds, p, ps, b, vs, n)
	case many:
		weightedF32h4c16AVX512(d, ds, p, ps, b, vs, n)
	case wide:
		weightedF32h1c64AVX512(d, ds, p, ps, b, vs, n)
	default:
		weightedF32h1c16AVX512(d, ds, p, ps, b, vs, n)
	}
}
