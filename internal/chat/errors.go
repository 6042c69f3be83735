package chat

import "fmt"

// A Kind says why rendering failed, in the terms of the Python exception that
// the reference environment would raise.
type Kind string

const (
	KindUndefined Kind = "undefined" // something was done with a value that does not exist
	KindSecurity  Kind = "security"  // the sandbox refused an attribute
	KindType      Kind = "type"      // an operation does not fit the types of its operands
	KindValue     Kind = "value"     // the type fits, the value does not
	KindZeroDiv   Kind = "zero division"
	KindOverflow  Kind = "overflow" // a number or range outside its bounds
	KindName      Kind = "name"     // a filter or test that does not exist was reached
	KindLimit     Kind = "limit"    // the template used more than its [Limits]
)

// A SyntaxError says why a template was refused. Construct names what was met:
// a tag, a filter, a token.
type SyntaxError struct {
	Name      string // the template's name
	Line, Col int    // from 1; columns count code points
	Construct string // may be empty
	Msg       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("template %s:%d:%d: %s", e.Name, e.Line, e.Col, e.Msg)
}

// A RaiseError carries the message of raise_exception: the template itself
// refuses the conversation.
type RaiseError struct{ Message string }

func (e *RaiseError) Error() string { return e.Message }

// A RuntimeError says where and why rendering failed.
type RuntimeError struct {
	Name      string // the template's name
	Line, Col int    // from 1
	Kind      Kind
	Msg       string
}

func (e *RuntimeError) Error() string {
	return fmt.Sprintf("template %s:%d:%d: %s: %s", e.Name, e.Line, e.Col, e.Kind, e.Msg)
}

func fail(k Kind, format string, args ...any) error {
	return &RuntimeError{Kind: k, Msg: fmt.Sprintf(format, args...)}
}

func typeError(format string, args ...any) error  { return fail(KindType, format, args...) }
func valueError(format string, args ...any) error { return fail(KindValue, format, args...) }

// at gives an error the position of the innermost node it passed through.
func (m *machine) at(p pos, err error) error {
	if r, ok := err.(*RuntimeError); ok && r.Line == 0 {
		r.Line, r.Col, r.Name = int(p.line), int(p.col), m.name
	}
	return err
}
