package chat

import "fmt"

// A SyntaxError says why a template was refused. Construct names what was met:
// a tag, a filter, a token.
type SyntaxError struct {
	Name      string // the template's name
	Line, Col int    // from 1; columns count code points
	Construct string // may be empty
	Msg       string
}

// Error tells the place and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("template %s:%d:%d: %s", e.Name, e.Line, e.Col, e.Msg)
}
