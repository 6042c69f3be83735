package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"atenia/tier"
)

// An Action is what a warm start advises for a tensor.
type Action uint8

// The actions.
const (
	Keep        Action = iota
	HintPromote        // to a faster tier, when there is room
	DegradeSafe        // stay where it can be
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

// A Decision is what a warm start advises for one tensor, and why.
type Decision struct {
	ID      string     `json:"id"`
	IsGrad  bool       `json:"is_grad"`
	Current tier.Tier  `json:"current"`
	Desired *tier.Tier `json:"desired"`
	Action  Action     `json:"action"`
	To      *tier.Tier `json:"to"` // nil when kept
	Reason  string     `json:"reason"`
}

// A WarmStart is the decisions of a warm start, gradients last, sorted by id.
type WarmStart struct {
	Decisions []Decision `json:"decisions"`
	Summary   string     `json:"summary"`
}

// Rules are what a warm start makes of tensors that a restore stepped down.
type Rules uint8

const (
	// DefaultRules let a tensor that is in RAM only because restores put
	// nothing into VRAM go there, if there is a GPU.
	DefaultRules Rules = iota
	// SeedRules keep every tensor that was stepped down where it is.
	SeedRules
)

// Live is what is known of tensors now; a *tier.Manager.
type Live interface {
	Tier(id string) (tier.Tier, bool)
	Hint(id string) (tier.Hint, bool)
}

// PlanWarmStart decides what to do with the entries of a restored checkpoint.
// It moves nothing, materialises nothing, and asks live for nothing but tiers
// and hints; where live knows none, the entry's own count.
func PlanWarmStart(live Live, entries []Entry, reports []Report, gpu bool, rules Rules) *WarmStart {
	down := map[string]Drift{} // the first that steps down, by id
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

func (d *Decision) degrade(to tier.Tier, reason string) {
	d.Action, d.To, d.Reason = DegradeSafe, &to, reason
}

func (d *Decision) promote(to tier.Tier, reason string) {
	d.Action, d.To, d.Reason = HintPromote, &to, reason
}

// decide is what is done with a tensor that was not stepped down.
func (d *Decision) decide(gpu bool) {
	switch {
	case d.Desired == nil:
		d.Reason = "No desired tier hint"
	case *d.Desired == tier.VRAM && gpu:
		d.promote(tier.VRAM, "Desired VRAM and GPU available")
	case *d.Desired == tier.VRAM:
		d.degrade(tier.RAM, "Desired VRAM but GPU unavailable")
	case *d.Desired == tier.RAM && d.Current == tier.SSD:
		d.promote(tier.RAM, "Prefer RAM for faster access when safe")
	default:
		d.Reason = fmt.Sprintf("Desired tier is %v and current placement is %v, no change planned", *d.Desired, d.Current)
	}
}

// ApplySummaries makes the decisions the hints of their tensors; set is
// [tier.Manager.SetHint].
func (p *WarmStart) ApplySummaries(set func(id string, h tier.Hint)) {
	for _, d := range p.Decisions {
		set(d.ID, tier.Hint{Desired: d.Desired, Summary: d.Reason, HasSummary: true})
	}
}
