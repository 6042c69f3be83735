package sample

import (
	"errors"
	"fmt"
)

// ErrNoToken says that no token may be chosen: the logits and LogitBias give
// every one the probability 0.
var ErrNoToken = errors.New("sample: every token has probability 0")

// A ParamError says which field of [Params] cannot be used.
type ParamError struct {
	Field string
	Got   any
	Want  string
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("sampling: %s is %v, want %s", e.Field, e.Got, e.Want)
}

// A LogitsError says where the logits hold a NaN or positive infinity: the
// model computed nonsense, and no choice would mean anything.
type LogitsError struct {
	Index int
	Value float32
}

func (e *LogitsError) Error() string {
	return fmt.Sprintf("sample: the logit of token %d is %v", e.Index, e.Value)
}

// A LengthError says that there is not one logit for each token.
type LengthError struct{ Got, Want int }

func (e *LengthError) Error() string {
	return fmt.Sprintf("sample: %d logits for a vocabulary of %d", e.Got, e.Want)
}
