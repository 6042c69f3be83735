package sxlm

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"atenia/tensor"
)

// A Kind is the element type of a tensor in a file.
type Kind uint8

// The element types of section 6.2.
const (
	F32 Kind = iota
	F16
	FP8
	U8
	U32
	U64
	I64
	kinds
)

var (
	kindNames = [kinds]string{"f32", "f16", "fp8e4m3", "u8", "u32", "u64", "i64"}
	kindBytes = [kinds]int{4, 2, 1, 1, 4, 8, 8}
)

// String returns the name of a kind, such as "f16".
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// A Tensor is an array of a block. One of the slices has its values, that of the
// kind or, for one of kind F16, also F32, which is converted when it moves. A
// tensor without a slice is zero.
type Tensor struct {
	Kind Kind
	Dims []int
	F32  []float32
	F16  []uint16
	U8   []uint8
	U32  []uint32
	U64  []uint64
}

// Len is the number of elements.
func (t *Tensor) Len() int { return product(t.Dims) }

// product multiplies dimensions, which the inventory bounds.
func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// present reports whether a tensor has memory.
func (t *Tensor) present() bool {
	return t.F32 != nil || t.F16 != nil || t.U8 != nil || t.U32 != nil || t.U64 != nil
}

// alloc gives a tensor memory of its own kind.
func (t *Tensor) alloc() {
	n := t.Len()
	switch t.Kind {
	case F32:
		t.F32 = make([]float32, n)
	case F16:
		t.F16 = make([]uint16, n)
	case FP8, U8:
		t.U8 = make([]uint8, n)
	case U32:
		t.U32 = make([]uint32, n)
	case U64, I64:
		t.U64 = make([]uint64, n)
	}
}

// bytes is the size of a tensor in a file.
func (t *Tensor) bytes() int64 { return int64(t.Len()) * int64(kindBytes[t.Kind]) }

// chunk is how many bytes are converted at a time.
const chunk = 64 << 10

// encode calls emit with the bytes of a tensor, a chunk at a time.
func (t *Tensor) encode(emit func([]byte) error) error {
	if !t.present() {
		return fmt.Errorf("a tensor without values")
	}
	if t.U8 != nil {
		return emit(t.U8)
	}
	size := kindBytes[t.Kind]
	buf := make([]byte, 0, chunk)
	for i, n := 0, t.Len(); i < n; {
		for buf = buf[:0]; i < n && len(buf)+size <= chunk; i++ {
			switch {
			case t.F16 != nil:
				buf = binary.LittleEndian.AppendUint16(buf, t.F16[i])
			case t.Kind == F16:
				buf = binary.LittleEndian.AppendUint16(buf, tensor.F32ToF16(t.F32[i]))
			case t.Kind == F32:
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(t.F32[i]))
			case t.Kind == U32:
				buf = binary.LittleEndian.AppendUint32(buf, t.U32[i])
			default:
				buf = binary.LittleEndian.AppendUint64(buf, t.U64[i])
			}
		}
		if err := emit(buf); err != nil {
			return err
		}
	}
	return nil
}

// zero reports whether every byte of a tensor is zero in a file.
func (t *Tensor) zero() bool {
	if !t.present() {
		return true
	}
	err := t.encode(func(b []byte) error {
		for _, x := range b {
			if x != 0 {
				return io.EOF
			}
		}
		return nil
	})
	return err == nil
}

// decode reads the bytes of a tensor that has memory. It returns the first
// element that is not finite, or -1.
func (t *Tensor) decode(r io.Reader) (bad int, err error) {
	bad = -1
	if t.U8 != nil {
		_, err = io.ReadFull(r, t.U8)
		return bad, err
	}
	size := kindBytes[t.Kind]
	buf := make([]byte, min(int64(chunk), t.bytes()))
	for i, n := 0, t.Len(); i < n; {
		b := buf[:min(len(buf), (n-i)*size)]
		if _, err := io.ReadFull(r, b); err != nil {
			return bad, err
		}
		for ; len(b) > 0; b, i = b[size:], i+1 {
			finite := true
			switch {
			case t.Kind == F16:
				h := binary.LittleEndian.Uint16(b)
				finite = h&0x7C00 != 0x7C00
				if t.F16 != nil {
					t.F16[i] = h
				} else {
					t.F32[i] = tensor.F16ToF32(h)
				}
			case t.Kind == F32:
				u := binary.LittleEndian.Uint32(b)
				finite = u&0x7F800000 != 0x7F800000
				t.F32[i] = math.Float32frombits(u)
			case t.Kind == U32:
				t.U32[i] = binary.LittleEndian.Uint32(b)
			default:
				t.U64[i] = binary.LittleEndian.Uint64(b)
			}
			if !finite && bad < 0 {
				bad = i
			}
		}
	}
	return bad, nil
}
