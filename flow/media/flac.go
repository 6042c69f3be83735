package media

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
)

// A flacSource decodes FLAC (RFC 9639).
type flacSource struct {
	b      bits
	f      Format
	left   int64 // frames remaining, if the file has a length
	sized  bool
	sum    [md5.Size]byte // MD5 of all samples; zero if unknown
	hash   hash.Hash
	data   [][]int64 // [channels][frames] of the last frame
	pos, n int       // of data: delivered, decoded
	raw    []byte
	err    error // that ended the stream
}

// readFLAC reads the metadata.
func readFLAC(in *input) (*Reader, error) {
	in.codec = FLAC
	var mark [4]byte
	if err := in.bytes(mark[:], "the mark \"fLaC\""); err != nil {
		return nil, err
	}
	if string(mark[:3]) == "ID3" {
		var rest [6]byte
		if err := in.bytes(rest[:], "header ID3"); err != nil {
			return nil, err
		}
		size := int64(rest[2]&127)<<21 | int64(rest[3]&127)<<14 | int64(rest[4]&127)<<7 | int64(rest[5]&127)
		if err := in.skip(size, "tag ID3"); err != nil {
			return nil, err
		}
		if err := in.bytes(mark[:], "the mark \"fLaC\""); err != nil {
			return nil, err
		}
	}
	if string(mark[:]) != "fLaC" {
		return nil, &Error{Codec: FLAC, Offset: in.at - 4, Text: fmt.Sprintf("%q, want \"fLaC\"", mark)}
	}
	s := &flacSource{hash: md5.New()}
	for first := true; ; first = false {
		var h [4]byte
		if err := in.bytes(h[:], "header of metadata"); err != nil {
			return nil, err
		}
		size, last := int64(h[1])<<16|int64(h[2])<<8|int64(h[3]), h[0]&128 != 0
		if first {
			if h[0]&127 != 0 || size < 34 {
				return nil, &Error{Codec: FLAC, Offset: in.at - 4, Text: fmt.Sprintf("metadata of kind %d and %d bytes, want the stream's (0, 34)", h[0]&127, size)}
			}
			if err := s.readStreamInfo(in); err != nil {
				return nil, err
			}
			size -= 34
		}
		if err := in.skip(size, "metadata"); err != nil {
			return nil, err
		}
		if last {
			break
		}
	}
	s.b.in = in
	return newReader(s.f, s.left, s.sized, s), nil
}

// readStreamInfo reads the block STREAMINFO (section 8.2).
func (s *flacSource) readStreamInfo(in *input) error {
	at := in.at
	var b [34]byte
	if err := in.bytes(b[:], "metadata of the stream"); err != nil {
		return err
	}
	v := binary.BigEndian.Uint64(b[10:]) // rate:20 channels-1:3 bits-1:5 frames:36
	s.f = Format{Codec: FLAC, Rate: int(v >> 44), Channels: int(v>>41&7) + 1, Bits: int(v>>36&31) + 1}
	if s.f.Rate == 0 || s.f.Bits < 4 {
		return &Error{Codec: FLAC, Offset: at + 10, Text: fmt.Sprintf("%v: want a rate, and 4 bits or more", s.f)}
	}
	s.left = int64(v & (1<<36 - 1))
	s.sized = s.left > 0
	copy(s.sum[:], b[18:])
	s.data = make([][]int64, s.f.Channels)
	return nil
}

func (s *flacSource) read(dst [][]float64) (int, error) {
	for s.pos == s.n {
		if s.err != nil {
			return 0, s.err
		}
		if s.err = s.next(); s.err != nil {
			s.pos, s.n = 0, 0
		}
	}
	k := min(len(dst[0]), s.n-s.pos)
	scale := 1 / float64(int64(1)<<(s.f.Bits-1))
	for c := range dst {
		for i, v := range s.data[c][s.pos : s.pos+k] {
			dst[c][i] = float64(v) * scale
		}
	}
	s.pos += k
	return k, nil
}

// next decodes the next frame; io.EOF after the last one.
func (s *flacSource) next() error {
	if s.sized && s.left == 0 {
		return s.end()
	}
	if _, err := s.b.in.r.Peek(1); err == io.EOF {
		if !s.sized {
			return s.end()
		}
		return s.b.in.fault(fmt.Sprintf("a frame: %d samples of each channel are missing", s.left), err)
	}
	n, err := s.frame()
	if err != nil {
		return err
	}
	if s.sized && int64(n) > s.left {
		return s.b.fault("a frame of %d samples, %d more than the file has", n, int64(n)-s.left)
	}
	s.left -= int64(n)
	s.pos, s.n = 0, n
	s.raw = interleave(s.raw[:0], s.data, n, s.f.Bits)
	s.hash.Write(s.raw)
	return nil
}

// end verifies the checksum of all samples.
func (s *flacSource) end() error {
	if sum := s.hash.Sum(nil); s.sum != [md5.Size]byte{} && string(sum) != string(s.sum[:]) {
		return s.b.fault("the samples' checksum is %x, the file has %x", sum, s.sum)
	}
	return io.EOF
}

// interleave appends samples in the form that is checksummed: little-endian, in
// whole bytes, channels interleaved (section 8.2).
func interleave(b []byte, data [][]int64, n, bits int) []byte {
	for i := range n {
		for c := range data {
			v := data[c][i]
			for k := 0; k < bits; k += 8 {
				b = append(b, byte(v>>k))
			}
		}
	}
	return b
}

// Codes of the stereo modes (section 9.1.3).
const (
	leftSide  = 8
	sideRight = 9
	midSide   = 10
)

// frame decodes one frame into s.data and returns its samples per channel.
func (s *flacSource) frame() (int, error) {
	b := &s.b
	n, kind, err := s.frameHeader()
	if err != nil {
		return 0, err
	}
	for c := range s.data {
		if cap(s.data[c]) < n {
			s.data[c] = make([]int64, n)
		}
		s.data[c] = s.data[c][:n]
		depth := s.f.Bits
		if kind == sideRight && c == 0 || (kind == leftSide || kind == midSide) && c == 1 {
			depth++ // a difference channel
		}
		if err := b.subframe(s.data[c], depth); err != nil {
			return 0, err
		}
	}
	b.align()
	sum := b.crc16
	if got := uint16(b.take(16)); b.err == nil && got != sum {
		return 0, b.fault("a frame's checksum is %#04x, want %#04x", got, sum)
	}
	if b.err != nil {
		return 0, b.err
	}
	restore(s.data, kind)
	low, high := -(int64(1) << (s.f.Bits - 1)), int64(1)<<(s.f.Bits-1)-1
	for c := range s.data {
		for _, v := range s.data[c] {
			if v < low || v > high {
				return 0, b.fault("a sample of %d, which has more than %d bits", v, s.f.Bits)
			}
		}
	}
	return n, nil
}

// restore decodes the stereo mode to left and right (section 4.2).
func restore(data [][]int64, kind int) {
	switch kind {
	case leftSide:
		for i, l := range data[0] {
			data[1][i] = l - data[1][i]
		}
	case sideRight:
		for i, r := range data[1] {
			data[0][i] += r
		}
	case midSide:
		for i, m := range data[0] {
			side := data[1][i]
			m = m<<1 | side&1
			data[0][i], data[1][i] = (m+side)>>1, (m-side)>>1
		}
	}
}

// frameHeader reads a frame's header (section 9.1): the number of samples per
// channel, and the stereo mode.
func (s *flacSource) frameHeader() (n, kind int, err error) {
	b := &s.b
	b.crc8, b.crc16 = 0, 0
	if sync := b.take(15); b.err == nil && sync != 0x7FFC {
		return 0, 0, b.fault("%#x, want the start of a frame", sync)
	}
	b.take(1) // blocking strategy, which nothing here depends on
	size, rate := b.take(4), b.take(4)
	kind = int(b.take(4))
	depth := b.take(3)
	reserved := b.take(1)
	b.number()
	switch {
	case size == 1:
		n = 192
	case size >= 2 && size <= 5:
		n = 144 << size
	case size == 6:
		n = int(b.take(8)) + 1
	case size == 7:
		n = int(b.take(16)) + 1
	case size >= 8:
		n = 1 << size
	}
	switch rate {
	case 12:
		b.take(8)
	case 13, 14:
		b.take(16)
	}
	sum := b.crc8
	if got := uint8(b.take(8)); b.err == nil && got != sum {
		return 0, 0, b.fault("a frame header's checksum is %#02x, want %#02x", got, sum)
	}
	channels := kind + 1
	if kind >= leftSide {
		channels = 2
	}
	depths := [8]int{s.f.Bits, 8, 12, -1, 16, 20, 24, 32}
	switch {
	case b.err != nil:
		return 0, 0, b.err
	case n == 0 || n > 65535 || rate == 15 || kind > midSide || reserved != 0:
		return 0, 0, b.fault("a frame header with reserved values")
	case channels != s.f.Channels || depths[depth] != s.f.Bits:
		return 0, 0, b.fault("a frame of %d channels and %d bits in a stream of %d and %d", channels, depths[depth], s.f.Channels, s.f.Bits)
	}
	return n, kind, nil
}
