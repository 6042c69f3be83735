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
		var acc kernel.Lanes
		for i, v := range x {
			acc[i%tileCols] = kernel.FMA(v, row[i], acc[i%tileCols])
		}
		dst[k] = acc.Sum()
	}
}

func squaresPagesGeneric(dst, x []float32, pages []*float32, ids []uint32) {
	for k, id := range ids {
		row := pageRow(pages, id, len(x))
		var acc kernel.Lanes
		for i, v := range x {
			d := v - row[i]
			acc[i%tileCols] = kernel.FMA(d, d, acc[i%tileCols])
		}
		dst[k] = acc.Sum()
	}
}
