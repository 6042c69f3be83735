package kernel

import "atenia/tensor"

// Rows are N cached keys or values [N, Dim] of one head, Stride bytes apart,
// of type F32, F16 or Q8_0, inside memory that others own.
type Rows struct {
	DType  tensor.DType
	Data   []byte
	Stride int
	N, Dim int
}

// row returns the bytes of row j.
func (k *Rows) row(j int) []byte {
	return k.Data[j*k.Stride:][:typeRowBytes(k.DType, k.Dim)]
}

// attentionDim columns of quantised rows are dequantised at once by portable
// code; assembly does it in registers.
const attentionDim = 256

// Scores writes the scaled products of queries [heads, k.Dim] and keys:
//
//	dst[h*dstStride+j] = scale · Σ_c q[h,c]·k[j,c]
//
// Additions are those of [MatMul].
func Scores(dst []float32, dstStride int, q []float32, heads int, k Rows, scale float32) {
	if k.N == 0 || heads == 0 {
		return
	}
	_ = dst[(heads-1)*dstStride+k.N-1]
	_ = k.row(k.N - 1)
	q = q[:heads*k.Dim]
	scoreRows(dst, dstStride, q, heads, &k, scale, 0)
}

// scoreRowsGeneric scores rows from j on, four at a time.
func scoreRowsGeneric(dst []float32, dstStride int, q []float32, heads int, k *Rows, scale float32, j int) {
	var (
		sums  [1]tile
		panel [4][attentionDim]float32
	)
	step := k.Dim
	if k.DType.Quantised() {
		step = attentionDim
	}
	for ; j < k.N; j += 4 {
		n := min(4, k.N-j)
		for h := range heads {
			sums[0] = tile{}
			for c := 0; c < k.Dim; c += step {
				d, cols := k.DType, min(step, k.Dim-c)
				var rows [4][]byte
				for i := range rows {
					rows[i] = k.row(j + min(i, n-1))
					if d.Quantised() {
						loadCols(panel[i][:cols], d, rows[i], c)
						rows[i] = bytesOf(panel[i][:cols])
					}
				}
				if d.Quantised() {
					d = tensor.F32
				}
				tileFloat(sums[:], d, &rows, q[h*k.Dim+c:], k.Dim, cols)
			}
			fold(sums[:], dst[h*dstStride+j:], dstStride, n, scale)
		}
	}
}

// Weighted adds weighted values to dst [heads, v.Dim]:
//
//	dst[h,c] += Σ_j p[h*pStride+j]·v[j,c]
//
// one fused multiply-add after another in the order of j, so that a run may
// be cut anywhere.
func Weighted(dst []float32, p []float32, pStride, heads int, v Rows) {
	if v.N == 0 || heads == 0 {
		return
	}
	dst = dst[:heads*v.Dim]
	_ = p[(heads-1)*pStride+v.N-1]
	_ = v.row(v.N - 1)
	axpyRows(dst, p, pStride, heads, &v, 0)
}

// axpyRowsGeneric adds columns from c on, times p, to dst.
func axpyRowsGeneric(dst []float32, p []float32, pStride, heads int, v *Rows, c int) {
	var piece [64]float32
	for ; c < v.Dim; c += len(piece) {
		vs := piece[:min(len(piece), v.Dim-c)]
		for j := range v.N {
			loadCols(vs, v.DType, v.row(j), c)
			for h := range heads {
				out, w := dst[h*v.Dim+c:][:len(vs)], p[h*pStride+j]
				for i, x := range vs {
					out[i] = fma32(w, x, out[i])
				}
			}
		}
	}
}
