package file

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
)

const (
	// maxDepth bounds nested arrays. Published files have none.
	maxDepth = 16
	// maxName bounds keys, as the specification does, and tensor names.
	maxName = 1<<16 - 1
	// slack is the memory budget of a file beyond twice its size.
	slack = 1 << 20
)

// A parser reads the little-endian fields of a GGUF header. It copies nothing
// and never reads past its input.
type parser struct {
	file string
	b    []byte
	off  int
	// budget is the number of bytes that the parse may still allocate. It starts at
	// twice the file size, so that no header can cause allocations out of
	// proportion to the file.
	budget int
}

func (p *parser) left() int { return len(p.b) - p.off }

func (p *parser) errorAt(off int, field, want, got, fix string) *FormatError {
	return &FormatError{File: p.file, Offset: int64(off), Field: field, Want: want, Got: got, Fix: fix}
}

// take returns the next n bytes.
func (p *parser) take(n int, field string) ([]byte, error) {
	if n > p.left() {
		return nil, p.errorAt(p.off, field, strconv.Itoa(n)+" more bytes", fmt.Sprintf("the end of the file after %d", p.left()), fixFetch)
	}
	b := p.b[p.off : p.off+n : p.off+n]
	p.off += n
	return b, nil
}

func (p *parser) u32(field string) (uint32, error) {
	b, err := p.take(4, field)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (p *parser) u64(field string) (uint64, error) {
	b, err := p.take(8, field)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// count reads a number of elements and checks that this many, of at least size
// bytes each, fit in the rest of the file.
func (p *parser) count(field string, size int) (int, error) {
	at := p.off
	n, err := p.u64(field)
	if err != nil {
		return 0, err
	}
	if n > uint64(p.left()/size) {
		return 0, p.errorAt(at, field, fmt.Sprintf("at most %d, as the file has %d bytes left", p.left()/size, p.left()), strconv.FormatUint(n, 10), fixFetch)
	}
	return int(n), nil
}

// charge takes n elements of size bytes from the memory budget.
func (p *parser) charge(n, size int, field string) error {
	if n > p.budget/size {
		return p.errorAt(p.off, field, "a header that takes less memory than twice the file", strconv.Itoa(n)+" entries", fixDamage)
	}
	p.budget -= n * size
	return nil
}

// bytes reads a length and that many bytes.
func (p *parser) bytes(field string) ([]byte, error) {
	n, err := p.count(field, 1)
	if err != nil {
		return nil, err
	}
	return p.take(n, field)
}

// name reads a key or a tensor name and copies it.
func (p *parser) name(field string) (string, error) {
	at := p.off
	b, err := p.bytes(field)
	if err != nil {
		return "", err
	}
	if len(b) == 0 || len(b) > maxName {
		return "", p.errorAt(at, field, fmt.Sprintf("1 to %d bytes", maxName), strconv.Itoa(len(b)), fixDamage)
	}
	if err := p.charge(1, len(b)+16, field); err != nil { // 16: the allocator rounds up
		return "", err
	}
	return string(b), nil
}

// valueType reads the number of a type.
func (p *parser) valueType() (ValueType, error) {
	at := p.off
	n, err := p.u32("type of the value")
	if err != nil {
		return 0, err
	}
	if t := ValueType(n); t.known() {
		return t, nil
	}
	return 0, p.errorAt(at, "type of the value", "0 to 12", strconv.FormatUint(uint64(n), 10), fixDamage)
}

// value reads and checks one value. Strings and arrays alias the file.
func (p *parser) value(t ValueType, depth int) (Value, error) {
	switch t {
	case String:
		b, err := p.bytes("string")
		return Value{kind: String, raw: b}, err
	case Array:
		return p.array(depth + 1)
	}
	at := p.off
	b, err := p.take(valueTypes[t].size, t.String())
	if err != nil {
		return Value{}, err
	}
	if t == Bool && b[0] > 1 {
		return Value{}, p.errorAt(at, "bool", "0 or 1", strconv.Itoa(int(b[0])), fixDamage)
	}
	return scalar(t, b), nil
}

// array reads and checks an array; its elements are not decoded.
func (p *parser) array(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, p.errorAt(p.off, "array", fmt.Sprintf("arrays at most %d deep", maxDepth), "a deeper one", fixDamage)
	}
	elem, err := p.valueType()
	if err != nil {
		return Value{}, err
	}
	n, err := p.count("length of the array", valueTypes[elem].size)
	if err != nil {
		return Value{}, err
	}
	v, start := Value{kind: Array, elem: elem, n: n}, p.off
	switch elem {
	case String: // vocabularies: the only arrays large enough to matter
		for range n {
			if s, ok := nextString(p.b[p.off:]); ok {
				p.off += valueTypes[String].size + len(s)
			} else if _, err := p.bytes("string"); err != nil {
				return Value{}, err
			}
		}
	case Array, Bool:
		for range n {
			if _, err := p.value(elem, depth); err != nil {
				return Value{}, err
			}
		}
	default: // every encoding of a number is valid
		if _, err := p.take(n*valueTypes[elem].size, "array"); err != nil {
			return Value{}, err
		}
	}
	v.raw = p.b[start:p.off:p.off]
	return v, nil
}

// nextString returns the string at the start of b; false if it is incomplete.
func nextString(b []byte) ([]byte, bool) {
	const size = 8 // of the length
	if len(b) < size {
		return nil, false
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(b)-size) {
		return nil, false
	}
	return b[size : size+int(n)], true
}

// own returns the value with a copied string, so that it outlives the mapping.
func (p *parser) own(v Value) (Value, error) {
	if v.kind != String {
		return v, nil
	}
	if err := p.charge(1, len(v.raw)+16, "string"); err != nil {
		return Value{}, err
	}
	v.raw = slices.Clone(v.raw)
	return v, nil
}
