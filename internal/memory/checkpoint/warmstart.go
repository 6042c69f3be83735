package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"atenia/internal/memory"
)

// An Action is what a warm start advises for a tensor.
type Action uint8

// The actions.
const (
	Keep        Action = iota
	HintPromote        // to a faster tier, when there is room
	DegradeSafe        // stay in a tier that is available
)

var actionNames = [...]string{"Keep", "HintPromote", "DegradeSafe"}

// String returns Keep, HintPromote or DegradeSafe.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("Action(%d)", uint8(a))
}

// MarshalText writes the spelling of [Action.String].
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// A Decision is the advice for one tensor, and why.
type Decision struct {
	ID      string       `json:"id"`
	IsGrad  bool         `json:"is_grad"`
	Current memory.Tier  `json:"current"`
	Desired *memory.Tier `json:"desired"`
	Action  Action       `json:"action"`
	To      *memory.Tier `json:"to"` // nil for Keep
	Reason  string       `json:"reason"`
}

// A WarmStart lists the decisions of a warm start, gradients last, sorted by id.
type WarmStart struct {
	Decisions []Decision `json:"decisions"`
	Summary   string     `json:"summary"`
}

// Rules select what a warm start does with degraded tensors.
type Rules uint8

const (
	// DefaultRules promote a tensor that is in RAM only because restores put
	// nothing into VRAM, if there is a GPU.
	DefaultRules Rules = iota
	// SeedRules keep every degraded tensor where it is.
	SeedRules
)

// Live reports the current tiers and hints of tensors; a *memory.Manager
// implements it.
type Live interface {
	Tier(id string) (memory.Tier, bool)
	Hint(id string) (memory.Hint, bool)
}

// PlanWarmStart decides what to do with the entries of a restored checkpoint. It
// moves and materializes nothing and asks live only for tiers and hints; an
// entry that live does not know counts with its saved ones.
func PlanWarmStart(live Live, entries []Entry, reports []Report, gpu bool, rules Rules) *WarmStart {
	down := map[string]Drift{} // by id, the first drift that degrades it
	for _, r := range reports {
		for _, d := range r.Drifts {
			if d.Kind != TierDowngrade || rules == DefaultRules && gpu && d.Cause == SafeRestorePolicy {
				continue
			}
			if _, ok := down[r.ID]; !ok {
				down[r.ID] = d
			}
		}
	}
	p := &WarmStart{Decisions: make([]Decision, 0, len(entries))}
	var count [len(actionNames)]int
	for i := range entries {
		e := &entries[i]
		d := Decision{ID: e.ID, IsGrad: e.IsGrad, Current: e.Tier, Desired: e.Hint.Desired}
		if t, ok := live.Tier(e.ID); ok {
			d.Current = t
		}
		if h, ok := live.Hint(e.ID); ok && h.Desired != nil {
			d.Desired = h.Desired
		}
		if drift, ok := down[e.ID]; ok {
			d.Desired = &drift.Desired
			d.degrade(drift.Restored, fmt.Sprintf("Tier downgraded from %v to %v during restore drift", drift.Desired, drift.Restored))
		} else {
			d.decide(gpu)
		}
		count[d.Action]++
		p.Decisions = append(p.Decisions, d)
	}
	slices.SortStableFunc(p.Decisions, func(a, b Decision) int {
		if a.IsGrad != b.IsGrad {
			return cmp.Compare(btoi(a.IsGrad), btoi(b.IsGrad))
		}
		return cmp.Compare(a.ID, b.ID)
	})
	p.Summary = fmt.Sprintf("warm_start: keep=%d promote=%d degrade=%d", count[Keep], count[HintPromote], count[DegradeSafe])
	return p
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *Decision) degrade(to memory.Tier, reason string) {
	d.Action, d.To, d.Reason = DegradeSafe, &to, reason
}

func (d *Decision) promote(to memory.Tier, reason string) {
	d.Action, d.To, d.Reason = HintPromote, &to, reason
}

// decide handles a tensor that was not degraded.
func (d *Decision) decide(gpu bool) {
	switch {
	case d.Desired == nil:
		d.Reason = "No desired tier hint"
	case *d.Desired == memory.VRAM && gpu:
		d.promote(memory.VRAM, "Desired VRAM and GPU available")
	case *d.Desired == memory.VRAM:
		d.degrade(memory.RAM, "Desired VRAM but GPU unavailable")
	case *d.Desired == memory.RAM && d.Current == memory.SSD:
		d.promote(memory.RAM, "Prefer RAM for faster access when safe")
	default:
		d.Reason = fmt.Sprintf("Desired tier is %v and current placement is %v, no change planned", *d.Desired, d.Current)
	}
}

// ApplySummaries stores each decision as the hint of its tensor; set is
// [memory.Manager.SetHint].
func (p *WarmStart) ApplySummaries(set func(id string, h memory.Hint)) {
	for _, d := range p.Decisions {
		set(d.ID, memory.Hint{Desired: d.Desired, Summary: d.Reason, HasSummary: true})
	}
}
