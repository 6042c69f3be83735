//go:build !noasm

package dense

import "atenia/internal/kernel"

//go:generate go run -C ../../../tools ./asm -family distance -out ../internal/kernel/dense/zdistance_amd64.s -stubs ../internal/kernel/dense/zdistance_amd64.go -pkg dense

func dotPages(dst, x []float32, pages []*float32, ids []uint32) {
	switch lanes := kernel.VectorLanes(); {
	case lanes == 0 || len(x) == 0:
		dotPagesGeneric(dst, x, pages, ids)
	case lanes == tileCols:
		dotPagesAVX512(&dst[0], &x[0], &pages[0], &ids[0], len(ids), len(x))
	default:
		dotPagesAVX2(&dst[0], &x[0], &pages[0], &ids[0], len(ids), len(x))
	}
}

func squaresPages(dst, x []float32, pages []*float32, ids []uint32) {
	switch lanes := kernel.VectorLanes(); {
	case lanes == 0 || len(x) == 0:
		squaresPagesGeneric(dst, x, pages, ids)
	case lanes == tileCols:
		squaresPagesAVX512(&dst[0], &x[0], &pages[0], &ids[0], len(ids), len(x))
	default:
		squaresPagesAVX2(&dst[0], &x[0], &pages[0], &ids[0], len(ids), len(x))
	}
}
