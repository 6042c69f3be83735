package kernel

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

// AttentionSpan is the number of positions scored and weighted at a time. Spans
// start at multiples of it, wherever a query stands, so that the order of a
// query's additions depends only on its position and its window.
const AttentionSpan = 256

// tileKeys keys, or fewer in odd pages, are interleaved.
const tileKeys = 16

// Rows are the cached keys or values of one head, of type F32, F16 or Q8_0, in
// pages owned by the caller. Values are stored row by row. Keys are stored in
// tiles of 16, or of the largest power of two that divides smaller or odd page
// sizes: the first column of each key, then the second, and so on, so that each
// lane of a vector is a key. With Q8_0 the 16 scales of a block precede its
// columns:
//
//	F32, F16   k0[0] k1[0] … k15[0]   k0[1] k1[1] … k15[1]   …
//	Q8_0       d0 d1 … d15   k0[0] k1[0] … k15[31]   d0 d1 … of the next 32 columns
//
// A tile takes as many bytes as its rows would.
type Rows struct {
	DType    tensor.DType
	Pages    [][]byte // page p holds positions p·PageRows and up
	Off      int      // of the head's first row in every page
	PageRows int
	Dim      int
}

// width returns the number of keys in a tile.
func (k *Rows) width() int { return min(tileKeys, k.PageRows&-k.PageRows) }

// rows returns the bytes of n rows from a position on, all in one page.
func (k *Rows) rows(pos, n int) []byte {
	size := typeRowBytes(k.DType, k.Dim)
	at := k.Off + pos%k.PageRows*size
	return k.Pages[pos/k.PageRows][at : at+n*size]
}

// StoreValue writes the row of a position as [StoreRow] does.
func (k *Rows) StoreValue(pos int, src []float32) {
	StoreRow(k.rows(pos, 1), k.DType, src[:k.Dim])
}

// StoreKey writes the row of a position into its tile, rounded as [StoreRow]
// rounds.
func (k *Rows) StoreKey(pos int, src []float32) {
	w := k.width()
	lane := pos % w
	tile, src := k.rows(pos-lane, w), src[:k.Dim]
	var row [2 * 128]byte
	switch k.DType {
	case tensor.F32:
		for c, v := range src {
			binary.LittleEndian.PutUint32(tile[4*(c*w+lane):], math.Float32bits(v))
		}
	case tensor.F16:
		for c := 0; c < len(src); c += len(row) / 2 {
			piece := src[c:min(len(src), c+len(row)/2)]
			storeF16(row[:2*len(piece)], piece)
			for i := range piece {
				at := 2 * ((c+i)*w + lane)
				tile[at], tile[at+1] = row[2*i], row[2*i+1]
			}
		}
	case tensor.Q8_0:
		for c := 0; c < len(src); c += 32 {
			storeQ8(row[:], src[c:c+32])
			block := tile[c/32*34*w:]
			copy(block[2*lane:][:2], row[:2])
			for i, q := range row[2:34] {
				block[(2+i)*w+lane] = q
			}
		}
	}
}

// loadKey returns len(dst) columns of a key from column c, a multiple of 32.
func (k *Rows) loadKey(dst []float32, pos, c int) {
	w := k.width()
	lane := pos % w
	tile := k.rows(pos-lane, w)
	le := binary.LittleEndian
	switch k.DType {
	case tensor.F32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(tile[4*((c+i)*w+lane):]))
		}
	case tensor.F16:
		for i := range dst {
			dst[i] = tensor.F16ToF32(le.Uint16(tile[2*((c+i)*w+lane):]))
		}
	case tensor.Q8_0:
		for i := range dst {
			block := tile[(c+i)/32*34*w:]
			dst[i] = half(block[2*lane:]) * float32(int8(block[(2+i%32)*w+lane]))
		}
	}
}

// Scores writes the scaled products of queries [n, k.Dim] with the keys of
// positions [lo, hi), which must be in one span:
//
//	dst[i*AttentionSpan+j%AttentionSpan] = scale · Σ_c q[i,c]·k[j,c]
//
// as a chain of fused multiply-adds in the order of c. It may overwrite other
// values of the n spans in dst.
func Scores(dst, q []float32, n int, k *Rows, lo, hi int, scale float32) {
	if n == 0 || lo >= hi {
		return
	}
	dst, q = dst[:n*AttentionSpan], q[:n*k.Dim]
	checkSpan(lo, hi)
	scoreTiles(dst, q, n, k, lo, hi, scale)
}

// checkSpan panics if the positions are not in one span.
func checkSpan(lo, hi int) {
	if lo < 0 || lo/AttentionSpan != (hi-1)/AttentionSpan {
		panic("kernel: attention over more than one span")
	}
}

func scoresGeneric(dst, q []float32, n int, k *Rows, lo, hi int, scale float32) {
	var piece [64]float32
	for j := lo; j < hi; j++ {
		for c := 0; c < k.Dim; c += len(piece) {
			key := piece[:min(len(piece), k.Dim-c)]
			k.loadKey(key, j, c)
			for i := range n {
				sum := float32(0)
				if c > 0 {
					sum = dst[i*AttentionSpan+j%AttentionSpan]
				}
				for x, v := range key {
					sum = FMA(q[i*k.Dim+c+x], v, sum)
				}
				dst[i*AttentionSpan+j%AttentionSpan] = sum
			}
		}
		for i := range n {
			dst[i*AttentionSpan+j%AttentionSpan] *= scale
		}
	}
}

// Weighted adds the weighted values of positions [lo, hi), which must be in one
// span, to dst [n, v.Dim]:
//
//	dst[i,c] += Σ_j p[i*AttentionSpan+j%AttentionSpan]·v[j,c]
//
// as a chain of fused multiply-adds in the order of j, so that a range may be
// split anywhere.
func Weighted(dst, p []float32, n int, v *Rows, lo, hi int) {
	if n == 0 || lo >= hi {
		return
	}
	dst, p = dst[:n*v.Dim], p[:n*AttentionSpan]
	checkSpan(lo, hi)
	weightedTiles(dst, p, n, v, lo, hi)
}

// weightedGeneric adds the columns from c on, a multiple of 8.
func weightedGeneric(dst, p []float32, n int, v *Rows, lo, hi, c int) {
	var piece [64]float32
	for ; c < v.Dim; c += len(piece) {
		vs := piece[:min(len(piece), v.Dim-c)]
		for j := lo; j < hi; j++ {
			loadCols(vs, v.DType, v.rows(j, 1), c)
			for i := range n {
				out, w := dst[i*v.Dim+c:][:len(vs)], p[i*AttentionSpan+j%AttentionSpan]
				for x, value := range vs {
					out[x] = FMA(w, value, out[x])
				}
			}
		}
	}
}
