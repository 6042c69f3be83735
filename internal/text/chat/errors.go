package chat

import "fmt"

// A Kind says why rendering failed, in the terms of the Python exception that
// the reference environment would raise.
type Kind string

const (
	KindUndefined Kind = "undefined" // something was done with a value that does not exist
	KindSecurity  Kind = "security"  // the sandbox rejected an attribute
	KindType      Kind = "type"      // an operation does not fit the types of its operands
	KindValue     Kind = "value"     // the type fits, the value does not
	KindZeroDiv   Kind = "zero division"
	KindOverflow  Kind = "overflow" // a number or range outside its bounds
	KindName      Kind = "name"     // a filter, test or method was reached that does not exist, or is not supported
	KindLimit     Kind = "limit"    // the template used more than its [Limits]
)

// A RaiseError carries the message of raise_exception: the template itself
// rejects the conversation.
type RaiseError struct{ Message string }

// Error returns the message.
func (e *RaiseError) Error() string { return e.Message }

// A RuntimeError describes a failed rendering and its position.
type RuntimeError struct {
	Name      string // the template's name
	Line, Col int    // from 1
	Kind      Kind
	Msg       string
}

// Error returns the position and the reason.
func (e *RuntimeError) Error() string {
	return fmt.Sprintf("template %s:%d:%d: %s: %s", e.Name, e.Line, e.Col, e.Kind, e.Msg)
}

// Fail makes an error without position, which the interpreter adds.
func Fail(k Kind, format string, args ...any) error {
	return &RuntimeError{Kind: k, Msg: fmt.Sprintf(format, args...)}
}

// TypeError is Fail with KindType.
func TypeError(format string, args ...any) error { return Fail(KindType, format, args...) }

// ValueError is Fail with KindValue.
func ValueError(format string, args ...any) error { return Fail(KindValue, format, args...) }
