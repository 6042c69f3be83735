package token

// Reading the wire format of protocol buffers: numbered fields, each a number or
// a run of bytes.

import (
	"encoding/binary"
	"fmt"
)

// Wire types.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// A protoReader reads the fields of a message in turn.
type protoReader struct {
	data []byte
	pos  int
	base int64 // position of data in the file
	path string
	err  error

	// The field that next read.
	field int
	wire  int
	value uint64 // of numbers
	bytes []byte
	start int64 // position of bytes in the file
}

func (r *protoReader) isBytes() bool { return r.wire == wireBytes }

func (r *protoReader) wrong(want string, got any) error {
	return &FormatError{Path: r.path, Offset: r.base + int64(r.pos), Want: want, Got: clip(got)}
}

// sub reads the message in the current field.
func (r *protoReader) sub(path string) *protoReader {
	return &protoReader{data: r.bytes, base: r.start, path: path}
}

// next reads a field. It returns false at the end and after an error, which err
// holds.
func (r *protoReader) next() bool {
	if r.err != nil || r.pos == len(r.data) {
		return false
	}
	key, ok := r.varint()
	if !ok {
		return false
	}
	if key>>3 == 0 || key>>3 >= 1<<29 {
		r.err = r.wrong("a field's number", key>>3)
		return false
	}
	r.field, r.wire = int(key>>3), int(key&7)
	switch r.wire {
	case wireVarint:
		r.value, ok = r.varint()
		return ok
	case wire32, wire64:
		n := 4
		if r.wire == wire64 {
			n = 8
		}
		b, ok := r.take(uint64(n))
		if ok {
			var full [8]byte
			copy(full[:], b)
			r.value = binary.LittleEndian.Uint64(full[:])
		}
		return ok
	case wireBytes:
		n, ok := r.varint()
		if !ok {
			return false
		}
		at := r.base + int64(r.pos)
		if r.bytes, ok = r.take(n); ok {
			r.start = at
		}
		return ok
	}
	r.err = r.wrong("a wire type of 0, 1, 2 or 5", r.wire)
	return false
}

func (r *protoReader) varint() (uint64, bool) {
	v, n := binary.Uvarint(r.data[r.pos:])
	if n <= 0 {
		r.err = r.wrong("a number", "the end, or more than 64 bits")
		return 0, false
	}
	r.pos += n
	return v, true
}

func (r *protoReader) take(n uint64) ([]byte, bool) {
	if n > uint64(len(r.data)-r.pos) {
		r.err = r.wrong(fmt.Sprintf("%d bytes", n), fmt.Sprintf("%d left", len(r.data)-r.pos))
		return nil, false
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b, true
}
