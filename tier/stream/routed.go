package stream

import (
	"atenia/tier"

	"atenia/internal/enum"
)

// A MoveOutcome is what became of a tensor that a kernel needed elsewhere.
type MoveOutcome uint8

// The outcomes.
const (
	InPlace    MoveOutcome = iota // it is where it is needed
	NoVRAM                        // the device had no room, or was not there
	MoveFailed                    // an error
)

var moveOutcomes = []string{"InPlace", "NoVram", "MoveFailed"}

func (o MoveOutcome) String() string { return enum.Name(moveOutcomes, "MoveOutcome", o) }

// MarshalText writes the name of the outcome.
func (o MoveOutcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the name of an outcome.
func (o *MoveOutcome) UnmarshalText(b []byte) error {
	return enum.Parse(moveOutcomes, "outcome of a move", b, o)
}

// After returns where a kernel runs, and why, once its tensors were moved: on
// the processor if one of them did not get where the plan wants it. The last
// that did not gives the reason.
func (p Plan) After(moves []MoveOutcome) (Target, string) {
	target, reason := p.Target, p.Reason
	for _, o := range moves {
		switch o {
		case NoVRAM:
			target, reason = OnCPUFallback, p.Reason+noVRAM
		case MoveFailed:
			target, reason = OnCPUFallback, p.Reason+moveFailed
		}
	}
	return target, reason
}

// Routed is how [RouteTensors] routed a kernel.
type Routed struct {
	Kernel Kernel
	IDs    []string      // each once
	Tiers  []tier.Tier   // of the ids, before
	Moves  []MoveOutcome // of the ids
	Bundle Bundle
}

// A RouteListener is a [Submitter] that is told of every kernel that
// [RouteTensors] routed.
type RouteListener interface{ Routed(Routed) }
