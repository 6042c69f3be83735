package live

import (
	"encoding/binary"
	"math"
	"strings"
	"unsafe"
)

// cstring returns a text for C.
func cstring(s string) []byte { return append([]byte(s), 0) }

// foreign is the address of memory that Go does not manage.
func foreign(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// longestText bounds a text of a library.
const longestText = 1 << 12

// gostring copies a text of C; "" for no text.
func gostring(at uintptr) string {
	var b strings.Builder
	for i := uintptr(0); at != 0 && i < longestText; i++ {
		c := *(*byte)(foreign(at + i))
		if c == 0 {
			break
		}
		b.WriteByte(c)
	}
	return b.String()
}

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// encode writes samples in a device's format, clipped to full scale, to the nearest value.
func encode(b []byte, x []float32, format int) {
	for i, v := range x {
		if format == formatFloat {
			binary.NativeEndian.PutUint32(b[4*i:], math.Float32bits(v))
			continue
		}
		y := float64(v)
		if y != y {
			y = 0
		}
		if format == formatS16 {
			binary.LittleEndian.PutUint16(b[2*i:], uint16(int16(max(-1<<15, min(1<<15-1, math.RoundToEven(y*(1<<15)))))))
		} else {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(int32(max(-1<<31, min(1<<31-1, math.RoundToEven(y*(1<<31)))))))
		}
	}
}

// decode reads samples in a device's format.
func decode(x []float32, b []byte, format int) {
	for i := range x {
		switch format {
		case formatFloat:
			x[i] = math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:]))
		case formatS16:
			x[i] = float32(int16(binary.LittleEndian.Uint16(b[2*i:]))) / (1 << 15)
		default:
			x[i] = float32(float64(int32(binary.LittleEndian.Uint32(b[4*i:]))) / (1 << 31))
		}
	}
}
