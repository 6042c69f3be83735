package kernel

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

// TileRows weight rows are packed side by side, since a vector of AVX-512
// holds so many outputs.
const TileRows = 16

// A packing says how much of what the packed form of a type holds. Bits of
// codes are apart where they are not 8, 4 or 2: a cell, 32 columns of 16 rows,
// is 64·low bytes with their lower bits and 64·high with the higher ones.
type packing struct {
	low, high int // bits of a code
	scale     int // bytes of scales and minima, for a cell
	block     int // the same, for 256 columns
}

// packingOf returns the packing of a type, a zero one if it has none.
func packingOf(d tensor.DType) packing {
	switch d {
	case tensor.Q8_0:
		return packing{low: 8, scale: 32}
	case tensor.Q4_0, tensor.IQ4_NL:
		return packing{low: 4, scale: 32}
	case tensor.Q4_1:
		return packing{low: 4, scale: 64}
	case tensor.Q5_0:
		return packing{low: 4, high: 1, scale: 32}
	case tensor.Q5_1:
		return packing{low: 4, high: 1, scale: 64}
	case tensor.MXFP4:
		return packing{low: 4, scale: 16}
	case tensor.IQ4_XS:
		return packing{low: 4, scale: 16, block: 32}
	case tensor.Q4_K:
		return packing{low: 4, scale: 32, block: 64}
	case tensor.Q5_K:
		return packing{low: 4, high: 1, scale: 32, block: 64}
	case tensor.Q6_K:
		return packing{low: 4, high: 2, scale: 32, block: 32}
	case tensor.Q3_K:
		return packing{low: 2, high: 1, scale: 32, block: 32}
	case tensor.Q2_K:
		return packing{low: 2, scale: 32, block: 64}
	}
	return packing{}
}

// code returns the bytes of a cell's codes.
func (p packing) code() int { return 64 * (p.low + p.high) }

// chunkBytes returns the size of a chunk of up to 2048 columns.
func (p packing) chunkBytes(cols int) int {
	return align64(blocks(cols)*p.block) + align64(cols/32*p.scale) + cols/32*p.code()
}

func (p packing) tileBytes(cols int) int {
	const most = chunkBlocks * blockCols
	return cols/most*p.chunkBytes(most) + p.chunkBytes(cols%most)
}

func align64(n int) int { return (n + 63) &^ 63 }

// PackedBytes returns the size of the packed form of a matrix, which is 0 for
// types that have none.
func PackedBytes(d tensor.DType, rows, cols int) int {
	if size := elementSize(d); size > 0 {
		return (rows + TileRows - 1) / TileRows * TileRows * cols * size
	}
	return (rows + TileRows - 1) / TileRows * packingOf(d).tileBytes(cols)
}

// Pack writes the packed form of rows [lo, hi) to its place in dst, which is
// all of [PackedBytes], aligned to 64 bytes. lo is a multiple of [TileRows], hi
// too or w.Rows. Rows that are apart may be packed at the same time. The form
// is for this version of this package alone.
func (w *Matrix) Pack(dst []byte, lo, hi int) {
	if elementSize(w.DType) > 0 {
		w.packFloats(dst, lo, hi)
		return
	}
	p, size := packingOf(w.DType), w.rowBytes()
	tile := p.tileBytes(w.Cols)
	for j := lo; j < hi; j += TileRows {
		out := dst[j/TileRows*tile:][:tile]
		rows := min(TileRows, hi-j)
		for c := 0; c < w.Cols; {
			n := min(chunkBlocks*blockCols, w.Cols-c)
			ch := chunkOf(p, out, n)
			clear(ch.blocks)
			clear(ch.scales)
			if rows < TileRows {
				clear(ch.codes)
			}
			for r := range rows {
				row := w.Data[(j+r)*size+typeRowBytes(w.DType, c):]
				packRow(&ch, w.DType, r, row[:typeRowBytes(w.DType, n)])
			}
			out, c = out[p.chunkBytes(n):], c+n
		}
	}
}

// A packedChunk is up to 2048 columns of 16 rows. What the blocks of 256
// columns have comes first, then the scales of cells, then their codes; cells
// are in the order of the passes of a product.
type packedChunk struct {
	packing
	blocks, scales, codes []byte
	n                     int // blocks
	full                  int // how many passes have all of them
}

func chunkOf(p packing, b []byte, cols int) packedChunk {
	s := align64(blocks(cols) * p.block)
	q := s + align64(cols/32*p.scale)
	n := blocks(cols)
	return packedChunk{p, b[:s], b[s:q], b[q:p.chunkBytes(cols)], n, cols/32 - 8*(n-1)}
}

// cell returns the codes and scales of columns 32b of block i.
func (ch *packedChunk) cell(b, i int) (codes, scales []byte) {
	k := b*ch.n - max(0, b-ch.full) + i
	return ch.codes[k*ch.code():][:ch.code()], ch.scales[k*ch.scale:][:ch.scale]
}

// unpackCell is the inverse of packRow, for the product's definition.
func unpackCell(dst *wBlock, d tensor.DType, ch *packedChunk, b, i, r int) {
	codes, scales := ch.cell(b, i)
	for c := range 32 {
		q := ch.codeAt(codes, r, c)
		switch d {
		case tensor.Q8_0:
			q -= 128
		case tensor.Q4_0:
			q -= 8
		case tensor.Q5_0:
			q -= 16
		case tensor.Q6_K:
			q -= 32
		case tensor.Q3_K:
			q -= 4
		case tensor.IQ4_NL, tensor.IQ4_XS:
			q = int(iq4Values[q])
		case tensor.MXFP4:
			q = int(mxfp4Values[q])
		}
		dst.q[32*b+c] = int8(q)
	}
	var of256 [2]float32 // d, dmin
	for k := range ch.block / 32 {
		of256[k] = half(ch.blocks[i*ch.block+32*k+2*r:])
	}
	s, m, s1 := dst.s[2*b:2*b+2], dst.m[2*b:2*b+2], scales[r]
	switch d {
	case tensor.Q8_0, tensor.Q4_0, tensor.Q5_0, tensor.IQ4_NL:
		dst.scale32(b, half(scales[2*r:]))
	case tensor.Q4_1, tensor.Q5_1:
		dst.scale32(b, half(scales[2*r:]))
		dst.min32(b, half(scales[32+2*r:]))
	case tensor.MXFP4:
		dst.scale32(b, e8m0Half(s1))
	case tensor.IQ4_XS:
		dst.scale32(b, of256[0]*float32(int8(s1)))
	case tensor.Q4_K, tensor.Q5_K:
		dst.scale32(b, of256[0]*float32(s1))
		dst.min32(b, of256[1]*float32(scales[16+r]))
	case tensor.Q6_K, tensor.Q3_K:
		s[0], s[1] = of256[0]*float32(int8(s1)), of256[0]*float32(int8(scales[16+r]))
	case tensor.Q2_K:
		for h := range 2 {
			v := scales[16*h+r]
			s[h], m[h] = of256[0]*float32(v&15), of256[1]*float32(v>>4)
		}
	}
}

// e8m0Half is half of what a scale of MXFP4 says, 2^(e-128), subnormal for the
// smallest two.
func e8m0Half(e byte) float32 {
	if e < 2 {
		return math.Float32frombits(0x200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

// codeAt returns the code of column c of row r.
func (ch *packedChunk) codeAt(cell []byte, r, c int) int {
	at, k := 4*r+c%4, c/4
	plane := func(from []byte, bits int) int { // of 8/bits fours of columns a vector
		per := 8 / bits
		return int(from[k/per*64+at]>>(k%per*bits)) & (1<<bits - 1)
	}
	q := 0
	switch ch.low {
	case 8:
		q = int(cell[64*k+at])
	case 4: // fours k and k+4 share a vector
		q = int(cell[k%4*64+at]>>(k/4*4)) & 15
	case 2:
		q = plane(cell, 2)
	}
	if ch.high > 0 {
		q |= plane(cell[64*ch.low:], ch.high) << ch.low
	}
	return q
}

// matMulTilesGeneric is the product of packed weights: unpacked, they are what
// unpackGeneric makes of the source.
func matMulTilesGeneric(dst []float32, dstStride int, w *Matrix, lo, hi int, x xRows, rows int) {
	var chunk [chunkBlocks]wBlock
	p := packingOf(w.DType)
	tile, halves, mins := p.tileBytes(w.Cols), per16(w.DType), hasMins(w.DType)
	for j := lo; j < hi; j++ {
		packed := w.Tiles[j/TileRows*tile:][:tile]
		for r := range rows {
			dst[r*dstStride+j] = 0
		}
		for c := 0; c < w.Cols; {
			n := min(chunkBlocks*blockCols, w.Cols-c)
			ch := chunkOf(p, packed, n)
			clear(chunk[:])
			for k := range n / 32 {
				unpackCell(&chunk[k/8], w.DType, &ch, k%8, k/8, j%TileRows)
			}
			for r := range rows {
				dst[r*dstStride+j] += dotChunk(chunk[:ch.n], x.blocks(r)[c/blockCols:], halves, mins)
			}
			packed, c = packed[p.chunkBytes(n):], c+n
		}
	}
}

// spread4 puts the four lower bits of n into four bytes.
func spread4(n uint32) uint32 { return n & 15 * 0x00204081 & 0x01010101 }

func word(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
