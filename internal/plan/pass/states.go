package pass

import (
	"cmp"
	"slices"

	"atenia/internal/plan"
	"atenia/tensor"
)

// checkStates verifies the assumptions of kernels and scheduler about storage:
// sizes add up, sections lie inside their layer and do not overlap, and no
// stale value can leak into the next request.
func checkStates(s *state) error { return checkDescriptors(s.c.Plan.States) }

// kindRules has the lifecycles allowed for each kind of state and whether it
// must be zeroed.
var kindRules = [plan.NumStateKinds]struct {
	life plan.Lifecycle
	zero bool // not addressed by position: stale bytes would be read
}{
	plan.StateKV:        {plan.SlotPersistent, false},
	plan.StateRecurrent: {plan.SlotPersistent, true},
	plan.StateConv:      {plan.SlotPersistent, true},
	plan.StateCrossKV:   {plan.RequestScoped, false},
}

// checkDescriptors verifies the state descriptors of a plan. Its errors match
// [plan.ErrInvalidPlan].
func checkDescriptors(states []plan.StateDescriptor) error {
	keys := make(map[plan.StateKey]bool, len(states))
	for i := range states {
		d := &states[i]
		k := plan.StateKey{Kind: d.Kind, Group: d.Group}
		switch {
		case int(d.ID) != i:
			return invalid(plan.Whole, "state s%d has id %d: ids are positions", i, d.ID)
		case d.Kind >= plan.NumStateKinds:
			return invalid(plan.Whole, "state s%d has unknown kind %d", i, d.Kind)
		case keys[k]:
			return invalid(plan.Whole, "state %s.%d is declared twice", d.Kind, d.Group)
		}
		keys[k] = true
		if err := checkState(d); err != nil {
			return err
		}
	}
	return nil
}

func checkState(d *plan.StateDescriptor) error {
	rule := kindRules[d.Kind]
	switch {
	case d.Lifecycle != rule.life:
		return stateError(d, "lives %s, want %s", d.Lifecycle, rule.life)
	case rule.zero && !d.ZeroInit:
		return stateError(d, "is not zeroed: it is not addressed by position, so the next request would read the last one's bytes")
	case d.AlignBytes == 0 || d.AlignBytes&(d.AlignBytes-1) != 0:
		return stateError(d, "has alignment %d, want a power of two", d.AlignBytes)
	case d.Layers == 0 || d.LayerStride == 0:
		return stateError(d, "has %d layers of %d bytes", d.Layers, d.LayerStride)
	case d.SizeBytes/uint64(d.Layers) != d.LayerStride || d.SizeBytes%uint64(d.Layers) != 0:
		return stateError(d, "has %d bytes, want %d layers × %d", d.SizeBytes, d.Layers, d.LayerStride)
	case d.PageTokens != 0 && d.Kind != plan.StateKV:
		return stateError(d, "has pages: only a kv state is addressed by position")
	}
	return checkSections(d)
}

func checkSections(d *plan.StateDescriptor) error {
	names := make(map[string]bool, len(d.Sections))
	for _, s := range d.Sections {
		_, block := s.DType.Block()
		switch {
		case s.Name == "" || names[s.Name]:
			return stateError(d, "has a section without a name of its own (%q)", s.Name)
		case s.DType == tensor.Invalid || block == 0:
			return stateError(d, "section %s has type %s", s.Name, s.DType)
		case s.Bytes == 0 || s.Bytes%uint64(block) != 0:
			return stateError(d, "section %s has %d bytes, want whole blocks of %d", s.Name, s.Bytes, block)
		case s.Offset > d.LayerStride || s.Bytes > d.LayerStride-s.Offset:
			return stateError(d, "section %s (%d+%d) leaves the layer's %d bytes", s.Name, s.Offset, s.Bytes, d.LayerStride)
		}
		names[s.Name] = true
	}
	byOffset := slices.SortedFunc(slices.Values(d.Sections), func(a, b plan.Section) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := 1; i < len(byOffset); i++ {
		if a, b := byOffset[i-1], byOffset[i]; a.Offset+a.Bytes > b.Offset {
			return stateError(d, "sections %s and %s overlap", a.Name, b.Name)
		}
	}
	return nil
}

func stateError(d *plan.StateDescriptor, format string, args ...any) error {
	return invalid(plan.Whole, "state %s.%d "+format, append([]any{d.Kind, d.Group}, args...)...)
}
