package checkpoint

import (
	"fmt"
	"strings"

	"atenia/internal/memory"
)

// A DriftKind is how a restored tensor differs from what was desired.
type DriftKind uint8

// The drifts, in the order of a report.
const (
	MissingBackend DriftKind = iota // VRAM is desired and no device computes
	TierDowngrade                   // VRAM is desired and the bytes are in RAM
	PlanMismatch                    // the last plan used a GPU and there is none
)

var driftNames = [...]string{"MissingBackend", "TierDowngrade", "PlanMismatch"}

// String returns MissingBackend, TierDowngrade or PlanMismatch.
func (k DriftKind) String() string {
	if int(k) < len(driftNames) {
		return driftNames[k]
	}
	return fmt.Sprintf("DriftKind(%d)", uint8(k))
}

// MarshalText writes the spelling of [DriftKind.String].
func (k DriftKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// A Cause is why a tensor drifted.
type Cause uint8

// The causes. SafeRestorePolicy is temporary: a restore puts nothing into VRAM,
// a warm start may.
const (
	BackendMissing Cause = iota
	SafeRestorePolicy
)

// String returns BackendMissing or SafeRestorePolicy.
func (c Cause) String() string {
	if c == BackendMissing {
		return "BackendMissing"
	}
	return "SafeRestorePolicy"
}

// MarshalText writes the spelling of [Cause.String].
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// A Drift is one difference between a restored tensor and what was desired.
type Drift struct {
	Kind     DriftKind
	Cause    Cause
	Desired  memory.Tier // of MissingBackend and TierDowngrade
	Restored memory.Tier // of TierDowngrade
	Summary  string      // of PlanMismatch
}

// String returns the drift in one line.
func (d Drift) String() string {
	switch d.Kind {
	case MissingBackend:
		return fmt.Sprintf("%v: %v is desired and no device computes", d.Kind, d.Desired)
	case TierDowngrade:
		return fmt.Sprintf("%v: %v is desired, restored to %v (%v)", d.Kind, d.Desired, d.Restored, d.Cause)
	}
	return fmt.Sprintf("%v: planned %q and no GPU computes", d.Kind, d.Summary)
}

// A Report lists the drifts of one entry, at least one.
type Report struct {
	ID     string
	Drifts []Drift
}

// detectDrift returns how an entry restored to a tier differs from what was
// desired, on a machine with or without a GPU.
func detectDrift(e *Entry, restored memory.Tier, gpu bool) []Drift {
	cause := BackendMissing
	if gpu {
		cause = SafeRestorePolicy
	}
	var out []Drift
	wantsVRAM := e.Hint.Desired != nil && *e.Hint.Desired == memory.VRAM
	if wantsVRAM && !gpu {
		out = append(out, Drift{Kind: MissingBackend, Cause: cause, Desired: memory.VRAM})
	}
	if wantsVRAM && restored == memory.RAM {
		out = append(out, Drift{Kind: TierDowngrade, Cause: cause, Desired: memory.VRAM, Restored: restored})
	}
	if e.Hint.HasSummary && !gpu && strings.Contains(strings.ToUpper(e.Hint.Summary), "GPU") {
		out = append(out, Drift{Kind: PlanMismatch, Cause: cause, Summary: e.Hint.Summary})
	}
	return out
}

// RestoredTier returns the tier to which a restore puts an entry: RAM for VRAM,
// else the saved tier.
func (e *Entry) RestoredTier() memory.Tier {
	if e.Tier == memory.VRAM {
		return memory.RAM
	}
	return e.Tier
}

// Reports returns the drifts that a restore would find on a machine with or
// without a GPU.
func (m *Manifest) Reports(gpu bool) []Report {
	var out []Report
	for i := range m.Entries {
		e := &m.Entries[i]
		if d := detectDrift(e, e.RestoredTier(), gpu); d != nil {
			out = append(out, Report{e.ID, d})
		}
	}
	return out
}
