package plan

import (
	"errors"
	"fmt"
)

// Sentinels for callers that distinguish kinds of failure. The errors that
// match them add the position and the cause.
var (
	ErrUnsupportedOpcode     = errors.New("unsupported opcode")
	ErrUnsupportedTensorRank = errors.New("unsupported tensor rank")
	ErrInvalidParamBlockABI  = errors.New("invalid parameter block")
	ErrBatchUnsupported      = errors.New("batch size unsupported")
	ErrInvalidHandoff        = errors.New("invalid stage handoff")
	ErrInvalidPlan           = errors.New("invalid plan")
	ErrWeightBinding         = errors.New("weight binding")
	ErrStateLifecycle        = errors.New("state action not allowed")
)

// An OpcodeError names an opcode that a backend, or the plan format, does not
// support. It matches [ErrUnsupportedOpcode].
type OpcodeError struct {
	Op      Opcode
	Backend string // "" = unknown to all backends
	Index   int    // instruction
	Why     string // the unsupported part; "" = the opcode itself
}

func (e *OpcodeError) Error() string {
	who := e.Backend
	if who == "" {
		who = "plan"
	}
	s := fmt.Sprintf("%s: instruction %d: %v: %s", who, e.Index, ErrUnsupportedOpcode, e.Op)
	if e.Why != "" {
		s += ": " + e.Why
	}
	return s
}

// Unwrap returns [ErrUnsupportedOpcode].
func (e *OpcodeError) Unwrap() error { return ErrUnsupportedOpcode }

// A BatchError names the first instruction of a plan whose batch a backend
// cannot run. It matches [ErrBatchUnsupported].
type BatchError struct {
	Op      Opcode
	Backend string
	Index   int // instruction
	Batch   int // requested
	Max     int // supported
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("%s: instruction %d: %v: %s with batch %d, at most %d", e.Backend, e.Index, ErrBatchUnsupported, e.Op, e.Batch, e.Max)
}

// Unwrap returns [ErrBatchUnsupported].
func (e *BatchError) Unwrap() error { return ErrBatchUnsupported }

// A ParamABIError says why a parameter block cannot be used. It matches
// [ErrInvalidParamBlockABI].
type ParamABIError struct {
	Op  Opcode
	Why string
}

func (e *ParamABIError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrInvalidParamBlockABI, e.Op, e.Why)
}

// Unwrap returns [ErrInvalidParamBlockABI].
func (e *ParamABIError) Unwrap() error { return ErrInvalidParamBlockABI }

// A WeightError says why an instruction cannot use a weight. It matches
// [ErrWeightBinding].
type WeightError struct {
	Name string // of the tensor; "" = the slot is empty
	Slot string // of the opcode
	Op   Opcode
	Why  string
}

func (e *WeightError) Error() string {
	return fmt.Sprintf("%v: %s, slot %s of %s: %s", ErrWeightBinding, e.Name, e.Slot, e.Op, e.Why)
}

// Unwrap returns [ErrWeightBinding].
func (e *WeightError) Unwrap() error { return ErrWeightBinding }

// A PlanError describes a fault of a plan and its position. It unwraps to Kind,
// one of the sentinels.
type PlanError struct {
	Index int // instruction; Whole for the plan itself
	Why   string
	Kind  error
}

// Whole is the Index of an error that concerns a whole plan.
const Whole = -1

func (e *PlanError) Error() string {
	if e.Index == Whole {
		return fmt.Sprintf("%v: %s", e.Kind, e.Why)
	}
	return fmt.Sprintf("instruction %d: %v: %s", e.Index, e.Kind, e.Why)
}

// Unwrap returns the sentinel.
func (e *PlanError) Unwrap() error { return e.Kind }

// Errorf makes a [*PlanError].
func Errorf(kind error, index int, format string, args ...any) error {
	return &PlanError{Index: index, Why: fmt.Sprintf(format, args...), Kind: kind}
}
