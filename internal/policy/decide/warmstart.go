package decide

import (
	"fmt"
	"strings"
)

// An Action is what a warm-start plan does with a tensor.
type Action uint8

// The actions.
const (
	Keep Action = iota
	HintPromote
	DegradeSafe
)

var actionNames = [...]string{"Keep", "HintPromote", "DegradeSafe"}

// String returns Keep, HintPromote or DegradeSafe.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// A Planned is one tensor's line of a warm-start plan.
type Planned struct {
	Action Action
	Reason string
}

// A WarmStart summarizes a warm-start plan for an episode.
type WarmStart struct {
	Backend Backend
	Promote int
	Degrade int
	Keep    int
}

// Summarize counts the planned actions. If they do not say what
// executed, the device is assumed as soon as any reason mentions a GPU, in any
// case, even one that says there is none. Callers that know better set
// [Tick.Executed].
func Summarize(planned []Planned) WarmStart {
	var s WarmStart
	for _, p := range planned {
		switch p.Action {
		case HintPromote:
			s.Promote++
		case DegradeSafe:
			s.Degrade++
		default:
			s.Keep++
		}
		if strings.Contains(strings.ToUpper(p.Reason), "GPU") {
			s.Backend = GPU
		}
	}
	return s
}
