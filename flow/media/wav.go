package media

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Format tags of the "fmt " chunk.
const (
	tagPCM        = 1
	tagFloat      = 3
	tagExtensible = 0xFFFE
)

// unknownSize marks a 32-bit size that the writer did not know, or that is in
// the chunk "ds64".
const unknownSize = 1<<32 - 1

// openSize is the RIFF size from which on it is unreliable: programs that write
// to pipes use the largest number that other programs accept.
const openSize = 0x7FFFF000

// guidTail follows the tag in the identifier of an extensible format.
const guidTail = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// A wavFormat is the chunk "fmt ".
type wavFormat struct {
	float    bool
	rate     int
	channels int
	bits     int // as stated in the file; the rest of the container is zero
	bytes    int // of a container
}

// A wavHeader is what precedes the samples.
type wavHeader struct {
	fmt    wavFormat
	seen   bool // fmt
	riff   uint32
	ds64   map[string]uint64 // sizes beyond 32 bits by chunk
	size   uint64            // of data, in bytes
	open   bool              // size is unknown
	unsure bool              // size is unreliable
}

// readWAV reads the chunks up to the samples.
func readWAV(in *input) (*Reader, error) {
	var h wavHeader
	var head [12]byte
	if err := in.bytes(head[:], "header RIFF"); err != nil {
		return nil, err
	}
	h.riff = binary.LittleEndian.Uint32(head[4:])
	if string(head[8:]) != "WAVE" {
		return nil, &Error{Offset: 8, Text: fmt.Sprintf("a RIFF of %q, want \"WAVE\"", head[8:])}
	}
	if err := h.chunks(in, string(head[:4]) != "RIFF"); err != nil {
		return nil, err
	}
	f := h.fmt
	frame := uint64(f.channels * f.bytes)
	w := &wavSource{in: in, f: f, left: int64(h.size / frame), sized: !h.open, unsure: h.unsure}
	w.raw = make([]byte, len(planar(f.channels)[0])*int(frame))
	format := Format{Codec: WAV, Rate: f.rate, Channels: f.channels, Bits: f.bits, Float: f.float}
	return newReader(format, w.left, w.sized && !w.unsure, w), nil
}

// chunks reads up to the start of the chunk "data".
func (h *wavHeader) chunks(in *input, wide bool) error {
	for {
		at := in.at
		var head [8]byte
		if err := in.bytes(head[:], "header of a chunk, before the chunk \"data\""); err != nil {
			return err
		}
		id, size := string(head[:4]), binary.LittleEndian.Uint32(head[4:])
		long := uint64(size)
		if v, ok := h.ds64[id]; ok && size == unknownSize {
			long = v
		}
		switch {
		case id == "ds64" && wide:
			if err := h.readDS64(in, int64(size)); err != nil {
				return err
			}
			continue
		case id == "fmt ":
			if err := h.readFormat(in, at, int64(size)); err != nil {
				return err
			}
			continue
		case id == "data":
			if !h.seen {
				return &Error{Offset: at, Text: "the chunk \"data\" comes before \"fmt \""}
			}
			h.size = long
			h.open = long == unknownSize && !wide || long == 0 && (h.riff == 0 || h.riff == unknownSize) && !wide
			h.unsure = !wide && long >= openSize
			if h.open {
				h.size = math.MaxInt64
			}
			if h.size > math.MaxInt64 {
				return &Error{Offset: at, Text: fmt.Sprintf("a chunk \"data\" of %d bytes", h.size)}
			}
			return nil
		}
		if long >= math.MaxInt64 {
			return &Error{Offset: at, Text: fmt.Sprintf("a chunk %q of %d bytes", id, long)}
		}
		if err := in.skip(int64(long+long%2), fmt.Sprintf("chunk %q of %d bytes", id, long)); err != nil {
			return err
		}
	}
}

// readDS64 reads sizes of 64 bits (EBU Tech 3306, section 3).
func (h *wavHeader) readDS64(in *input, size int64) error {
	if size < 28 {
		return &Error{Offset: in.at, Text: fmt.Sprintf("a chunk \"ds64\" of %d bytes, want 28 or more", size)}
	}
	var b [28]byte
	if err := in.bytes(b[:], "chunk \"ds64\""); err != nil {
		return err
	}
	h.ds64 = map[string]uint64{"data": binary.LittleEndian.Uint64(b[8:])}
	rest := size - 28
	// A file has few chunks that long; other entries of the table are skipped.
	const most = 64
	for range min(int64(binary.LittleEndian.Uint32(b[24:])), rest/12, most) {
		var e [12]byte
		if err := in.bytes(e[:], "table of the chunk \"ds64\""); err != nil {
			return err
		}
		rest -= 12
		h.ds64[string(e[:4])] = binary.LittleEndian.Uint64(e[4:])
	}
	return in.skip(rest+size%2, "chunk \"ds64\"")
}

// readFormat reads the chunk "fmt ", which starts at an offset.
func (h *wavHeader) readFormat(in *input, at, size int64) error {
	fault := func(format string, args ...any) error { return &Error{Offset: at, Text: fmt.Sprintf(format, args...)} }
	if size < 16 {
		return fault("a chunk \"fmt \" of %d bytes, want 16 or more", size)
	}
	var b [40]byte
	n := min(size, 40)
	if err := in.bytes(b[:n], "chunk \"fmt \""); err != nil {
		return err
	}
	u16 := func(i int) int { return int(binary.LittleEndian.Uint16(b[i:])) }
	tag, align := u16(0), u16(12)
	f := wavFormat{rate: int(binary.LittleEndian.Uint32(b[4:])), channels: u16(2), bits: u16(14)}
	if tag == tagExtensible {
		if n < 40 || string(b[26:40]) != guidTail {
			return fault("an extensible format of %d bytes whose identifier is no format tag", size)
		}
		if v := u16(18); v > 0 && v <= f.bits {
			f.bits = v
		}
		tag = u16(24)
	}
	f.float = tag == tagFloat
	switch {
	case tag != tagPCM && tag != tagFloat:
		return fault("format %#x, want integers (1) or floating point (3): convert the file", tag)
	case f.channels == 0 || f.rate < 1 || f.rate > math.MaxInt32:
		return fault("%d channels at %d Hz", f.channels, f.rate)
	case align%f.channels != 0 || align == 0:
		return fault("frames of %d bytes for %d channels", align, f.channels)
	}
	f.bytes = align / f.channels
	if ok := f.bits >= 1 && f.bits <= 8*f.bytes && f.bytes <= 4; f.float {
		if f.bytes != 4 && f.bytes != 8 || f.bits != 8*f.bytes {
			return fault("floating point of %d bits in %d bytes, want 32 or 64 bits", f.bits, f.bytes)
		}
	} else if !ok {
		return fault("integers of %d bits in %d bytes, want 1 to 32 bits", f.bits, f.bytes)
	}
	h.fmt, h.seen = f, true
	return in.skip(size-n+size%2, "chunk \"fmt \"")
}

// A wavSource reads the samples of a WAV file.
type wavSource struct {
	in     *input
	f      wavFormat
	left   int64 // frames
	sized  bool
	unsure bool
	raw    []byte
}

func (w *wavSource) read(dst [][]float64) (int, error) {
	frame := w.f.channels * w.f.bytes
	want := int(min(int64(len(dst[0])), w.left))
	if want == 0 {
		return 0, io.EOF
	}
	n, err := w.in.full(w.raw[:want*frame])
	got := n / frame
	w.left -= int64(got)
	if got > 0 { // the error recurs on the next call
		for c := range dst {
			w.decode(dst[c][:got], w.raw[c*w.f.bytes:], frame)
		}
		return got, nil
	}
	if err == io.EOF && (!w.sized || w.unsure) {
		return 0, io.EOF
	}
	return 0, w.in.fault(fmt.Sprintf("samples, of which %d frames are missing", w.left), err)
}

// decode converts one channel; samples are stride bytes apart. Unused bits of a
// container are at its low end and zero.
func (w *wavSource) decode(dst []float64, raw []byte, stride int) {
	le := binary.LittleEndian
	for i := range dst {
		b := raw[i*stride:]
		switch {
		case w.f.float && w.f.bytes == 8:
			dst[i] = math.Float64frombits(le.Uint64(b))
		case w.f.float:
			dst[i] = float64(math.Float32frombits(le.Uint32(b)))
		case w.f.bytes == 1:
			dst[i] = float64(int(b[0])-128) / 128
		case w.f.bytes == 2:
			dst[i] = float64(int16(le.Uint16(b))) / (1 << 15)
		case w.f.bytes == 3:
			dst[i] = float64(int32(b[0])<<8|int32(b[1])<<16|int32(b[2])<<24) / (1 << 31)
		default:
			dst[i] = float64(int32(le.Uint32(b))) / (1 << 31)
		}
	}
}
