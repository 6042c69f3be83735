package media

import (
	"encoding/binary"
	"io"
	"math"
)

// A wavSink writes a WAV file.
type wavSink struct {
	w     io.Writer
	f     Format
	size  uint64 // bytes of samples
	raw   []byte
	start int64 // of the samples
}

// writeWAV writes the header of a file of unknown length. A chunk "JUNK"
// reserves room for the 64-bit sizes of a file beyond 4 GiB (EBU Tech 3306).
func writeWAV(w io.Writer, f Format) (*wavSink, error) {
	s := &wavSink{w: w, f: f}
	head := s.header(false)
	s.start = int64(len(head))
	_, err := w.Write(head)
	return s, err
}

// header returns what precedes the samples.
func (s *wavSink) header(known bool) []byte {
	le := binary.LittleEndian
	f, frame := s.f, s.f.Channels*s.f.Bits/8
	riff, data, frames := uint32(unknownSize), uint32(unknownSize), uint32(unknownSize)
	long := false
	total := uint64(s.start) - 8 + s.size + s.size%2
	if known {
		if long = total >= unknownSize; !long {
			riff, data, frames = uint32(total), uint32(s.size), uint32(s.size/uint64(frame))
		}
	}
	b := append(make([]byte, 0, 128), "RIFF"...)
	if long {
		b = append(b[:0], "RF64"...)
	}
	b = append(le.AppendUint32(b, riff), "WAVE"...)
	if long {
		b = le.AppendUint32(append(b, "ds64"...), 28)
		b = le.AppendUint64(b, total)
		b = le.AppendUint64(b, s.size)
		b = le.AppendUint64(b, s.size/uint64(frame))
		b = le.AppendUint32(b, 0)
	} else {
		b = le.AppendUint32(append(b, "JUNK"...), 28)
		b = append(b, make([]byte, 28)...)
	}
	b = s.format(b)
	if f.Float {
		b = le.AppendUint32(append(b, "fact"...), 4)
		b = le.AppendUint32(b, frames)
	}
	return le.AppendUint32(append(b, "data"...), data)
}

// format appends the chunk "fmt ": the extensible form where the plain one is
// not defined.
func (s *wavSink) format(b []byte) []byte {
	le := binary.LittleEndian
	f, frame := s.f, s.f.Channels*s.f.Bits/8
	tag := uint16(tagPCM)
	if f.Float {
		tag = tagFloat
	}
	plain := !f.Float && f.Bits <= 16 && f.Channels <= 2
	b = append(b, "fmt "...)
	if plain {
		b = le.AppendUint16(le.AppendUint32(b, 16), tag)
	} else {
		b = le.AppendUint16(le.AppendUint32(b, 40), tagExtensible)
	}
	b = le.AppendUint16(b, uint16(f.Channels))
	b = le.AppendUint32(b, uint32(f.Rate))
	b = le.AppendUint32(b, uint32(min(int64(f.Rate)*int64(frame), math.MaxUint32)))
	b = le.AppendUint16(b, uint16(frame))
	b = le.AppendUint16(b, uint16(f.Bits))
	if plain {
		return b
	}
	b = le.AppendUint16(b, 22)
	b = le.AppendUint16(b, uint16(f.Bits))
	b = le.AppendUint32(b, speakers(f.Channels))
	return append(le.AppendUint16(b, tag), guidTail...)
}

// speakers returns the speaker positions of one or two channels; for more none
// are assigned.
func speakers(channels int) uint32 {
	const left, right, centre = 1, 2, 4
	switch channels {
	case 1:
		return centre
	case 2:
		return left | right
	}
	return 0
}

func (s *wavSink) write(src [][]float64) (clipped int64, err error) {
	le := binary.LittleEndian
	s.raw = s.raw[:0]
	for i := range src[0] {
		for c := range src {
			v := src[c][i]
			switch {
			case s.f.Float && s.f.Bits == 64:
				s.raw = le.AppendUint64(s.raw, math.Float64bits(v))
				continue
			case s.f.Float:
				s.raw = le.AppendUint32(s.raw, math.Float32bits(float32(v)))
				continue
			}
			n, ok := quantise(v, s.f.Bits)
			if !ok {
				clipped++
			}
			switch s.f.Bits {
			case 8:
				s.raw = append(s.raw, byte(n+128))
			case 16:
				s.raw = le.AppendUint16(s.raw, uint16(n))
			case 24:
				s.raw = append(s.raw, byte(n), byte(n>>8), byte(n>>16))
			default:
				s.raw = le.AppendUint32(s.raw, uint32(n))
			}
		}
	}
	s.size += uint64(len(s.raw))
	_, err = s.w.Write(s.raw)
	return clipped, err
}

// quantise returns the nearest integer of the given width, and whether the
// value was within range.
func quantise(v float64, bits int) (int64, bool) {
	full := float64(int64(1) << (bits - 1))
	r := math.RoundToEven(v * full)
	switch {
	case r >= full:
		return int64(full) - 1, false
	case r < -full:
		return -int64(full), false
	case r != r:
		return 0, false
	}
	return int64(r), true
}

// finish writes nothing: the samples of a stream, whose header has no length,
// extend to its end, so that a padding byte would count as one.
func (s *wavSink) finish() error { return nil }

// patch sets the lengths and pads the chunk of samples.
func (s *wavSink) patch(at io.WriterAt) error {
	if s.size%2 != 0 {
		if _, err := at.WriteAt([]byte{0}, s.start+int64(s.size)); err != nil {
			return err
		}
	}
	_, err := at.WriteAt(s.header(true), 0)
	return err
}
