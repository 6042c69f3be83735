package place

import (
	"errors"
	"fmt"

	pub "atenia/place"
)

// The kinds of errors, for [errors.Is].
var (
	ErrFloor   = pub.ErrFloor
	ErrRequire = errors.New("what was required cannot be had")
	ErrPin     = errors.New("a pin cannot be followed")
	ErrInput   = errors.New("not an input of a plan")
	// ErrFile says that a plan file cannot be read.
	ErrFile = errors.New("not a plan file")
	// ErrMismatch says that a plan file belongs to another model.
	ErrMismatch = errors.New("the plan is for another model")
)

// The public forms of what users set and of what is too small.
type (
	// A Budget bounds the memory of a model.
	Budget = pub.Budget
	// Rules constrain the placement of tensors within a budget.
	Rules = pub.Rules
	// Offload is [place.Offload].
	Offload = pub.Offload
	// KeptRates are how fast the machine is.
	KeptRates = pub.Rates
	// A Part is one summand of a total in bytes.
	Part = pub.Part
	// A FloorError says that a budget is too small to run a model at all. It matches [ErrFloor].
	FloorError = pub.FloorError
)

// RAM is the tier of a [FloorError] about it.
const RAM = pub.TierRAM

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
