package kernel

import (
	"encoding/binary"
	"math"

	"atenia/tensor"
)

// TileRows is the number of weight rows interleaved in a tile: the float32 lanes
// of an AVX-512 vector.
const TileRows = 16

// chunkCols is the number of columns packed, and summed, at a time. As bytes, 16
// weight rows of that length leave most of L2 free.
const chunkCols = 2048

// A packing describes the packed form of a type. Codes whose width is not 8, 4
// or 2 bits are stored in two planes: a cell, 32 columns of 16 rows, is 64·low
// bytes with the lower bits and 64·high bytes with the higher ones.
type packing struct {
	low, high int // bits of a code
	scale     int // bytes of scales and minima, per cell
	block     int // the same, per 256 columns
}

// packingOf returns the packing of a type, the zero Packing if it has none.
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

// code returns the number of bytes of a cell's codes.
func (p packing) code() int { return 64 * (p.low + p.high) }

// ChunkBytes returns the size of a chunk of up to 2048 columns.
func (p packing) ChunkBytes(cols int) int {
	return align64(blocksPerRow(cols)*p.block) + align64(cols/32*p.scale) + cols/32*p.code()
}

// TileBytes returns the size of 16 rows.
func (p packing) TileBytes(cols int) int {
	return cols/chunkCols*p.ChunkBytes(chunkCols) + p.ChunkBytes(cols%chunkCols)
}

func align64(n int) int { return (n + 63) &^ 63 }

// blockPackedBytes returns the size of the packed form of a matrix, 0 for types
// without one.
func blockPackedBytes(d tensor.DType, rows, cols int) int {
	return (rows + TileRows - 1) / TileRows * packingOf(d).TileBytes(cols)
}

// packBlock writes the packed form of rows [lo, hi) of data to its place in dst, for
// kernel.Matrix.Pack.
func packBlock(dst []byte, d tensor.DType, cols int, data []byte, lo, hi int) {
	p, size := packingOf(d), rowBytes(d, cols)
	tile := p.TileBytes(cols)
	for j := lo; j < hi; j += TileRows {
		out := dst[j/TileRows*tile:][:tile]
		rows := min(TileRows, hi-j)
		for c := 0; c < cols; {
			n := min(chunkCols, cols-c)
			ch := chunkOf(p, out, n)
			clear(ch.Blocks)
			clear(ch.Scales)
			if rows < TileRows {
				clear(ch.Codes)
			}
			for r := range rows {
				row := data[(j+r)*size+rowBytes(d, c):]
				ch.PackRow(d, r, row[:rowBytes(d, n)])
			}
			out, c = out[p.ChunkBytes(n):], c+n
		}
	}
}

func rowBytes(d tensor.DType, cols int) int {
	values, bytes := d.Block()
	return cols / values * bytes
}

// A chunk is up to 2048 columns of 16 rows: first the scales of blocks of 256
// columns, then those of cells, then the codes of cells; cells are in the order
// of the passes of a product.
type chunk struct {
	packing
	Blocks, Scales, Codes []byte
	N                     int // blocksPerRow
	Full                  int // number of passes that contain all blocks
}

// chunkOf returns the parts of the chunk of cols columns at the start of b.
func chunkOf(p packing, b []byte, cols int) chunk {
	s := align64(blocksPerRow(cols) * p.block)
	q := s + align64(cols/32*p.scale)
	n := blocksPerRow(cols)
	return chunk{p, b[:s], b[s:q], b[q:p.ChunkBytes(cols)], n, cols/32 - 8*(n-1)}
}

// cell returns the codes and scales of the cell at column 32b of block i.
func (ch *chunk) cell(b, i int) (codes, scales []byte) {
	k := b*ch.N - max(0, b-ch.Full) + i
	return ch.Codes[k*ch.code():][:ch.code()], ch.Scales[k*ch.scale:][:ch.scale]
}

// Unpack is the inverse of PackRow for the 32 columns at 32b of block i, row r.
// It defines the product of packed weights.
func (ch *chunk) Unpack(dst *UnpackedBlock, d tensor.DType, b, i, r int) {
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
		dst.Q[32*b+c] = int8(q)
	}
	var of256 [2]float32 // d, dmin
	for k := range ch.block / 32 {
		of256[k] = halfToFloat(ch.Blocks[i*ch.block+32*k+2*r:])
	}
	s, m, s1 := dst.S[2*b:2*b+2], dst.M[2*b:2*b+2], scales[r]
	switch d {
	case tensor.Q8_0, tensor.Q4_0, tensor.Q5_0, tensor.IQ4_NL:
		dst.scale32(b, halfToFloat(scales[2*r:]))
	case tensor.Q4_1, tensor.Q5_1:
		dst.scale32(b, halfToFloat(scales[2*r:]))
		dst.min32(b, halfToFloat(scales[32+2*r:]))
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

// e8m0Half returns half of the value of an MXFP4 scale, 2^(e-128); it is
// subnormal for the smallest two.
func e8m0Half(e byte) float32 {
	if e < 2 {
		return math.Float32frombits(0x200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

// codeAt returns the code of column c of row r.
func (ch *chunk) codeAt(cell []byte, r, c int) int {
	at, k := 4*r+c%4, c/4
	plane := func(from []byte, bits int) int { // 8/bits groups of four columns per vector
		per := 8 / bits
		return int(from[k/per*64+at]>>(k%per*bits)) & (1<<bits - 1)
	}
	q := 0
	switch ch.low {
	case 8:
		q = int(cell[64*k+at])
	case 4: // groups k and k+4 share a vector
		q = int(cell[k%4*64+at]>>(k/4*4)) & 15
	case 2:
		q = plane(cell, 2)
	}
	if ch.high > 0 {
		q |= plane(cell[64*ch.low:], ch.high) << ch.low
	}
	return q
}

// spread4 expands the four low bits of n to four bytes.
func spread4(n uint32) uint32 { return n & 15 * 0x00204081 & 0x01010101 }

func word(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// blocksPerRow returns the number of blocks of 256 columns, including a partial one.
func blocksPerRow(cols int) int { return (cols + Cols - 1) / Cols }
