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

// attentionDim columns of attentionRows quantised rows are dequantised at once.
const (
	attentionDim  = 256
	attentionRows = 16
)

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
	if !k.DType.Quantised() {
		scoreRows(dst, dstStride, q, heads, &k, scale, 0)
		return
	}
	if k.Dim > attentionDim {
		scoreWide(dst, dstStride, q, heads, &k, scale)
		return
	}
	var panel [attentionRows * attentionDim]float32
	for j := 0; j < k.N; j += attentionRows {
		n := min(attentionRows, k.N-j)
		for i := range n {
			loadCols(panel[i*k.Dim:(i+1)*k.Dim], k.DType, k.row(j+i), 0)
		}
		part := Rows{tensor.F32, bytesOf(panel[:n*k.Dim]), 4 * k.Dim, n, k.Dim}
		scoreRows(dst[j:], dstStride, q, heads, &part, scale, 0)
	}
}

// scoreRowsGeneric scores plain rows from j on, four at a time.
func scoreRowsGeneric(dst []float32, dstStride int, q []float32, heads int, k *Rows, scale float32, j int) {
	var sums [1]tile
	for ; j < k.N; j += 4 {
		n := min(4, k.N-j)
		var rows [4][]byte
		for i := range rows {
			rows[i] = k.row(j + min(i, n-1))
		}
		for h := range heads {
			sums[0] = tile{}
			tileFloat(sums[:], k.DType, &rows, q[h*k.Dim:(h+1)*k.Dim], k.Dim, k.Dim)
			fold(sums[:], dst[h*dstStride+j:], dstStride, n, scale)
		}
	}
}

// scoreWide is for quantised rows of more than attentionDim columns, which are
// dequantised in pieces.
func scoreWide(dst []float32, dstStride int, q []float32, heads int, k *Rows, scale float32) {
	var (
		sums  [1]tile
		panel [4][attentionDim]float32
	)
	for j := 0; j < k.N; j += 4 {
		n := min(4, k.N-j)
		for h := range heads {
			sums[0] = tile{}
			for c := 0; c < k.Dim; c += attentionDim {
				cols := min(attentionDim, k.Dim-c)
				var chunk [4][]byte
				for i := range chunk {
					if i < n {
						loadCols(panel[i][:cols], k.DType, k.row(j+i), c)
					}
					chunk[i] = bytesOf(panel[i][:cols])
				}
				tileFloat(sums[:], tensor.F32, &chunk, q[h*k.Dim+c:], k.Dim, cols)
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
	if !v.DType.Quantised() {
		axpyRows(dst, p, pStride, heads, &v, 0)
		return
	}
	var panel [attentionRows * attentionDim]float32
	for j := 0; j < v.N; j += attentionRows {
		n := min(attentionRows, v.N-j)
		for c := 0; c < v.Dim; c += attentionDim {
			cols := min(attentionDim, v.Dim-c)
			for i := range n {
				loadCols(panel[i*cols:(i+1)*cols], v.DType, v.row(j+i), c)
			}
			part := Rows{tensor.F32, bytesOf(panel[:n*cols]), 4 * cols, n, cols}
			for h := range heads {
				axpyRows(dst[h*v.Dim+c:][:cols], p[h*pStride+j:], pStride, 1, &part, 0)
			}
		}
	}
}

// axpyRowsGeneric adds columns from c on of plain rows, times p, to dst.
func axpyRowsGeneric(dst []float32, p []float32, pStride, heads int, v *Rows, c int) {
	var piece [64]float32
	for ; c < v.Dim; c += len(piece) {
		vs := piece[:min(len(piece), v.Dim-c)]
		for j := range v.N {
			if v.DType == tensor.F16 {
				loadF16Generic(vs, v.row(j)[2*c:])
			} else {
				copy(bytesOf(vs), v.row(j)[4*c:])
			}
			for h := range heads {
				out, w := dst[h*v.Dim+c:][:len(vs)], p[h*pStride+j]
				for i, x := range vs {
					out[i] = fma32(w, x, out[i])
				}
			}
		}
	}
}
