//go:build !noasm

package dense

import (
	"unsafe"

	"atenia/internal/kernel"
)

//go:generate go run -C ../../../tools ./asm -family dense -out ../internal/kernel/dense/zdense_amd64.s -stubs ../internal/kernel/dense/zdense_amd64.go -pkg dense

// wide and some report which instruction sets may be used.
func wide() bool { return kernel.Variant() == "avx512" }
func some() bool { return kernel.Variant() != "portable" }

// zeros is the addend of fresh results.
var zeros [2 * tileCols]float32

// addTiles adds the products of rows with one or two tiles to dst.
func addTiles(dst []float32, ldd int, x *leftRows, w *rightTiles, k int) {
	_ = dst[(x.n-1)*ldd+w.cols-1]
	_ = w.v[(w.cols/tileCols-1)*w.tile+(k-1)*w.step+tileCols-1]
	if x.byColumns {
		_ = x.v[(k-1)*x.stride+x.n-1]
	} else {
		_ = x.v[(x.n-1)*x.stride+k-1]
	}
	old, oldStride := &dst[0], 4*ldd
	if x.fresh {
		old, oldStride = &zeros[0], 0
	}
	switch {
	case wide():
		f := rowsx1AVX512
		switch {
		case x.byColumns && w.cols > tileCols:
			f = columnsx2AVX512
		case x.byColumns:
			f = columnsx1AVX512
		case w.cols > tileCols:
			f = rowsx2AVX512
		}
		f(&dst[0], old, 4*ldd, oldStride, &w.v[0], 4*w.tile, 4*w.step, &x.v[0], 4*x.stride, k, x.n)
	case some():
		const most = 6
		for t := 0; t < w.cols; t += tileCols {
			for r := 0; r < x.n; r += most {
				n := min(most, x.n-r)
				if !x.fresh {
					old = &dst[r*ldd+t]
				}
				if x.byColumns {
					columnsx1AVX2(&dst[r*ldd+t], old, 4*ldd, oldStride, &w.v[t/tileCols*w.tile], 0, 4*w.step, &x.v[r], 4*x.stride, k, n)
				} else {
					rowsx1AVX2(&dst[r*ldd+t], old, 4*ldd, oldStride, &w.v[t/tileCols*w.tile], 0, 4*w.step, &x.v[r*x.stride], 4*x.stride, k, n)
				}
			}
		}
	default:
		addTilesGeneric(dst, ldd, x, w, k)
	}
}

func packColumns(dst []float32, group int, src []float32, stride, width, columns, k int) {
	whole := 0
	if some() && k > 0 {
		whole = columns / width
	}
	if whole > 0 {
		_, _ = src[(k-1)*stride+whole*width-1], dst[(whole-1)*group+k*width-1]
		f := copy12AVX2
		if width == tileCols {
			f = copy16AVX2
		}
		f(&dst[0], &src[0], 4*group, 4*stride, whole, k)
	}
	if columns > whole*width {
		packColumnsGeneric(dst[whole*group:], group, src[whole*width:], stride, width, columns-whole*width, k)
	}
}

func packRows(dst, src []float32, stride, have, k int) {
	n := 0
	if have == tileCols && some() {
		n = k &^ 15
	}
	if n > 0 {
		_ = src[15*stride+n-1]
		pack32AVX2((*byte)(unsafe.Pointer(&dst[0])), (*byte)(unsafe.Pointer(&src[0])), 4*stride, n)
	}
	packRowsGeneric(dst[n*tileCols:], src[n:], stride, have, k-n)
}

// prefetch requests n rows of the given number of columns.
func prefetch(src []float32, stride, columns, n int) {
	if some() {
		prefetchRowsAVX2(&src[0], (columns+15)/16, 4*stride, n)
	}
}
