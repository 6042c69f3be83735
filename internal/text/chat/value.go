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

// Undefined is the value of a name, attribute or item that does not exist.
type Undefined struct {
	Msg  string
	Kind Kind // of the error that using it raises

	of    Value
	lacks bool // of has no attribute Msg
}

// Err is the error that using the value raises.
func (u *Undefined) Err() error {
	if u.lacks {
		return Fail(u.Kind, "%s has no attribute %s", Repr(Describe(u.of)), Repr(u.Msg))
	}
	return Fail(u.Kind, "%s", u.Msg)
}

// UndefinedName is the value of a variable that does not exist.
func UndefinedName(name string) *Undefined {
	return &Undefined{Msg: Repr(name) + " is undefined", Kind: KindUndefined}
}

// missingType marks a slot or an optional argument without a value.
type missingType struct{}

// Missing marks a slot or an optional argument without a value.
var Missing Value = missingType{}

// A Namespace is the one kind of value whose attributes templates may set.
type Namespace struct{ Attrs *Map }

// A Range is Python's range: n values from start by step; stop only prints.
type Range struct{ Start, Stop, Step, N int64 }

// A View is what keys(), values() and items() of a dict return.
type View struct {
	M    *Map
	Kind string // keys, values, items
}

// A Function is a builtin, or a method bound to its object.
type Function struct {
	Name   string
	Method bool
	Call   func(m *Machine, a *Args) (Value, error)
}

// An Object is a value that the interpreter adds, defined here by its
// operations.
type Object interface {
	TypeName() string
	Attr(m *Machine, name string) (v Value, ok bool, err error)
}

// Operations of some objects.
type (
	caller interface {
		Call(m *Machine, a *Args) (Value, error)
	}
	Sized   interface{ Size(m *Machine) (int, error) } // such objects are iterable
	Keyed   interface{ Item(key Value) (Value, bool) }
	printer interface {
		Repr(m *Machine) (string, error)
	}
)

// TypeName is the Python name of the value's type.
func TypeName(v Value) string {
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
	case Bytes:
		return "bytes"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Map:
		return "dict"
	case *Undefined:
		return "Undefined"
	case *Namespace:
		return "Namespace"
	case *Range:
		return "range"
	case *View:
		return "dict_" + v.Kind
	case *Iterator:
		return "generator"
	case *Function:
		return "builtin_function_or_method"
	case Object:
		return v.TypeName()
	}
	return "object"
}

// Describe describes a value in errors about undefined values.
func Describe(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *Namespace, Object, Markup:
		return "jinja2 " + TypeName(v) + " object"
	}
	return TypeName(v) + " object"
}

// Truth is Python's bool().
func Truth(v Value) bool {
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
	if n, ok := Length(v); ok {
		return n > 0
	}
	return true
}

// Length is Python's len() where there is one.
func Length(v Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case Markup:
		return utf8.RuneCountInString(string(v)), true
	case Bytes:
		return len(v), true
	case *List:
		return len(v.Items), true
	case *Tuple:
		return len(v.Items), true
	case *Map:
		return v.Len(), true
	case *Range:
		return int(v.N), true
	case *View:
		return v.M.Len(), true
	case *Undefined:
		return 0, true
	}
	return 0, false
}

// Text returns the characters of a str or Markup.
func Text(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Markup:
		return string(v), true
	}
	return "", false
}

// Like converts s to the string type of model.
func Like(model Value, s string) Value {
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
