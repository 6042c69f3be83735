package blob

import (
	"fmt"
)

// A Codec is how the bytes of a file are encoded.
type Codec uint8

// The codecs. None is right for most tensors: see [Choose].
const (
	None      Codec = iota // the bytes unchanged
	RLE                    // run-length encoding, of files that other programs wrote
	Zstd                   // Zstandard, likewise
	PlaneHuff              // bfloat16 weights with Huffman-coded exponents
	PlaneZstd              // other floats, by planes of bytes
)

var codecNames = [...]string{"None", "Rle", "Zstd", "PlaneHuff", "PlaneZstd"}

// String returns the codec's name as written in files.
func (c Codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("Codec(%d)", uint8(c))
}

// parseCodec reads a codec's name.
func parseCodec(s string) (Codec, bool) {
	for i, n := range codecNames {
		if s == n {
			return Codec(i), true
		}
	}
	return 0, false
}

// Codecs lists all codecs in order.
var Codecs = []Codec{None, RLE, Zstd, PlaneHuff, PlaneZstd}

// MarshalText writes the codec's name.
func (c Codec) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a codec's name.
func (c *Codec) UnmarshalText(b []byte) error {
	v, ok := parseCodec(string(b))
	if !ok {
		return fmt.Errorf("no codec %q", b)
	}
	*c = v
	return nil
}

// Encode returns data encoded; for [None] it is data itself.
func Encode(c Codec, data []byte) ([]byte, error) {
	switch c {
	case None:
		return data, nil
	case RLE:
		return encodeRLE(data), nil
	case Zstd:
		return encodeZstd(data)
	case PlaneHuff:
		return encodePlanes(data)
	case PlaneZstd:
		return encodePlaneZstd(data)
	}
	return nil, fmt.Errorf("encode: no codec %d", uint8(c))
}

// Decode returns the size bytes encoded in content; for [None] they are content
// itself. Invalid content allocates at most a constant multiple of its length.
func Decode(c Codec, content []byte, size uint64) ([]byte, error) {
	switch c {
	case None:
		if uint64(len(content)) != size {
			return nil, lengthMismatch(size, uint64(len(content)))
		}
		return content, nil
	case RLE:
		return decodeRLE(content, size)
	case Zstd:
		return decodeZstd(content, size)
	case PlaneHuff:
		return decodePlanes(content, size)
	case PlaneZstd:
		return decodePlaneZstd(content, size)
	}
	return nil, invalid("Invalid SSD blob: no codec %d", uint8(c))
}

func lengthMismatch(want, got uint64) error {
	return invalid("Invalid SSD blob: length mismatch for uncompressed data: want %d bytes, got %d", want, got)
}
