package compile

import (
	"fmt"
	"slices"
	"strings"

	"atenia/plan"
	"atenia/tensor"
)

// An UnsupportedModelError says that no family compiles a model, and why.
type UnsupportedModelError struct {
	Key       string // where the name stands: "model_type" or "general.architecture"
	Name      string // what the file says
	Why       string // what is lacking
	Supported []string
}

func (e *UnsupportedModelError) Error() string {
	return fmt.Sprintf("%s %q: %s (supported: %s)", e.Key, clip(e.Name), e.Why, strings.Join(e.Supported, ", "))
}

// A ConfigError says which entry of a configuration cannot be used.
type ConfigError struct {
	File         string
	Line, Column int    // config.json that is not JSON; 0 = not known
	Field        string // as the file spells it
	Want, Got    string
}

func (e *ConfigError) Error() string {
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

// A WeightBindingError says what is wrong with one tensor. It matches
// [plan.ErrWeightBinding].
type WeightBindingError struct {
	Family string
	Tensor string       // as the file spells it, or would
	Layer  int          // −1 outside layers
	Want   tensor.Shape // nil when the family has no such tensor
	Have   tensor.Shape // nil when the file has no such tensor
	Why    string       // more than the shapes say
}

func (e *WeightBindingError) Error() string {
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
func (e *WeightBindingError) Unwrap() error { return plan.ErrWeightBinding }

// Faults are all the errors one step found, in the order it met them. Beyond
// maxFaults they are only counted, so that a hostile file cannot make an error
// of any size.
type Faults struct {
	Errs []error
	More int
}

const maxFaults = 32

func (f *Faults) add(err error) {
	if len(f.Errs) >= maxFaults {
		f.More++
		return
	}
	f.Errs = append(f.Errs, err)
}

func (f *Faults) err() error {
	if len(f.Errs) == 0 {
		return nil
	}
	return f
}

func (f *Faults) Error() string {
	lines := make([]string, 0, len(f.Errs)+1)
	for _, e := range f.Errs {
		lines = append(lines, e.Error())
	}
	if f.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", f.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors.
func (f *Faults) Unwrap() []error { return slices.Clone(f.Errs) }

// clip shortens text from hostile files.
func clip(s string) string {
	const most = 160
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
