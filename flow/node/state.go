package node

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// FloatBytes is the size of n numbers in a snapshot.
func FloatBytes[F Float](n int) int { return n * int(unsafe.Sizeof(F(0))) }

// PutFloats writes numbers to a snapshot, little-endian, and returns the bytes
// written.
func PutFloats[F Float](dst []byte, v []F) int {
	size := int(unsafe.Sizeof(F(0)))
	for i, x := range v {
		if size == 8 {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(x)))
		} else {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
		}
	}
	return size * len(v)
}

// GetFloats reads what PutFloats wrote and returns the bytes read. Src must be
// long enough.
func GetFloats[F Float](v []F, src []byte) int {
	size := int(unsafe.Sizeof(F(0)))
	for i := range v {
		if size == 8 {
			v[i] = F(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
		} else {
			v[i] = F(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
		}
	}
	return size * len(v)
}
