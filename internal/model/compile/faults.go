package compile

import (
	"fmt"
	"slices"
	"strings"
)

// A List holds the errors of one step, in the order found. Beyond Max they are
// only counted, so that a hostile file cannot make an error grow without limit.
type List struct {
	Errs []error
	More int
}

// maxFaults is the number of errors that a List keeps.
const maxFaults = 32

// Add appends an error.
func (f *List) Add(err error) {
	if len(f.Errs) >= maxFaults {
		f.More++
		return
	}
	f.Errs = append(f.Errs, err)
}

// Err returns the list, or nil if it is empty.
func (f *List) Err() error {
	if len(f.Errs) == 0 {
		return nil
	}
	return f
}

// Error returns one error per line.
func (f *List) Error() string {
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
func (f *List) Unwrap() []error { return slices.Clone(f.Errs) }

// clip shortens text from hostile files.
func clip(s string) string {
	const most = 160
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
