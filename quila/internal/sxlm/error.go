package sxlm

import (
	"errors"
	"fmt"
)

// ErrFile is what every error about the content of a file matches.
var ErrFile = errors.New("bad model file")

// errInference says that a file without optimizer state cannot be trained.
var errInference = errors.New("the file has no optimizer state: it was written for inference only")

// A Step is where a reader stopped.
type Step uint8

// The steps in their order (section 6.3).
const (
	StepPreamble Step = 1 + iota
	StepHeaderHash
	StepFields
	StepDescriptors
	StepHashes
	StepFrames
	StepContainers
	StepContents
)

var stepNames = []string{"", "preamble", "header hash", "header fields", "descriptors", "hashes", "frames", "containers", "contents"}

// String returns the name of a step, such as "hashes".
func (s Step) String() string {
	if int(s) < len(stepNames) && s > 0 {
		return stepNames[s]
	}
	return fmt.Sprintf("Step(%d)", uint8(s))
}

// An Error says what is wrong with a file. It matches [ErrFile].
type Error struct {
	Step   Step
	Block  int   // 1 to 7; 0 is none
	Offset int64 // in the file up to step 6, in the raw block afterwards
	What   string
	Err    error // the cause, such as that of a budget; nil is none
}

func (e *Error) Error() string {
	at := fmt.Sprintf("offset %d", e.Offset)
	if e.Block > 0 {
		at = fmt.Sprintf("block %d, %s", e.Block, at)
	}
	if e.Err != nil {
		return fmt.Sprintf("sxlm: step %d (%v), %s: %s: %v", e.Step, e.Step, at, e.What, e.Err)
	}
	return fmt.Sprintf("sxlm: step %d (%v), %s: %s", e.Step, e.Step, at, e.What)
}

// Is reports whether target is [ErrFile].
func (e *Error) Is(target error) bool { return target == ErrFile }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fault(s Step, block int, offset int64, format string, args ...any) error {
	return &Error{Step: s, Block: block, Offset: offset, What: fmt.Sprintf(format, args...)}
}

// because is a fault with a cause.
func because(s Step, block int, offset int64, what string, err error) error {
	return &Error{Step: s, Block: block, Offset: offset, What: what, Err: err}
}
