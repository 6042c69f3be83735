// Products and distances of one vector and rows that are picked by number, the
// inner loop of a search for neighbours.

package dense

import "unsafe"

// PageRows is how many rows of a paged matrix a page has: row i is the i%PageRows-th
// of page i/PageRows.
const PageRows = 256

// DotPages writes the products of x and the rows ids of a paged matrix. Rows are
// as long as x, a multiple of 16, and pages holds the address of each page's
// first. dst must be as long as ids. It does not check ids.
func DotPages(dst, x []float32, pages []*float32, ids []uint32) {
	if len(ids) > 0 && len(x) >= tileCols {
		dotPages(dst[:len(ids)], x[:len(x)&^(tileCols-1)], pages, ids)
	}
}

// SquaresPages writes squared Euclidean distances, otherwise as [DotPages] does.
func SquaresPages(dst, x []float32, pages []*float32, ids []uint32) {
	if len(ids) > 0 && len(x) >= tileCols {
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
		dst[k] = sumLanes8(dotLanes8(&x[0], &row[0], len(x)), dotLanes8(&x[8], &row[8], len(x)))
	}
}

func squaresPagesGeneric(dst, x []float32, pages []*float32, ids []uint32) {
	for k, id := range ids {
		row := pageRow(pages, id, len(x))
		dst[k] = sumLanes8(squaresLanes8(&x[0], &row[0], len(x)), squaresLanes8(&x[8], &row[8], len(x)))
	}
}

// sumLanes8 folds 16 lanes as kernel.Lanes does: lane i of the lower eight with
// lane i of the upper, and so on.
func sumLanes8(low, high [8]float32) float32 {
	b0 := float32(low[0]+high[0]) + float32(low[4]+high[4])
	b1 := float32(low[1]+high[1]) + float32(low[5]+high[5])
	b2 := float32(low[2]+high[2]) + float32(low[6]+high[6])
	b3 := float32(low[3]+high[3]) + float32(low[7]+high[7])
	return float32(b0+b1) + float32(b2+b3)
}

// dotLanes8 sums products of columns 0 to 7 of every 16, in eight variables that
// stay in registers, of n columns.
func dotLanes8(a, b *float32, n int) [8]float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for i := 0; i < n; i += tileCols {
		x, y := (*[8]float32)(unsafe.Add(unsafe.Pointer(a), 4*i)), (*[8]float32)(unsafe.Add(unsafe.Pointer(b), 4*i))
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
		s4 += float32(x[4] * y[4])
		s5 += float32(x[5] * y[5])
		s6 += float32(x[6] * y[6])
		s7 += float32(x[7] * y[7])
	}
	return [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
}

// squaresLanes8 does the same with squares of differences.
func squaresLanes8(a, b *float32, n int) [8]float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for i := 0; i < n; i += tileCols {
		x, y := (*[8]float32)(unsafe.Add(unsafe.Pointer(a), 4*i)), (*[8]float32)(unsafe.Add(unsafe.Pointer(b), 4*i))
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
	}
	return [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
}
