package kernel

import (
	"math"
	"unsafe"

	"atenia/tensor"
)

// A Form is the layout in which [MatMulQ] reads activation rows.
type Form uint8

const (
	// FormF32 is plain float32 values, for plain float weights.
	FormF32 Form = iota
	// FormQ8 is int8 values with a float32 scale for every 32, for all quantized
	// weights. Rows are padded to 256 values, so that one layout serves formats
	// with blocks of 32 and of 256.
	FormQ8
	// FormBF16 is values rounded to bfloat16, for [MatMulPairs].
	FormBF16
)

// String returns "f32", "q8" or "bf16".
func (f Form) String() string { return [...]string{"f32", "q8", "bf16"}[f] }

// FormOf returns the fastest form for weights of type d.
func FormOf(d tensor.DType) Form {
	if d.Quantized() {
		return FormQ8
	}
	return FormF32
}

// blockCols is the number of columns in an xBlock and in an UnpackedBlock.
const blockCols = Cols

// An xBlock is 256 activations of FormQ8 in the layout for unpacked weights:
// value i is d[i/32]·q[i]. The sums are precomputed for the products: n is the
// starting value of the integer sum for weights stored plus 128, m is the factor
// of a minimum. The sums of 16 columns are indexed [half of 32 columns][which
// 32].
type xBlock struct {
	q   [256]int8
	d   [8]float32
	n   [8]int32      // -128·Σq over 32 columns
	m   [8]float32    // d·Σq
	n16 [2][8]int32   // -128·Σq over 16 columns
	m16 [2][8]float32 // d·Σq
	_   [32]byte      // pads to whole cache lines
}

// An xCell is 32 of the same activations in the layout for packed weights, one
// cache line.
type xCell struct {
	q   [32]int8
	d   float32
	n   int32
	m   float32
	n16 [2]int32
	m16 [2]float32
	_   [4]byte
}

const (
	xBlockBytes = int(unsafe.Sizeof(xBlock{}))
	xCellBytes  = int(unsafe.Sizeof(xCell{}))
)

// RowBytes returns the size of a prepared row of cols values.
func (f Form) RowBytes(cols int) int {
	switch f {
	case FormQ8:
		return blocks(cols)*(8*xCellBytes+xBlockBytes) + 576
	case FormBF16:
		return 2 * cols
	}
	return 4 * cols
}

func blocks(cols int) int { return (cols + blockCols - 1) / blockCols }

// xRows is a sequence of FormQ8 rows. A row is its cells, in the order of the
// passes of a product (for each chunk of 2048 columns, for each b of 8, the 32
// columns from 256i+32b on, i ascending), and then its blocks.
type xRows struct {
	b    []byte
	cols int
}

func (x xRows) row(r int) []byte {
	size := FormQ8.RowBytes(x.cols)
	return x.b[r*size : (r+1)*size]
}

func (x xRows) from(r int) xRows { return xRows{x.b[r*FormQ8.RowBytes(x.cols):], x.cols} }

func (x xRows) cells(r int) []xCell {
	return unsafe.Slice((*xCell)(unsafe.Pointer(&x.row(r)[0])), 8*blocks(x.cols))
}

func (x xRows) blocks(r int) []xBlock {
	n := blocks(x.cols)
	return unsafe.Slice((*xBlock)(unsafe.Pointer(&x.row(r)[n*8*xCellBytes])), n)
}

// Prepare converts one row of len(src) values to the form. dst must be aligned
// to 4 bytes, preferably to 64, and have f.RowBytes(len(src)) bytes; the result
// depends on src alone.
//
// FormQ8 rounds to nearest even in steps of 1/127 of the largest magnitude of 32
// values. A block that contains NaN or an infinity gets NaN or an infinity as
// its scale, so that every product with it shows the fault.
func (f Form) Prepare(dst []byte, src []float32) { f.PrepareCols(dst, src, 0, len(src)) }

// PrepareCols is [Form.Prepare] for columns lo to hi, multiples of 32 or the
// row's end, so that goroutines can share a row. The padding is written together
// with the row's last column.
func (f Form) PrepareCols(dst []byte, src []float32, lo, hi int) {
	dst = dst[:f.RowBytes(len(src))]
	if f == FormF32 {
		copy(floats(dst)[lo:hi], src[lo:hi])
		return
	}
	if lo >= hi {
		return
	}
	if f == FormBF16 {
		storeBF16(dst[2*lo:2*hi], src[lo:hi])
		return
	}
	x := xRows{dst, len(src)}
	cells, bs := x.cells(0), x.blocks(0)
	if hi == len(src) {
		hi = len(bs) * blockCols
	}
	for i := lo / blockCols; i*blockCols < hi; i++ {
		n := min(chunkBlocks, len(bs)-i&^(chunkBlocks-1)) // in this chunk
		pass := cells[i&^(chunkBlocks-1)*8+i%chunkBlocks:][:7*n+1]
		start := i * blockCols
		from, to := max(lo, start), min(hi, start+blockCols)
		if s := src[start:]; len(s) >= blockCols && to-from == blockCols {
			quantize(&bs[i], pass, n, (*[256]float32)(s))
			continue
		}
		var values [256]float32
		if from < len(src) {
			copy(values[from-start:], src[from:min(to, len(src))])
		}
		if to-from == blockCols {
			quantize(&bs[i], pass, n, &values)
		} else {
			quantizeGroups(&bs[i], pass, n, &values, (from-start)/32, (to-start)/32)
		}
	}
}

// quantizeGroups is quantize for groups lo to hi of 32 values; it leaves the
// others unchanged.
func quantizeGroups(dst *xBlock, cells []xCell, stride int, src *[256]float32, lo, hi int) {
	var b xBlock
	var c [8]xCell
	quantize(&b, c[:], 1, src)
	copy(dst.q[32*lo:32*hi], b.q[32*lo:])
	for g := lo; g < hi; g++ {
		dst.d[g], dst.n[g], dst.m[g] = b.d[g], b.n[g], b.m[g]
		for h := range 2 {
			dst.n16[h][g], dst.m16[h][g] = b.n16[h][g], b.m16[h][g]
		}
		cells[g*stride] = c[g]
	}
}

// quantizeTiny is 2^-120: blocks with no larger magnitude become zero, because
// 127 divided by it would overflow.
const quantizeTiny = 7 << 23

// quantizeGeneric writes a block of values and its cells, which are stride
// apart.
func quantizeGeneric(dst *xBlock, cells []xCell, stride int, src *[256]float32) {
	for b := range dst.d {
		x := (*[32]float32)(src[32*b:])
		var top uint32 // bit patterns order like the magnitudes, NaN last
		for _, v := range x {
			top = max(top, math.Float32bits(v)&0x7fffffff)
		}
		amax := math.Float32frombits(top)
		d := amax / 127
		var inv float32
		if top >= quantizeTiny && top < 0x7f800000 {
			inv = 127 / amax
		}
		dst.d[b] = d
		all := int32(0)
		for h := range 2 {
			sum := int32(0)
			for i := 16 * h; i < 16*h+16; i++ {
				q := int32(0)
				if inv != 0 {
					q = int32(math.RoundToEven(float64(x[i] * inv)))
				}
				dst.q[32*b+i] = int8(q)
				sum += q
			}
			dst.n16[h][b], dst.m16[h][b] = -128*sum, d*float32(sum)
			all += sum
		}
		dst.n[b], dst.m[b] = -128*all, d*float32(all)
		c := &cells[b*stride]
		*c = xCell{d: d, n: dst.n[b], m: dst.m[b]}
		copy(c.q[:], dst.q[32*b:])
		for h := range 2 {
			c.n16[h], c.m16[h] = dst.n16[h][b], dst.m16[h][b]
		}
	}
}
