package chat

import (
	"atenia/internal/chat/object"
	"atenia/internal/chat/syntax"
)

// The values that go in and the errors that come out are those of the packages
// below, under names of this one.
type (
	Value        = object.Value        // what a template computes with
	Map          = object.Map          // a dict, in insertion order
	List         = object.List         // a list
	Tuple        = object.Tuple        // a tuple
	Limits       = object.Limits       // bounds of a rendering
	SyntaxError  = syntax.Error        // the template is refused
	RaiseError   = object.RaiseError   // the template refuses the conversation
	RuntimeError = object.RuntimeError // rendering failed
)

// The kinds of a [RuntimeError].
const (
	KindUndefined = object.KindUndefined
	KindSecurity  = object.KindSecurity
	KindType      = object.KindType
	KindValue     = object.KindValue
	KindZeroDiv   = object.KindZeroDiv
	KindOverflow  = object.KindOverflow
	KindName      = object.KindName
	KindLimit     = object.KindLimit
)

// NewMap returns a map with the given pairs: key, value, key, value …
// It panics when a key is of a type that cannot be one.
func NewMap(pairs ...Value) *Map { return object.NewMap(pairs...) }

// NewList returns a list of the given items.
func NewList(items ...Value) *List { return object.NewList(items...) }

// DecodeJSON reads one JSON value, keeping the order of objects and telling
// integers from floats.
func DecodeJSON(data []byte) (Value, error) { return object.DecodeJSON(data) }

// ValueOf converts plain Go data to a [Value].
func ValueOf(v any) (Value, error) { return object.ValueOf(v) }
