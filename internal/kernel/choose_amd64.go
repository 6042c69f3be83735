//go:build !noasm

package kernel

import (
	"atenia/tensor"
)

// The measured choices for products of packed weights, by type.
var tileChoice [tensor.NumDTypes]struct{ fused, group choice }

// A choice is measured during the first product with at least choiceProduct
// multiply-adds (about half a millisecond, which later products repay) and
// enough rows.
const choiceProduct, choiceFusedRows, choiceGroupRows = 64 << 20, 32, 96

// panelGroup returns how many tiles to expand at a time; 0 means none, because
// few activation rows are faster with weights unpacked in registers.
func panelGroup(w *Matrix, tile, tiles int, x xRows, rows int) int {
	if rows <= fusedTileRows || level.Load() != levelAVX512 {
		return 0
	}
	c, large := &tileChoice[w.DType], tiles >= panelTiles && w.Rows*w.Cols*rows >= choiceProduct
	if large && rows >= choiceFusedRows && c.fused.Open() {
		chooseFused(&c.fused, w, tile, x)
	}
	if large && rows >= choiceGroupRows && c.group.Open() {
		chooseGroup(&c.group, w, tile, x)
	}
	if rows <= c.fused.Or(fusedTileRows) {
		return 0
	}
	return c.group.Or(panelTiles)
}

// chooseFused measures products of 16, 24 and 32 rows.
func chooseFused(c *choice, w *Matrix, tile int, x xRows) {
	const tiles, stride = 4, 4 * TileRows
	dst := make([]float32, choiceFusedRows*stride)
	c.Measure("rows unpacked in registers", w.DType.String(), []int{fusedTileRows, 16, 24, 32}, func(most int) {
		for rows := 16; rows <= choiceFusedRows; rows += 8 {
			if rows <= most {
				fusedTiles(dst, stride, w, tile, tiles, x, rows)
			} else {
				panelTilesOf(dst, stride, w, tile, tiles, x, rows)
			}
		}
	})
}

// chooseGroup measures products of all permitted rows.
func chooseGroup(c *choice, w *Matrix, tile int, x xRows) {
	const stride = panelTiles * TileRows
	dst := make([]float32, choiceGroupRows*stride)
	c.Measure("tiles expanded at a time", w.DType.String(), []int{panelTiles, 4, 2}, func(group int) {
		for i := 0; i < panelTiles; i += group {
			panelTilesOf(dst[i*TileRows:], stride, w, tile+i, group, x, choiceGroupRows)
		}
	})
}
