package sxlm

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The few shapes of protobuf that the file uses. The encoder writes fields in
// ascending order and leaves out zeros and empty bytes; the decoder accepts
// nothing else, so that a message has one encoding.

// A wire is how a field is encoded.
type wire uint8

const (
	wireVarint wire = 0 // unsigned, or a two's complement
	wireBytes  wire = 2
	wireFixed  wire = 5 // four bytes, a float
)

// A wireError is a fault of a message.
type wireError struct {
	at   int // byte of the message
	what string
}

func (e *wireError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.at) }

// varint decodes a minimal varint; n is 0 if there is none.
func varint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return v, n
}

// A field is one field of a message.
type field struct {
	number int
	at     int    // of its value in the message
	value  uint64 // of a varint or fixed field
	data   []byte
}

// message calls each for the fields of a message. wires has the encoding of the
// fields from number 1; field repeated may be there often, others once.
func message(b []byte, wires []wire, repeated int, each func(f field) error) error {
	last := 0
	for at := 0; at < len(b); {
		tag, n := varint(b[at:])
		number := int(tag >> 3)
		switch {
		case n == 0:
			return &wireError{at, "a varint is not minimal or not complete"}
		case tag>>3 == 0 || tag>>3 > uint64(len(wires)) || wire(tag&7) != wires[number-1]:
			return &wireError{at, fmt.Sprintf("unknown field %d of wire type %d", tag>>3, tag&7)}
		case number < last || number == last && number != repeated:
			return &wireError{at, fmt.Sprintf("field %d after field %d", number, last)}
		}
		last, at = number, at+n
		f := field{number: number, at: at}
		switch wires[number-1] {
		case wireVarint:
			if f.value, n = varint(b[at:]); n == 0 {
				return &wireError{at, "a varint is not minimal or not complete"}
			}
		case wireFixed:
			if n = 4; len(b)-at < n {
				return &wireError{at, "a float is not complete"}
			}
			f.value = uint64(binary.LittleEndian.Uint32(b[at:]))
		case wireBytes:
			size, k := varint(b[at:])
			if k == 0 || size > uint64(len(b)-at-k) {
				return &wireError{at, "the length of a field is not minimal or too large"}
			}
			f.at = at + k
			f.data, n = b[f.at:f.at+int(size)], k+int(size)
		}
		if f.value == 0 && len(f.data) == 0 {
			return &wireError{at, fmt.Sprintf("field %d has its default value, which is left out", number)}
		}
		if err := each(f); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// narrowTo reports a value that does not fit into 32 bits.
func (f *field) narrowTo(p *uint32) error {
	if f.value > math.MaxUint32 {
		return &wireError{f.at, fmt.Sprintf("field %d is %d, more than 32 bits", f.number, f.value)}
	}
	*p = uint32(f.value)
	return nil
}

func appendVarint(b []byte, number int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(number)<<3|uint64(wireVarint)), v)
}

func appendBytes[T []byte | string](b []byte, number int, v T) []byte {
	if len(v) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(number)<<3|uint64(wireBytes))
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

func appendFloat(b []byte, number int, v float32) []byte {
	bits := math.Float32bits(v)
	if bits == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(number)<<3|uint64(wireFixed))
	return binary.LittleEndian.AppendUint32(b, bits)
}
