package chat

import "fmt"

// A Kind says why rendering failed, in the terms of the Python exception that
// the reference environment would raise.
type Kind string

const (
	kindUndefined Kind = "undefined" // something was done with a value that does not exist
	kindSecurity  Kind = "security"  // the sandbox rejected an attribute
	kindType      Kind = "type"      // an operation does not fit the types of its operands
	kindValue     Kind = "value"     // the type fits, the value does not
	kindZeroDiv   Kind = "zero division"
	kindOverflow  Kind = "overflow" // a number or range outside its bounds
	kindName      Kind = "name"     // a filter, test or method was reached that does not exist, or is not supported
	kindLimit     Kind = "limit"    // the template used more than its [Limits]
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

// fail makes an error without position, which the interpreter adds.
func fail(k Kind, format string, args ...any) error {
	return &RuntimeError{Kind: k, Msg: fmt.Sprintf(format, args...)}
}

// typeError is fail with kindType.
func typeError(format string, args ...any) error { return fail(kindType, format, args...) }

// valueError is fail with kindValue.
func valueError(format string, args ...any) error { return fail(kindValue, format, args...) }
