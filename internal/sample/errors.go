package sample

import (
	"errors"
	"fmt"
)

// errNoToken says that logits and LogitBias give every token the probability 0.
var errNoToken = errors.New("sample: every token has probability 0")

// A ParamError says which field of [Params] is invalid.
type ParamError struct {
	Field string
	Got   any
	Want  string
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("sampling: %s is %v, want %s", e.Field, e.Got, e.Want)
}

// A LogitsError says which logit is NaN or positive infinity, so that no choice
// would be meaningful.
type LogitsError struct {
	Index int
	Value float32
}

func (e *LogitsError) Error() string {
	return fmt.Sprintf("sample: the logit of token %d is %v", e.Index, e.Value)
}

// A lengthError says that the number of logits is not the size of the
// vocabulary.
type lengthError struct{ Got, Want int }

func (e *lengthError) Error() string {
	return fmt.Sprintf("sample: %d logits for a vocabulary of %d", e.Got, e.Want)
}
