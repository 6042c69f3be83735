package chat

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// A Value is what a template computes with. From outside come:
//
//	nil                 None
//	bool                bool
//	int64, *big.Int     int (a *big.Int only where int64 does not suffice)
//	float64             float
//	string              str; ill-formed UTF-8 counts one U+FFFD per byte
//	*List, *Tuple       list, tuple
//	*Map                dict, in insertion order
//
// The interpreter adds functions, iterators, namespaces, undefined values and
// the like, which never leave a rendering. Values are never changed in place.
type Value = any

// A List is a Python list.
type List struct{ Items []Value }

// NewList returns a list of the given items.
func NewList(items ...Value) *List { return &List{Items: items} }

// A Tuple is a Python tuple.
type Tuple struct {
	Items  []Value
	fields []string // names of the items, for the groups of groupby
}

// markup is a string that escape or safe marked; joining it with an ordinary
// string escapes that string.
type markup string

// undefined is the value of a name, attribute or item that does not exist.
type undefined struct {
	msg  string
	kind Kind // of the error that using it raises
}

func (u *undefined) err() error { return fail(u.kind, "%s", u.msg) }

func undefinedName(name string) *undefined {
	return &undefined{msg: repr(name) + " is undefined", kind: KindUndefined}
}

// missing marks a slot or an optional argument without a value.
type missingType struct{}

var missing Value = missingType{}

// A namespace is the one kind of value whose attributes templates may set.
type namespace struct{ attrs *Map }

// A rng is Python's range: n values from start by step; stop only prints.
type rng struct{ start, stop, step, n int64 }

// A view is what keys(), values() and items() of a dict return.
type view struct {
	m    *Map
	kind string // keys, values, items
}

// A function is a builtin, or a method bound to its object.
type function struct {
	name   string
	method bool
	call   func(m *machine, a *callArgs) (Value, error)
}

type cycler struct {
	items []Value
	pos   int
}

type joiner struct {
	sep  Value
	used bool
}

// templateRef is self, blockRef one block of it.
type templateRef struct{ f *frame }
type blockRef struct {
	b   *blockStmt
	ctx *scope
}

// typeName is the Python name of the value's type.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case markup:
		return "Markup"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Map:
		return "dict"
	case *undefined:
		return "Undefined"
	case *namespace:
		return "Namespace"
	case *rng:
		return "range"
	case *view:
		return "dict_" + v.kind
	case *iterator:
		return "generator"
	case *macro:
		return "Macro"
	case *loop:
		return "LoopContext"
	case *cycler:
		return "Cycler"
	case *joiner:
		return "Joiner"
	case *function:
		return "builtin_function_or_method"
	}
	return "object"
}

// objectName is how undefined errors speak of a value.
func objectName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *namespace, *macro, *loop, *cycler, *joiner, markup:
		return "jinja2 " + typeName(v) + " object"
	}
	return typeName(v) + " object"
}

// truth is Python's bool().
func truth(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0
	case *undefined:
		return false
	}
	if n, ok := length(v); ok {
		return n > 0
	}
	return true
}

// length is Python's len() where there is one.
func length(v Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case markup:
		return utf8.RuneCountInString(string(v)), true
	case *List:
		return len(v.Items), true
	case *Tuple:
		return len(v.Items), true
	case *Map:
		return v.Len(), true
	case *rng:
		return int(v.n), true
	case *view:
		return v.m.Len(), true
	case *undefined:
		return 0, true
	}
	return 0, false
}

// text returns the characters of a str or Markup.
func text(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// like gives s the string type of model.
func like(model Value, s string) Value {
	if _, ok := model.(markup); ok {
		return markup(s)
	}
	return s
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// escape is markupsafe.escape: Markup stays as it is.
func (m *machine) escape(v Value) (markup, error) {
	if s, ok := v.(markup); ok {
		return s, nil
	}
	s, err := m.str(v)
	if err != nil {
		return "", err
	}
	r := htmlEscaper.Replace(s)
	return markup(r), m.alloc(len(r))
}
