// Package command holds what all commands of the command line share: their
// streams, their exit codes and the errors that choose one.
package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An Env is the environment of a command.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Progress io.Writer // standard error if it is a terminal, else nowhere
	JSON     *bool     // print results as JSON; set once flags are parsed
	State    string    // folder of what outlives a run; "" if there is none
	Cache    string    // folder of what can be made again; "" if there is none
	// Getenv returns a variable of the environment, "" if it is not set.
	Getenv func(name string) string
}

// PrintJSON writes a result as one line of JSON.
func (e *Env) PrintJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// patience is the annotation of commands that are waited for.
const patience = "patient"

// Patient annotates a command that is waited for after Ctrl-C, because it
// cleans up or continues.
var Patient = map[string]string{patience: ""}

// IsPatient reports whether a command's annotations contain [Patient].
func IsPatient(annotations map[string]string) bool {
	_, ok := annotations[patience]
	return ok
}

// The exit codes of every command. "explain" alone returns [Failure] for bad
// usage. A command that a signal ends returns 128 and the signal's number.
const (
	OK = iota
	Failure
	BadUsage
	BadResult // a check found wrong results
)

// A UsageError is a mistake in how a command was called.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// An ExitError ends the command with a code and a text that is printed to
// standard error unchanged.
type ExitError struct {
	Code int
	Text string
}

func (e *ExitError) Error() string { return e.Text }

// ErrVerify says that a check found wrong results.
var ErrVerify = errors.New("verification failed")
