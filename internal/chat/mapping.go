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
	keys  []Value
	vals  []Value
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
	return len(m.keys)
}

// Set stores v under key. Lists and maps cannot be keys.
func (m *Map) Set(key, v Value) error {
	k, err := hashKey(key)
	if err != nil {
		return err
	}
	if i, ok := m.index[k]; ok {
		m.vals[i] = v
		return nil
	}
	if m.index == nil {
		m.index = map[any]int{}
	}
	m.index[k] = len(m.keys)
	m.keys, m.vals = append(m.keys, key), append(m.vals, v)
	return nil
}

// Get returns the value under key.
func (m *Map) Get(key Value) (Value, bool) {
	if m == nil {
		return nil, false
	}
	k, err := hashKey(key)
	if err != nil {
		return nil, false
	}
	i, ok := m.index[k]
	if !ok {
		return nil, false
	}
	return m.vals[i], true
}

// All yields the entries in order.
func (m *Map) All() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		for i := range m.Len() {
			if !yield(m.keys[i], m.vals[i]) {
				return
			}
		}
	}
}

func (m *Map) clone() *Map {
	c := &Map{keys: slices.Clone(m.keys), vals: slices.Clone(m.vals), index: make(map[any]int, len(m.keys))}
	for k, i := range m.index {
		c.index[k] = i
	}
	return c
}

// pair returns entry i as a tuple.
func (m *Map) pair(i int) *Tuple { return &Tuple{Items: []Value{m.keys[i], m.vals[i]}} }

type (
	noneKey  struct{}
	undefKey struct{}
	deepKey  string // tuples and big integers
)

// maxKey bounds the values inside a tuple that is a key.
const maxKey = 4096

// hashKey maps keys that are equal in Python to one comparable Go value.
func hashKey(v Value) (any, error) {
	left := maxKey
	return hashWithin(v, &left)
}

func hashWithin(v Value, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, fail(KindLimit, "key of more than %d values", maxKey)
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case markup:
		return string(v), nil
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
			k, err := hashWithin(it, left)
			if err != nil {
				return nil, err
			}
			s := fmt.Sprintf("%T:%v", k, k)
			fmt.Fprintf(&b, "%d:%s", len(s), s)
		}
		return deepKey("t" + b.String()), nil
	case *List, *Map:
		return nil, typeError("unhashable type: '%s'", typeName(v))
	case *rng:
		return rng{start: v.start, step: v.step, n: v.n}, nil
	case *namespace, *view, *iterator, *macro, *loop, *cycler, *joiner, *function, *templateRef, *blockRef:
		return v, nil
	}
	return nil, typeError("unhashable type: '%s'", typeName(v))
}
