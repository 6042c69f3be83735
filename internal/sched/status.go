package sched

import (
	"slices"

	"atenia/internal/spelling"
)

// A Phase is where a request is.
type Phase uint8

// The phases.
const (
	phaseWaiting  Phase = iota // in the queue
	phaseReading               // its prompt is computed
	phaseDecoding              // its answer is
	phaseStalled               // it waits for memory in its slot
	phaseEnded                 // a slot keeps what it computed
)

var phaseNames = []string{"waiting", "reading", "decoding", "stalled", "ended"}

func (p Phase) String() string                { return spelling.Enum(phaseNames, "Phase", p) }
func (p Phase) MarshalText() ([]byte, error)  { return []byte(p.String()), nil }
func (p *Phase) UnmarshalText(b []byte) error { return spelling.ParseEnum(phaseNames, "phase", b, p) }

// A Status is what a request waits for or a slot does.
type Status struct {
	Slot     int // 1 and up; 0 = it waits for one
	Request  string
	Phase    Phase
	Priority int
	Prompt   int // tokens
	Cached   int // of those, tokens that were reused
	Computed int // tokens whose keys and values are cached
	Answer   int // tokens made
	Limit    int // tokens it may make
	Adapter  string
}

// status describes a slot.
func (sl *slot) status() Status {
	v := Status{Slot: sl.id + 1, Request: sl.by, Phase: phaseEnded, Computed: sl.done}
	st := sl.st
	if st == nil {
		return v
	}
	v.Phase, v.Priority, v.Limit, v.Adapter = phaseDecoding, st.req.Priority, st.req.MaxTokens, st.req.Adapter
	v.Prompt, v.Cached, v.Answer = len(st.req.Prompt), st.cached, len(sl.tokens)-len(st.req.Prompt)
	switch {
	case sl.stalled:
		v.Phase = phaseStalled
	case sl.done < v.Prompt:
		v.Phase = phaseReading
	}
	return v
}

// Status returns what every slot does, by its number, and then the requests that
// wait, in the order in which they came.
func (s *Scheduler) Status() []Status {
	out := s.delivery.slots()
	slices.SortFunc(out, func(a, b Status) int { return a.Slot - b.Slot })
	for _, st := range s.admission.waitingCopy() {
		r := &st.req
		out = append(out, Status{Request: r.ID, Priority: r.Priority, Prompt: len(r.Prompt), Limit: r.MaxTokens, Adapter: r.Adapter})
	}
	return out
}
