package place

import (
	"atenia/internal/spelling"
	"errors"
	"fmt"
	"strings"

	"atenia/internal/memory"
)

// The kinds of errors, for [errors.Is].
var (
	ErrFloor   = errors.New("the budget is below the floor")
	ErrRequire = errors.New("what was required cannot be had")
	ErrPin     = errors.New("a pin cannot be followed")
	ErrInput   = errors.New("not an input of a plan")
	// ErrFile says that a plan file cannot be read.
	ErrFile = errors.New("not a plan file")
	// ErrMismatch says that a plan file belongs to another model.
	ErrMismatch = errors.New("the plan is for another model")
)

// A Part is one summand of a total in bytes.
type Part struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// A FloorError says that a budget is too small to run a model at all: the least
// that is needed, and what it is made of. It matches [ErrFloor].
type FloorError struct {
	Tier          memory.Tier
	Device        string // of VRAM
	Budget, Floor int64
	Parts         []Part // what the floor is made of, largest first
	Why           string // the rule that sets the floor
	// Auto says that Budget is the memory that there is, and Maps that a run maps the
	// model there.
	Auto, Maps bool
	// Most is what the process that asks can have of RAM, and Asked what was asked for, if
	// Budget is less because of that; 0 = Budget was asked for, of a machine that may be
	// another one.
	Most, Asked int64
	// Unbound says that without a budget the process maps the model.
	Unbound bool
	// Context is how many tokens of keys and values have room where the model is mapped, if
	// that is less than a whole context; 0 = all have.
	Context int
}

func (e *FloorError) Error() string {
	parts := make([]string, len(e.Parts))
	for i, p := range e.Parts {
		parts[i] = p.Name + " " + spelling.Size(p.Bytes)
	}
	where := e.Tier.Lower()
	if e.Device != "" {
		where += "@" + e.Device
	}
	given := spelling.Size(e.Budget) + " of " + where + " is given"
	if e.Asked > 0 {
		given = fmt.Sprintf("%s of %s is asked for, %s can be allocated", spelling.Size(e.Asked), where, spelling.Size(e.Budget))
	}
	return fmt.Sprintf("%v: %s, at least %s (%d bytes) is needed because %s: %s",
		ErrFloor, given, spelling.Size(e.Floor), e.Floor, e.Why, strings.Join(parts, ", "))
}

// Is reports whether target is [ErrFloor].
func (e *FloorError) Is(target error) bool { return target == ErrFloor }

// A requireError names the tensor that violates a requirement. It matches
// [ErrRequire].
type requireError struct {
	Tensor string // empty if no single tensor is at fault
	Why    string
}

func (e *requireError) Error() string {
	if e.Tensor == "" {
		return fmt.Sprintf("%v: %s", ErrRequire, e.Why)
	}
	return fmt.Sprintf("%v: %s: %s", ErrRequire, e.Tensor, e.Why)
}

// Is reports whether target is [ErrRequire].
func (e *requireError) Is(target error) bool { return target == ErrRequire }

// A pinError says why a pin cannot be parsed or followed. It matches [ErrPin].
type pinError struct {
	Pin, Tensor string // Tensor is empty if the pin itself is at fault
	Why         string
	Err         error
}

func (e *pinError) Error() string {
	s := fmt.Sprintf("pin %q: ", e.Pin)
	if e.Tensor != "" {
		s += e.Tensor + ": "
	}
	s += e.Why
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is reports whether target is [ErrPin].
func (e *pinError) Is(target error) bool { return target == ErrPin }

// Unwrap returns the cause.
func (e *pinError) Unwrap() error { return e.Err }

// An inputError names what is wrong with an [Input]. It matches [ErrInput].
type inputError struct{ Field, Got, Want string }

func (e *inputError) Error() string {
	return fmt.Sprintf("%v: %s: want %s, got %s", ErrInput, e.Field, e.Want, e.Got)
}

// Is reports whether target is [ErrInput].
func (e *inputError) Is(target error) bool { return target == ErrInput }
