package kernel

import (
	"atenia/tensor"
)

// PackedBytes returns the size of the packed form of a matrix, 0 for types
// without one.
func PackedBytes(d tensor.DType, rows, cols int) int {
	if size := elementSize(d); size > 0 {
		return (rows + TileRows - 1) / TileRows * TileRows * cols * size
	}
	return blockPackedBytes(d, rows, cols)
}

// Pack writes the packed form of rows [lo, hi) to its place in dst, a buffer of
// [PackedBytes] aligned to 64 bytes. lo must be a multiple of [TileRows], and hi
// too unless it is w.Rows. Disjoint rows may be packed concurrently. The form
// may change with any version of this package: do not store it without a
// version.
func (w *Matrix) Pack(dst []byte, lo, hi int) {
	if elementSize(w.DType) > 0 {
		w.packFloats(dst, lo, hi)
		return
	}
	packBlock(dst, w.DType, w.Cols, w.Data, lo, hi)
}

// matMulTilesGeneric is the product of packed weights: unpacked, they equal what
// unpackBlock makes of the source.
func matMulTilesGeneric(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	var chunk [chunkBlocks]UnpackedBlock
	p := packingOf(w.DType)
	tile, halves, mins := p.TileBytes(w.Cols), per16(w.DType), hasMins(w.DType)
	for j := lo; j < hi; j++ {
		packed := w.Tiles[j/TileRows*tile:][:tile]
		for r := range rows {
			dst[r*dstStride+j] = 0
		}
		for c := 0; c < w.Cols; {
			n := min(chunkCols, w.Cols-c)
			ch := chunkOf(p, packed, n)
			clear(chunk[:])
			for k := range n / 32 {
				ch.Unpack(&chunk[k/8], w.DType, k%8, k/8, j%TileRows)
			}
			for r := range rows {
				dst[r*dstStride+j] += dotChunk(chunk[:ch.N], x.blocks(r)[c/blockCols:], halves, mins)
			}
			packed, c = packed[p.ChunkBytes(n):], c+n
		}
	}
}
