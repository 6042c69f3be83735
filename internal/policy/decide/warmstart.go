package decide

import (
	"strings"

	"atenia/internal/memory/checkpoint"
)

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
func Summarize(planned []checkpoint.Decision) WarmStart {
	var s WarmStart
	for _, p := range planned {
		switch p.Action {
		case checkpoint.HintPromote:
			s.Promote++
		case checkpoint.DegradeSafe:
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
