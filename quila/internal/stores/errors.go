package stores

import (
	"errors"
	"fmt"
)

// The errors of a store, for [errors.Is].
var (
	ErrKFEShape  = errors.New("wrong length")
	ErrNotFinite = errors.New("not finite")
	ErrNoEntry   = errors.New("no such entry")
	ErrNoNeuron  = errors.New("no such neuron")
	ErrDuplicate = errors.New("there is an entry of that id")
	ErrFull      = errors.New("the library is full")
)

// A KFEValueError says which value of which operation cannot be used.
type KFEValueError struct {
	Op        string
	Neuron    int
	Want, Got string
	Err       error
}

func (e *KFEValueError) Error() string {
	return fmt.Sprintf("kfe %s, neuron %d: want %s, got %s: %v", e.Op, e.Neuron, e.Want, e.Got, e.Err)
}

// Unwrap returns what the error is matched by.
func (e *KFEValueError) Unwrap() error { return e.Err }
