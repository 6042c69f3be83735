//go:build !amd64 || noasm

package dense

func addTiles(dst []float32, ldd int, x *leftRows, w *rightTiles, k int) {
	addTilesGeneric(dst, ldd, x, w, k)
}

func packColumns(dst []float32, group int, src []float32, stride, width, columns, k int) {
	packColumnsGeneric(dst, group, src, stride, width, columns, k)
}

func packRows(dst, src []float32, stride, have, k int) {
	packRowsGeneric(dst, src, stride, have, k)
}

func prefetch([]float32, int, int, int) {}
