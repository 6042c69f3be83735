package media

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"atenia/internal/store/durable"
)

// An npySink writes a NumPy array of format 1.0 (numpy.lib.format), [channels, frames].
// Frames are written as they come, which is Fortran order of that shape, so that the
// length may be unknown until the end.
type npySink struct {
	w      io.Writer
	f      Format
	frames int64
	raw    []byte
}

// npyHeader is the length of a header, a multiple of 64 that holds any shape of two
// dimensions.
const npyHeader = 128

func writeNPY(w io.Writer, f Format) (*npySink, error) {
	s := &npySink{w: w, f: f}
	_, err := w.Write(s.header())
	return s, err
}

func (s *npySink) header() []byte { return npyHead(s.f.Bits, true, int64(s.f.Channels), s.frames) }

// npyHead returns what precedes the numbers: a magic, the length, and a Python literal
// that is filled up with spaces.
func npyHead(bits int, fortran bool, shape ...int64) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	var dims strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&dims, "%d, ", n)
	}
	text := fmt.Sprintf("{'descr': '<f%d', 'fortran_order': %s, 'shape': (%s), }", bits/8, order, strings.TrimSuffix(dims.String(), " "))
	b := append(make([]byte, 0, npyHeader), "\x93NUMPY\x01\x00"...)
	b = binary.LittleEndian.AppendUint16(b, npyHeader-10)
	b = append(b, text...)
	for len(b) < npyHeader-1 {
		b = append(b, ' ')
	}
	return append(b, '\n')
}

func (s *npySink) write(src [][]float64) (clipped int64, err error) {
	s.raw = s.raw[:0]
	for i := range src[0] {
		for c := range src {
			s.raw = appendFloat(s.raw, src[c][i], s.f.Bits)
		}
	}
	s.frames += int64(len(src[0]))
	_, err = s.w.Write(s.raw)
	return 0, err
}

// appendFloat appends a number of 32 or 64 bits.
func appendFloat(b []byte, v float64, bits int) []byte {
	if bits == 64 {
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
}

func (s *npySink) finish() error { return nil }

// patch writes the header again, with the number of frames.
func (s *npySink) patch(at io.WriterAt) error {
	_, err := at.WriteAt(s.header(), 0)
	return err
}

// WriteArray writes numbers as a NumPy array of float64 in C order: the file appears
// complete or not at all. The shape's product is the number of values.
func WriteArray(path string, values []float64, shape ...int) error {
	n, dims := 1, make([]int64, len(shape))
	for i, d := range shape {
		n *= d
		dims[i] = int64(d)
	}
	if n != len(values) || len(shape) > 3 {
		return fmt.Errorf("npy: %d values for the shape %v", len(values), shape)
	}
	return durable.WriteFileAt(nil, path, func(f durable.File) error {
		b := npyHead(64, false, dims...)
		for i, v := range values {
			if b = appendFloat(b, v, 64); len(b) >= 1<<16 || i+1 == len(values) {
				if _, err := f.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
		_, err := f.Write(b)
		return err
	})
}
