//go:build !amd64 || noasm

package dense

func dotPages(dst, x []float32, pages []*float32, ids []uint32) { dotPagesGeneric(dst, x, pages, ids) }

func squaresPages(dst, x []float32, pages []*float32, ids []uint32) {
	squaresPagesGeneric(dst, x, pages, ids)
}
