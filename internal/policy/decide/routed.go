package decide

import (
	"atenia/internal/memory"

	"atenia/internal/spelling"
)

// A MoveOutcome is the outcome for a tensor that a kernel needs in a tier.
type MoveOutcome uint8

// The outcomes.
const (
	inPlace      MoveOutcome = iota // it is in the tier needed
	noDeviceRoom                    // the device had no room or was unavailable
	failedMove                      // an error
)

var moveOutcomes = []string{"InPlace", "NoVram", "MoveFailed"}

func (o MoveOutcome) String() string { return spelling.Enum(moveOutcomes, "MoveOutcome", o) }

// MarshalText writes the name of the outcome.
func (o MoveOutcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the name of an outcome.
func (o *MoveOutcome) UnmarshalText(b []byte) error {
	return spelling.ParseEnum(moveOutcomes, "outcome of a move", b, o)
}

// After returns where a kernel runs, and why, after its tensors were moved: on
// the processor if one of them did not get to its tier. The last such tensor
// gives the reason.
func (p RouteChoice) After(moves []MoveOutcome) (Target, string) {
	target, reason := p.Target, p.Reason
	for _, o := range moves {
		switch o {
		case noDeviceRoom:
			target, reason = OnCPUFallback, p.Reason+noVRAM
		case failedMove:
			target, reason = OnCPUFallback, p.Reason+moveFailed
		}
	}
	return target, reason
}

// Routed describes a routed kernel to a [routeListener].
type Routed struct {
	Kernel Kernel
	IDs    []string      // without duplicates
	Tiers  []memory.Tier // by id, before the moves
	Moves  []MoveOutcome // by id
	Bundle Bundle
}

// A routeListener is a [timeline.Submitter] that [RouteTensors] notifies of every kernel
// it has routed.
type routeListener interface{ Routed(Routed) }
