package chat

import "fmt"

// A SyntaxError describes why a template was rejected. Construct names the
// cause: a tag, a filter, a token.
type SyntaxError struct {
	Name      string // the template's name
	Line, Col int    // from 1; columns count code points
	Construct string // may be empty
	Msg       string
}

// Error returns the position and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("template %s:%d:%d: %s", e.Name, e.Line, e.Col, e.Msg)
}
