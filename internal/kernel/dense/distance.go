// Products and distances of one vector and rows that are picked by number, the
// inner loop of a search for neighbours.

package dense

import (
	"unsafe"

	"atenia/internal/kernel"
)

// PageRows is how many rows of a paged matrix a page has: row i is the i%PageRows-th
// of page i/PageRows.
const PageRows = 256

// DotPages writes the products of x and the rows ids of a paged matrix. Rows are
// as long as x, a multiple of 16, and pages holds the address of each page's
// first. dst must be as long as ids. It does not check ids.
func DotPages(dst, x []float32, pages []*float32, ids []uint32) {
	if len(ids) > 0 {
		dotPages(dst[:len(ids)], x[:len(x)&^(tileCols-1)], pages, ids)
	}
}

// SquaresPages writes squared Euclidean distances, otherwise as [DotPages] does.
func SquaresPages(dst, x []float32, pages []*float32, ids []uint32) {
	if len(ids) > 0 {
		squaresPages(dst[:len(ids)], x[:len(x)&^(tileCols-1)], pages, ids)
	}
}

// pageRow returns row i of n values.
func pageRow(pages []*float32, i uint32, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(pages[i/PageRows]), int(i%PageRows)*n*4)), n)
}

func dotPagesGeneric(dst, x []float32, pages []*float32, ids []uint32) {
	for k, id := range ids {
		row := pageRow(pages, id, len(x))
		low, high := dotLanes8(x, row), dotLanes8(x[8:], row[8:])
		dst[k] = sumLanes8(&low, &high)
	}
}

func squaresPagesGeneric(dst, x []float32, pages []*float32, ids []uint32) {
	for k, id := range ids {
		row := pageRow(pages, id, len(x))
		low, high := squaresLanes8(x, row), squaresLanes8(x[8:], row[8:])
		dst[k] = sumLanes8(&low, &high)
	}
}

// sumLanes8 folds 16 lanes as [kernel.Lanes] does.
func sumLanes8(low, high *[8]float32) float32 {
	var acc kernel.Lanes
	copy(acc[:8], low[:])
	copy(acc[8:], high[:])
	return acc.Sum()
}

// dotLanes8 sums products of columns 0 to 7 of every 16, in eight variables that
// stay in registers.
func dotLanes8(a, b []float32) [8]float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
		s4 += float32(x[4] * y[4])
		s5 += float32(x[5] * y[5])
		s6 += float32(x[6] * y[6])
		s7 += float32(x[7] * y[7])
		a, b = a[min(tileCols, len(a)):], b[min(tileCols, len(b)):]
	}
	return [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
}

// squaresLanes8 does the same with squares of differences.
func squaresLanes8(a, b []float32) [8]float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
		s0 += float32(d0 * d0)
		s1 += float32(d1 * d1)
		s2 += float32(d2 * d2)
		s3 += float32(d3 * d3)
		d4, d5, d6, d7 := x[4]-y[4], x[5]-y[5], x[6]-y[6], x[7]-y[7]
		s4 += float32(d4 * d4)
		s5 += float32(d5 * d5)
		s6 += float32(d6 * d6)
		s7 += float32(d7 * d7)
		a, b = a[min(tileCols, len(a)):], b[min(tileCols, len(b)):]
	}
	return [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
}
