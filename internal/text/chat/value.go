package chat

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// A Value is a value of a template. Callers pass:
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
// similar ones, which never leave a rendering. Values are never changed in
// place.
type Value = any

// A List is a Python list.
type List struct{ Items []Value }

// NewList returns a list of the given items.
func NewList(items ...Value) *List { return &List{Items: items} }

// A Tuple is a Python tuple.
type Tuple struct {
	Items  []Value
	Fields []string // names of the items, for the groups of groupby
}

// Markup is a string that escape or safe marked; joining it with an ordinary
// string escapes that string.
type Markup string

// undefined is the value of a name, attribute or item that does not exist.
type undefined struct {
	Msg  string
	Kind Kind // of the error that using it raises

	of    Value
	lacks bool // of has no attribute Msg
}

// Err is the error that using the value raises.
func (u *undefined) Err() error {
	if u.lacks {
		return fail(u.Kind, "%s has no attribute %s", repr(describe(u.of)), repr(u.Msg))
	}
	return fail(u.Kind, "%s", u.Msg)
}

// undefinedName is the value of a variable that does not exist.
func undefinedName(name string) *undefined {
	return &undefined{Msg: repr(name) + " is undefined", Kind: kindUndefined}
}

// missingType marks a slot or an optional argument without a value.
type missingType struct{}

// missing marks a slot or an optional argument without a value.
var missing Value = missingType{}

// A namespace is the one kind of value whose attributes templates may set.
type namespace struct{ Attrs *Map }

// A intRange is Python's range: n values from start by step; stop only prints.
type intRange struct{ Start, Stop, Step, N int64 }

// A view is what keys(), values() and items() of a dict return.
type view struct {
	M    *Map
	Kind string // keys, values, items
}

// A function is a builtin, or a method bound to its object.
type function struct {
	Name   string
	Method bool
	Call   func(m *Machine, a *Args) (Value, error)
}

// An object is a value that the interpreter adds, defined here by its
// operations.
type object interface {
	TypeName() string
	Attr(m *Machine, name string) (v Value, ok bool, err error)
}

// Operations of some objects.
type (
	caller interface {
		Call(m *Machine, a *Args) (Value, error)
	}
	sized   interface{ Size(m *Machine) (int, error) } // such objects are iterable
	keyed   interface{ Item(key Value) (Value, bool) }
	printer interface {
		Repr(m *Machine) (string, error)
	}
)

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
	case Markup:
		return "Markup"
	case byteString:
		return "bytes"
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
	case *intRange:
		return "range"
	case *view:
		return "dict_" + v.Kind
	case *Iterator:
		return "generator"
	case *function:
		return "builtin_function_or_method"
	case object:
		return v.TypeName()
	}
	return "object"
}

// describe describes a value in errors about undefined values.
func describe(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *namespace, object, Markup:
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
	case string:
		return v != ""
	case Markup:
		return v != ""
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
	case Markup:
		return utf8.RuneCountInString(string(v)), true
	case byteString:
		return len(v), true
	case *List:
		return len(v.Items), true
	case *Tuple:
		return len(v.Items), true
	case *Map:
		return v.Len(), true
	case *intRange:
		return int(v.N), true
	case *view:
		return v.M.Len(), true
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
	case Markup:
		return string(v), true
	}
	return "", false
}

// like converts s to the string type of model.
func like(model Value, s string) Value {
	if _, ok := model.(Markup); ok {
		return Markup(s)
	}
	return s
}

// htmlEscaper replaces what HTML reserves.
var htmlEscaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// Escape is markupsafe.escape: Markup is returned unchanged.
func (m *Machine) Escape(v Value) (Markup, error) {
	if s, ok := v.(Markup); ok {
		return s, nil
	}
	s, err := m.Str(v)
	if err == nil {
		s, err = m.EscapeText(s)
	}
	return Markup(s), err
}

// EscapeText replaces what HTML reserves.
func (m *Machine) EscapeText(s string) (string, error) {
	if err := m.Alloc(5 * len(s)); err != nil {
		return "", err
	}
	return m.through(s, htmlEscaper.Replace), nil
}
