package stores

import (
	"errors"
	"fmt"
)

// The errors of a store, for [errors.Is].
var (
	errKFEShape  = errors.New("wrong length")
	errNotFinite = errors.New("not finite")
	errNoEntry   = errors.New("no such entry")
	errNoNeuron  = errors.New("no such neuron")
	errDuplicate = errors.New("there is an entry of that id")
	ErrFull      = errors.New("the library is full")
)

// A kfeValueError says which value of which operation cannot be used.
type kfeValueError struct {
	Op        string
	Neuron    int
	Want, Got string
	Err       error
}

func (e *kfeValueError) Error() string {
	return fmt.Sprintf("kfe %s, neuron %d: want %s, got %s: %v", e.Op, e.Neuron, e.Want, e.Got, e.Err)
}

// Unwrap returns what the error is matched by.
func (e *kfeValueError) Unwrap() error { return e.Err }
