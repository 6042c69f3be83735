package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// A Code is the result of a node's call or of work on a plan. Zero is success.
// Nodes return -1 to -11; the host alone produces -64 and below. Positive
// numbers are not codes.
type Code int32

// The result codes of the node ABI.
const (
	Success     Code = 0
	Fail        Code = -1 // unspecified
	BadShape    Code = -2 // shapes of tensors or parameters do not fit
	UnknownNode Code = -3 // no node or no type of that name
	Unsupported Code = -4 // the node cannot do this, such as an adjoint
	Pending     Code = -5 // input consumed, no output in this call
	InvalidArg  Code = -6 // unknown mode, missing pointer, bad count
	NoMemory    Code = -7
	Numeric     Code = -8  // the node met NaN or infinity
	State       Code = -9  // a state was refused
	Version     Code = -10 // a struct's size or the ABI's major version is not understood
	End         Code = -11 // the source is exhausted
	Crashed     Code = -64
	Timeout     Code = -65
	Deadlock    Code = -66 // a cycle waits for itself
	Malformed   Code = -67 // the text is not a valid plan: AMP_E_PLAN
)

var codeNames = map[Code]string{
	Success: "AMP_E_SUCCESS", Fail: "AMP_E_FAIL", BadShape: "AMP_E_SHAPE", UnknownNode: "AMP_E_UNKNOWN_NODE",
	Unsupported: "AMP_E_UNSUPPORTED", Pending: "AMP_E_PENDING", InvalidArg: "AMP_E_INVALID_ARG",
	NoMemory: "AMP_E_NO_MEMORY", Numeric: "AMP_E_NUMERIC", State: "AMP_E_STATE", Version: "AMP_E_VERSION",
	End: "AMP_E_END", Crashed: "AMP_E_CRASHED", Timeout: "AMP_E_TIMEOUT", Deadlock: "AMP_E_DEADLOCK",
	Malformed: "AMP_E_PLAN",
}

// String returns the code's name in C, or its number when it has none.
func (c Code) String() string {
	if s, ok := codeNames[c]; ok {
		return s
	}
	return "AMP_E(" + strconv.Itoa(int(c)) + ")"
}

// An Error says what is wrong with a plan and where. Two errors match under
// [errors.Is] if their codes are equal, so a caller tests for a code with
//
//	errors.Is(err, &graph.Error{Code: graph.Deadlock})
type Error struct {
	Code  Code
	Path  string   // JSON path: $.graph.nodes[2].oversample_ratio, ….params["thermo.heat"]
	Names []string // the nodes involved; of a cycle, in the direction of its edges from the node declared first
	Text  string
}

// Error implements error.
func (e *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: %s (%v", e.Path, e.Text, e.Code)
	if len(e.Names) > 0 {
		fmt.Fprintf(&s, ": %s", strings.Join(e.Names, " → "))
	}
	s.WriteByte(')')
	return s.String()
}

// Is reports whether target is an Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}
