package chat

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strings"
)

// A Map is a Python dict: entries in the order of their first insertion. The
// zero value is empty and ready to use. Keys that Python calls equal are one
// key: 1, 1.0 and True.
type Map struct {
	Keys  []Value
	Vals  []Value
	index map[any]int // normal form of the key → position
}

// NewMap returns a map with the given pairs: key, value, key, value …
// It panics when a key is of a type that cannot be one, as a literal would not
// compile.
func NewMap(pairs ...Value) *Map {
	m := &Map{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := m.Set(pairs[i], pairs[i+1]); err != nil {
			panic(err)
		}
	}
	return m
}

// Len returns the number of entries.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.Keys)
}

// Set stores v under key. Lists and maps cannot be keys.
func (m *Map) Set(key, v Value) error {
	k, err := plainly.hashKey(key)
	if err != nil {
		return err
	}
	m.set(k, key, v)
	return nil
}

// set stores an entry whose key has the normal form k.
func (m *Map) set(k any, key, v Value) {
	if i, ok := m.index[k]; ok {
		m.Vals[i] = v
		return
	}
	if m.index == nil {
		m.index = map[any]int{}
	}
	m.index[k] = len(m.Keys)
	m.Keys, m.Vals = append(m.Keys, key), append(m.Vals, v)
}

// Get returns the value under key.
func (m *Map) Get(key Value) (Value, bool) {
	if m == nil {
		return nil, false
	}
	k, err := plainly.hashKey(key)
	if err != nil {
		return nil, false
	}
	return m.get(k)
}

func (m *Map) get(k any) (Value, bool) {
	i, ok := m.index[k]
	if !ok {
		return nil, false
	}
	return m.Vals[i], true
}

// All yields the entries in order.
func (m *Map) All() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		for i := range m.Len() {
			if !yield(m.Keys[i], m.Vals[i]) {
				return
			}
		}
	}
}

// Clone is a copy that shares no entries with m.
func (m *Map) Clone() *Map {
	c := &Map{Keys: slices.Clone(m.Keys), Vals: slices.Clone(m.Vals), index: make(map[any]int, len(m.Keys))}
	for k, i := range m.index {
		c.index[k] = i
	}
	return c
}

// Pair returns entry i as a tuple.
func (m *Map) Pair(i int) *Tuple { return &Tuple{Items: []Value{m.Keys[i], m.Vals[i]}} }

type (
	noneKey  struct{}
	undefKey struct{}
	deepKey  string // tuples and big integers
)

// maxKey bounds a tuple that is a key: its values and 64-byte pieces of text.
const maxKey = 4096

// plainly is the machine of maps outside a rendering, whose keys are not traced.
var plainly *Machine

// hashKey maps keys that are equal in Python to one comparable Go value.
func (m *Machine) hashKey(v Value) (any, error) {
	left := maxKey
	return m.hashWithin(v, &left)
}

// Hash is hashKey, charged for.
func (m *Machine) Hash(v Value) (any, error) {
	left := maxKey
	k, err := m.hashWithin(v, &left)
	if err != nil {
		return nil, err
	}
	s, _ := text(v)
	if b, ok := v.(byteString); ok {
		s = string(b)
	}
	return k, m.Step(len(s)/32 + 4*(maxKey-left))
}

func (m *Machine) hashWithin(v Value, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, fail(kindLimit, "key of more than %d values", maxKey)
	}
	if s, ok := v.(string); ok {
		if m.undyed(s) == len(s) {
			return v, nil
		}
		return m.plain(s), nil
	}
	switch v := v.(type) {
	case Markup:
		return m.plain(string(v)), nil
	case byteString:
		return v, nil
	case nil:
		return noneKey{}, nil
	case bool:
		return boolInt(v), nil
	case int64:
		return v, nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), nil
		}
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			b, _ := big.NewFloat(v).Int(nil)
			return deepKey("i" + b.Text(62)), nil
		}
		return v, nil
	case *big.Int:
		return deepKey("i" + v.Text(62)), nil
	case *undefined:
		return undefKey{}, nil
	case *Tuple:
		var b strings.Builder
		for _, it := range v.Items {
			if s, ok := text(it); ok {
				*left -= len(s) / 64
			}
			k, err := m.hashWithin(it, left)
			if err != nil {
				return nil, err
			}
			s := fmt.Sprintf("%T:%v", k, k)
			fmt.Fprintf(&b, "%d:%s", len(s), s)
		}
		return deepKey("t" + b.String()), nil
	case *List, *Map:
		return nil, typeError("unhashable type: '%s'", typeName(v))
	case *intRange: // as Equal: what is not reached does not count
		switch v.N {
		case 0:
			return intRange{}, nil
		case 1:
			return intRange{Start: v.Start, N: 1}, nil
		}
		return intRange{Start: v.Start, Step: v.Step, N: v.N}, nil
	case *view:
		if v.Kind != "values" {
			return nil, typeError("unhashable type: '%s'", typeName(v))
		}
		return v, nil
	case *namespace, *Iterator, *function, object:
		return v, nil
	}
	return nil, typeError("unhashable type: '%s'", typeName(v))
}
