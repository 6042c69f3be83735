package kernel

// chunkBlocks is the number of blocks of 256 columns that are summed at a time;
// the sums of chunks are added in order.
const chunkBlocks = chunkCols / blockCols

// matMulIntGeneric defines products with int8 activations.
func matMulIntGeneric(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	var chunk [chunkBlocks]UnpackedBlock
	size, stride := w.rowBytes(), blocks(w.Cols)
	halves, mins := per16(w.DType), hasMins(w.DType)
	for j := lo; j < hi; j++ {
		row := w.Data[j*size : (j+1)*size]
		for r := range rows {
			dst[r*dstStride+j] = 0
		}
		for b := 0; b < stride; b += chunkBlocks {
			n := min(chunkBlocks, stride-b)
			for k := range n {
				c := (b + k) * blockCols
				unpackBlock(&chunk[k], w.DType, row, c, min(blockCols, w.Cols-c))
			}
			for r := range rows {
				dst[r*dstStride+j] += dotChunk(chunk[:n], x.blocks(r)[b:], halves, mins)
			}
		}
	}
}

// dotChunk multiplies blocks. Lane g is the sum over blocks of group g: of 32
// columns, or, for formats with halves, of 16, with the first halves of all
// groups of 32 first.
func dotChunk(w []UnpackedBlock, x []xBlock, halves, mins bool) float32 {
	var a Lanes
	for i := range w {
		for b := range 8 {
			if halves {
				dotGroup(&a[b], &w[i], &x[i], 32*b, 16, mins, x[i].m16[0][b])
				dotGroup(&a[8+b], &w[i], &x[i], 32*b+16, 16, mins, x[i].m16[1][b])
			} else {
				dotGroup(&a[b], &w[i], &x[i], 32*b, 32, mins, x[i].m[b])
			}
		}
	}
	if halves {
		return a.Sum()
	}
	return a.Sum8()
}

// dotGroup adds the product of n columns from c, whose integer sum is exact. The
// minimum, times the sum m of the activations, comes first.
func dotGroup(a *float32, w *UnpackedBlock, x *xBlock, c, n int, mins bool, m float32) {
	if mins {
		*a = FMA(-w.M[c/16], m, *a)
	}
	sum := int32(0)
	wq, xq := w.Q[c:c+n], x.q[c:c+n]
	for i, q := range wq {
		sum += int32(q) * int32(xq[i])
	}
	*a = FMA(float32(sum), w.S[c/16]*x.d[c/32], *a)
}
