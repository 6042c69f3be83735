package compile

import (
	"fmt"
	"strings"

	"atenia/internal/plan"
	"atenia/tensor"
)

// A configError says which entry of a configuration is invalid.
type configError struct {
	File         string
	Line, Column int    // for a config.json with a syntax error; 0 = unknown
	Field        string // as spelled in the file
	Want, Got    string
}

func (e *configError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Field != "" {
		b.WriteString(": " + clip(e.Field))
	}
	b.WriteString(": want " + e.Want)
	if e.Got != "" {
		b.WriteString(", got " + clip(e.Got))
	}
	return b.String()
}

// An UnsupportedModelError says that no family supports a model, and why.
type UnsupportedModelError struct {
	Key       string // where the name is: "model_type" or "general.architecture"
	Name      string // as spelled in the file
	Why       string // the reason
	Supported []string
}

func (e *UnsupportedModelError) Error() string {
	return fmt.Sprintf("%s %q: %s (supported: %s)", e.Key, clip(e.Name), e.Why, strings.Join(e.Supported, ", "))
}

// A weightBindingError says what is wrong with one tensor. It matches
// [plan.ErrWeightBinding].
type weightBindingError struct {
	Family string
	Tensor string       // its name in the file, or the expected one
	Layer  int          // −1 outside layers
	Want   tensor.Shape // nil if the family has no such tensor
	Have   tensor.Shape // nil if the file has no such tensor
	Why    string       // details beyond the shapes
}

func (e *weightBindingError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: tensor %q", e.Family, clip(e.Tensor))
	switch {
	case e.Want == nil && e.Have != nil:
		fmt.Fprintf(&b, " of shape %v is not part of the model", e.Have)
	case e.Have == nil && e.Want != nil:
		fmt.Fprintf(&b, " of shape %v is missing", e.Want)
	case e.Have != nil:
		fmt.Fprintf(&b, ": want shape %v, got %v", e.Want, e.Have)
	}
	if e.Why != "" {
		b.WriteString(": " + e.Why)
	}
	return b.String()
}

// Unwrap returns [plan.ErrWeightBinding].
func (e *weightBindingError) Unwrap() error { return plan.ErrWeightBinding }
