package file

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unsafe"
)

// Metadata is the ordered list of a GGUF file's keys and values. The zero
// Metadata is empty and ready for [Metadata.Set]; copies share their contents.
//
// The typed getters return the value, whether the key exists, and an error
// naming the key if its value has another type. The returned values are copies
// and remain valid when the file is closed.
type Metadata struct{ *table }

type table struct {
	file    string // for errors
	entries []entry
	order   []int32 // positions in entries, sorted by key
	closed  bool    // the arrays' memory is unmapped
}

type entry struct {
	key   string
	value Value
}

// Len returns the number of keys.
func (m Metadata) Len() int {
	if m.table == nil {
		return 0
	}
	return len(m.entries)
}

// All yields keys and values in the order of the file.
func (m Metadata) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if m.table == nil {
			return
		}
		for _, e := range m.entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// Get returns the value of a key. An array's elements must not be used after
// the file is closed.
func (m Metadata) Get(key string) (Value, bool) {
	if i, ok := m.find(key); ok {
		return m.entries[m.order[i]].value, true
	}
	return Value{}, false
}

// find returns the index of the key in order, and whether it exists.
func (m Metadata) find(key string) (int, bool) {
	if m.table == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(m.order, key, func(i int32, key string) int {
		return strings.Compare(m.entries[i].key, key)
	})
}

// Set replaces the value of a key, or appends the key.
func (m *Metadata) Set(key string, v Value) {
	if m.table == nil {
		m.table = &table{}
	}
	i, ok := m.find(key)
	if ok {
		m.entries[m.order[i]].value = v
		return
	}
	m.order = slices.Insert(m.order, i, int32(len(m.entries)))
	m.entries = append(m.entries, entry{key, v})
}

// index sorts the keys and returns the position of the second of two equal ones,
// if any.
func (t *table) index() (dup int, found bool) {
	t.order = make([]int32, len(t.entries))
	for i := range t.order {
		t.order[i] = int32(i)
	}
	slices.SortFunc(t.order, func(i, j int32) int {
		return cmp.Or(strings.Compare(t.entries[i].key, t.entries[j].key), cmp.Compare(i, j))
	})
	for k := 1; k < len(t.order); k++ {
		if i := t.order[k]; t.entries[i].key == t.entries[t.order[k-1]].key {
			return int(i), true
		}
	}
	return 0, false
}

// drop discards the arrays before their memory is unmapped.
func (m Metadata) drop() {
	if m.table == nil {
		return
	}
	m.closed = true
	for i := range m.entries {
		if v := &m.entries[i].value; v.kind == Array {
			v.raw, v.n = nil, 0
		}
	}
}

// mismatch returns the error of a getter.
func (m Metadata) mismatch(key, want string, v Value) error {
	got := v.kind.String()
	switch {
	case v.kind == Array && m.closed:
		got = "an array of a closed file"
	case v.kind == Array:
		got = fmt.Sprintf("array of %d %s", v.n, v.elem)
	case v.kind != String:
		got += " " + v.String()
	}
	return &FormatError{File: m.file, Field: fmt.Sprintf("metadata %q", clip(key)), Want: want, Got: got, Fix: fixDamage}
}

// one is the getter of single values.
func one[T any](m Metadata, key, want string, read func(Value) (T, bool)) (x T, ok bool, err error) {
	v, ok := m.Get(key)
	if !ok {
		return x, false, nil
	}
	if x, ok = read(v); !ok {
		return *new(T), false, m.mismatch(key, want, v)
	}
	return x, true, nil
}

// many is the getter of arrays. Elements may be wider here than in the file, so
// its limit keeps a small file from causing a large allocation.
func many[T any](m Metadata, key, want string, read func(Value) (T, bool)) (xs []T, ok bool, err error) {
	v, ok := m.Get(key)
	if !ok {
		return nil, false, nil
	}
	size := int(unsafe.Sizeof(*new(T)))
	if v.kind != Array || m.closed || v.n > (2*len(v.raw)+slack)/size {
		return nil, false, m.mismatch(key, want, v)
	}
	xs = make([]T, 0, v.n)
	for i, e := range v.All() {
		x, ok := read(e)
		if !ok {
			return nil, false, m.mismatch(fmt.Sprintf("%s[%d]", key, i), "an element of "+want, e)
		}
		xs = append(xs, x)
	}
	return xs, true, nil
}

// Uint returns a nonnegative integer, stored as any integer type.
func (m Metadata) Uint(key string) (uint64, bool, error) {
	return one(m, key, "a whole number ≥ 0", Value.Uint)
}

// Int returns an integer, stored as any integer type.
func (m Metadata) Int(key string) (int64, bool, error) {
	return one(m, key, "a whole number", Value.Int)
}

// Float returns a number, stored as any numeric type.
func (m Metadata) Float(key string) (float64, bool, error) {
	return one(m, key, "a number", Value.Float)
}

// Bool returns a boolean.
func (m Metadata) Bool(key string) (value, ok bool, err error) {
	return one(m, key, "a bool", Value.Bool)
}

// String returns a string.
func (m Metadata) String(key string) (string, bool, error) {
	return one(m, key, "a string", Value.Text)
}

// Uints returns an array of nonnegative integers.
func (m Metadata) Uints(key string) ([]uint64, bool, error) {
	return many(m, key, "an array of whole numbers ≥ 0", Value.Uint)
}

// Ints returns an array of integers of any type. Some keys hold either one
// number or an array with one per layer: ask [Metadata.Get] for the type.
func (m Metadata) Ints(key string) ([]int64, bool, error) {
	return many(m, key, "an array of whole numbers", Value.Int)
}

// Floats returns an array of numbers of any type.
func (m Metadata) Floats(key string) ([]float64, bool, error) {
	return many(m, key, "an array of numbers", Value.Float)
}

// Bools returns an array of booleans.
func (m Metadata) Bools(key string) ([]bool, bool, error) {
	return many(m, key, "an array of bools", Value.Bool)
}

// Bytes returns a copy of an array of u8 or i8, such as a precompiled
// normalizer map.
func (m Metadata) Bytes(key string) ([]byte, bool, error) {
	v, ok := m.Get(key)
	if !ok {
		return nil, false, nil
	}
	if v.kind != Array || m.closed || v.elem != Uint8 && v.elem != Int8 {
		return nil, false, m.mismatch(key, "an array of bytes", v)
	}
	return slices.Clone(v.raw), true, nil
}

// Strings returns an array of strings, such as a vocabulary. The strings share
// one allocation, because vocabularies have hundreds of thousands.
func (m Metadata) Strings(key string) ([]string, bool, error) {
	v, ok := m.Get(key)
	if !ok {
		return nil, false, nil
	}
	if v.kind != Array || m.closed || v.elem != String && v.n > 0 {
		return nil, false, m.mismatch(key, "an array of strings", v)
	}
	var text strings.Builder
	text.Grow(len(v.raw) - valueTypes[String].size*v.n)
	for _, e := range v.All() {
		text.Write(e.raw)
	}
	all, rest, xs := text.String(), v.raw, make([]string, v.n)
	for i := range xs {
		s, _ := nextString(rest) // complete: the list was checked when it was read
		xs[i], all = all[:len(s)], all[len(s):]
		rest = rest[valueTypes[String].size+len(s):]
	}
	return xs, true, nil
}
