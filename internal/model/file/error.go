package file

import (
	"fmt"
	"strings"
)

// A FormatError says what is wrong with a model file, where, and how to fix it.
// Fields that do not apply are empty.
type FormatError struct {
	File   string // path of the file
	Offset int64  // position of Field in the file; 0 when the fault is the file as a whole
	Line   int    // text files: line of the fault, from 1
	Column int    // text files: column in characters, from 1
	Tensor string // tensor at fault
	Field  string // what was being read: "magic", `metadata "general.alignment"`, "data"
	Want   string // what was expected
	Got    string // what was found
	Fix    string // remedy
	Err    error  // cause, for example a missing file
}

func (e *FormatError) Error() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case e.Line > 0:
		add("%s:%d:%d", e.File, e.Line, e.Column)
	case e.File != "":
		add("%s", e.File)
	}
	if e.Offset > 0 {
		add("byte %d", e.Offset)
	}
	if e.Tensor != "" {
		add("tensor %q", clip(e.Tensor))
	}
	if e.Field != "" {
		add("%s", e.Field)
	}
	switch {
	case e.Want != "" && e.Got != "":
		add("want %s, got %s", e.Want, e.Got)
	case e.Want != "":
		add("want %s", e.Want)
	}
	if e.Err != nil {
		add("%v", e.Err)
	}
	s := strings.Join(parts, ": ")
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// Unwrap returns the cause, so that errors.Is(err, fs.ErrNotExist) distinguishes
// a missing file from a damaged one.
func (e *FormatError) Unwrap() error { return e.Err }

// Remedies that several faults share.
const (
	fixFetch  = "the file is cut or damaged: fetch it again and compare its checksum"
	fixDamage = "the file is damaged or was written by a faulty tool: fetch or convert it again"
)

// clip shortens names from hostile files, so that an error stays on one line.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

func quote(s string) string { return fmt.Sprintf("%q", clip(s)) }
