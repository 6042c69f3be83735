package decide

import (
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/policy/record"
	"atenia/internal/spelling"
)

// A Bound is what the rules of pressures say of some weights, beside where the plan of bytes
// has them. The plan decides: it counts what has room, which pressures do not.
type Bound struct {
	To      memory.Tier `json:"to"` // by the rules
	Device  string      `json:"device,omitempty"`
	Because string      `json:"because"` // of the rules
	At      memory.Tier `json:"at"`      // by the plan
	Rule    string      `json:"rule"`    // of the plan
	Tensors int         `json:"tensors"`
	Bytes   uint64      `json:"bytes"`
	Executors
}

// The rules of [Bound.Decide].
const (
	boundAgrees = "Agrees"          // the rules leave them there, or want them there
	boundIdle   = "NothingComputes" // on the device that the rules chose
	boundFits   = "Fits"            // in memory, although the rules would read it from storage
	boundNoRoom = "NoRoom"          // where the rules want it
	boundPinned = "Pinned"          // elsewhere, by a pin or a plan file
)

// Decide compares the two and returns a rule, and a reason with both of theirs.
func (b *Bound) Decide() (rule, reason string) {
	all, at := spelling.Count(b.Tensors, "weight"), fmt.Sprintf("%v (%s)", b.At, b.Rule)
	if b.To == memory.CPU || b.To == b.At {
		return boundAgrees, fmt.Sprintf("%s in %s: %s", all, at, b.Because)
	}
	are := "they are in " + at
	if b.Tensors == 1 {
		are = "it is in " + at
	}
	to := b.To.String()
	if b.Device != "" {
		to += " of " + b.Device
	}
	reason = fmt.Sprintf("%s would be in %s (%s): ", all, to, b.Because)
	switch {
	case b.To == memory.VRAM && b.Idle != "":
		return boundIdle, reason + b.Idle + ", so " + are
	case b.Rule == string(place.RulePin) || b.Rule == string(place.RuleFile):
		return boundPinned, reason + are + ", as was asked for"
	case b.To == memory.SSD:
		return boundFits, reason + are + ", which has room and is read faster"
	}
	return boundNoRoom, reason + "the plan has no room for them there, so " + are
}

// Agrees reports whether the weights are where the rules want them.
func (b *Bound) Agrees() bool {
	rule, _ := b.Decide()
	return rule == boundAgrees
}

func (b Bound) draft(*history) (record.Draft, error) {
	d := record.Draft{Target: b.At.String(), Device: b.Device}
	d.Rule, d.Reason = b.Decide()
	d.Evaluated = []string{d.Rule}
	return d, nil
}

// Bind records that the rules and the plan disagree.
func (r *Recorder) Bind(b Bound) {
	if r.Journal != nil && !b.Agrees() {
		d, _ := b.draft(nil)
		r.record("binding", b, d)
	}
}
