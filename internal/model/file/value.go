package file

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
)

// A ValueType is the encoding of a metadata value; the numbers are GGUF's (enum
// gguf_metadata_value_type of the specification).
type ValueType uint32

// The value types of GGUF.
const (
	Uint8   ValueType = 0
	Int8    ValueType = 1
	Uint16  ValueType = 2
	Int16   ValueType = 3
	Uint32  ValueType = 4
	Int32   ValueType = 5
	Float32 ValueType = 6
	Bool    ValueType = 7
	String  ValueType = 8
	Array   ValueType = 9
	Uint64  ValueType = 10
	Int64   ValueType = 11
	Float64 ValueType = 12
)

// valueTypes gives each type's name and minimum size: a string has at least its
// length, an array its type and length.
var valueTypes = [...]struct {
	name string
	size int
}{
	Uint8: {"u8", 1}, Int8: {"i8", 1}, Uint16: {"u16", 2}, Int16: {"i16", 2},
	Uint32: {"u32", 4}, Int32: {"i32", 4}, Float32: {"f32", 4}, Bool: {"bool", 1},
	String: {"string", 8}, Array: {"array", 12},
	Uint64: {"u64", 8}, Int64: {"i64", 8}, Float64: {"f64", 8},
}

func (t ValueType) known() bool { return int(t) < len(valueTypes) }

// integer reports whether the type is an integer type.
func (t ValueType) integer() bool {
	return t <= Int32 || t == Uint64 || t == Int64
}

// String returns a short name: "u32", "string", "array".
func (t ValueType) String() string {
	if t.known() {
		return valueTypes[t].name
	}
	return fmt.Sprintf("ValueType(%d)", uint32(t))
}

// A Value is one metadata value. The zero Value is a u8 of 0. The elements of an
// array are decoded on access.
type Value struct {
	kind ValueType
	elem ValueType // arrays: type of the elements
	n    int       // arrays: number of elements
	bits uint64    // numbers and bools, sign-extended; floats as float64 bits
	raw  []byte    // strings: the text, copied; arrays: encoded elements, which may alias a mapped file
}

// Type returns the type of the value.
func (v Value) Type() ValueType { return v.kind }

// Elem returns the type of an array's elements. It is meaningless for other
// values.
func (v Value) Elem() ValueType { return v.elem }

// Len returns the number of elements of an array, the bytes of a string, and 1
// for other values.
func (v Value) Len() int {
	switch v.kind {
	case Array:
		return v.n
	case String:
		return len(v.raw)
	}
	return 1
}

// Basic lists the Go types that correspond to a GGUF value type.
type Basic interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | float32 | bool | string | uint64 | int64 | float64
}

// ValueOf returns x as a value of the type that corresponds to T.
func ValueOf[T Basic](x T) Value {
	switch x := any(x).(type) {
	case uint8:
		return Value{kind: Uint8, bits: uint64(x)}
	case int8:
		return Value{kind: Int8, bits: uint64(x)}
	case uint16:
		return Value{kind: Uint16, bits: uint64(x)}
	case int16:
		return Value{kind: Int16, bits: uint64(x)}
	case uint32:
		return Value{kind: Uint32, bits: uint64(x)}
	case int32:
		return Value{kind: Int32, bits: uint64(x)}
	case float32:
		return Value{kind: Float32, bits: math.Float64bits(float64(x))}
	case bool:
		v := Value{kind: Bool}
		if x {
			v.bits = 1
		}
		return v
	case string:
		return Value{kind: String, raw: []byte(x)}
	case uint64:
		return Value{kind: Uint64, bits: x}
	case int64:
		return Value{kind: Int64, bits: uint64(x)}
	case float64:
		return Value{kind: Float64, bits: math.Float64bits(x)}
	}
	return Value{} // unreachable: Basic lists the cases
}

// ArrayOf returns an array of values.
func ArrayOf[T Basic](xs []T) Value {
	v := Value{kind: Array, elem: ValueOf(*new(T)).kind, n: len(xs)}
	for _, x := range xs {
		v.raw = ValueOf(x).append(v.raw)
	}
	return v
}

// nestedOf returns an array of arrays. It fails if an element is not an array.
func nestedOf(xs []Value) (Value, error) {
	v := Value{kind: Array, elem: Array, n: len(xs)}
	for i, x := range xs {
		if x.kind != Array {
			return Value{}, fmt.Errorf("element %d of a nested array: want an array, got %s", i, x.kind)
		}
		v.raw = x.append(v.raw)
	}
	return v, nil
}

// append appends the encoded value, without its type number.
func (v Value) append(b []byte) []byte {
	le := binary.LittleEndian
	switch v.kind {
	case String:
		return append(le.AppendUint64(b, uint64(len(v.raw))), v.raw...)
	case Array:
		b = le.AppendUint32(b, uint32(v.elem))
		return append(le.AppendUint64(b, uint64(v.n)), v.raw...)
	case Float32:
		return le.AppendUint32(b, math.Float32bits(float32(math.Float64frombits(v.bits))))
	}
	switch valueTypes[v.kind].size {
	case 1:
		return append(b, byte(v.bits))
	case 2:
		return le.AppendUint16(b, uint16(v.bits))
	case 4:
		return le.AppendUint32(b, uint32(v.bits))
	}
	return le.AppendUint64(b, v.bits)
}

// scalar decodes a number or bool of the given type at the start of b, which
// must be long enough.
func scalar(t ValueType, b []byte) Value {
	le := binary.LittleEndian
	v := Value{kind: t}
	switch t {
	case Uint8, Bool:
		v.bits = uint64(b[0])
	case Int8:
		v.bits = uint64(int8(b[0]))
	case Uint16:
		v.bits = uint64(le.Uint16(b))
	case Int16:
		v.bits = uint64(int16(le.Uint16(b)))
	case Uint32:
		v.bits = uint64(le.Uint32(b))
	case Int32:
		v.bits = uint64(int32(le.Uint32(b)))
	case Float32:
		v.bits = math.Float64bits(float64(math.Float32frombits(le.Uint32(b))))
	default:
		v.bits = le.Uint64(b)
	}
	return v
}

// All yields the elements of an array in order, and nothing for other values.
// The encoding was checked when the file was read.
func (v Value) All() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.kind != Array {
			return
		}
		p := parser{b: v.raw}
		for i := range v.n {
			e, err := p.value(v.elem, 0)
			if err != nil || !yield(i, e) {
				return
			}
		}
	}
}

// integer returns an integer as sign and bits: neg reports that bits are those
// of a negative int64.
func (v Value) integer() (bits uint64, neg, ok bool) {
	if !v.kind.integer() {
		return 0, false, false
	}
	signed := v.kind == Int8 || v.kind == Int16 || v.kind == Int32 || v.kind == Int64
	return v.bits, signed && int64(v.bits) < 0, true
}

// Uint returns the value as a nonnegative integer.
func (v Value) Uint() (uint64, bool) {
	bits, neg, ok := v.integer()
	return bits, ok && !neg
}

// Int returns the value as an integer that fits an int64.
func (v Value) Int() (int64, bool) {
	bits, neg, ok := v.integer()
	return int64(bits), ok && (neg || bits <= math.MaxInt64)
}

// Float returns the value of any numeric type.
func (v Value) Float() (float64, bool) {
	if v.kind == Float32 || v.kind == Float64 {
		return math.Float64frombits(v.bits), true
	}
	bits, neg, ok := v.integer()
	if neg {
		return float64(int64(bits)), ok
	}
	return float64(bits), ok
}

// Bool returns a boolean; numbers are not converted.
func (v Value) Bool() (value, ok bool) { return v.bits != 0, v.kind == Bool }

// Text returns a string.
func (v Value) Text() (string, bool) {
	if v.kind != String {
		return "", false
	}
	return string(v.raw), true
}

// String formats the value: numbers as Go does, strings quoted, arrays as type,
// length and first elements.
func (v Value) String() string {
	switch v.kind {
	case String:
		return strconv.Quote(string(v.raw))
	case Bool:
		return strconv.FormatBool(v.bits != 0)
	case Float32:
		return strconv.FormatFloat(math.Float64frombits(v.bits), 'g', -1, 32)
	case Float64:
		return strconv.FormatFloat(math.Float64frombits(v.bits), 'g', -1, 64)
	case Array:
		const most = 8
		var b strings.Builder
		fmt.Fprintf(&b, "%s[%d]{", v.elem, v.n)
		for i, e := range v.All() {
			if i > 0 {
				b.WriteString(", ")
			}
			if i == most {
				b.WriteString("…")
				break
			}
			b.WriteString(e.String())
		}
		return b.String() + "}"
	}
	if bits, neg, _ := v.integer(); !neg {
		return strconv.FormatUint(bits, 10)
	}
	return strconv.FormatInt(int64(v.bits), 10)
}
