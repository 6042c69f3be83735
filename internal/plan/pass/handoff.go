package pass

import (
	"slices"

	"atenia/internal/plan"
)

// order is the order in which the stages of one model run.
var order = [plan.NumModes]int{
	plan.ModeVisionEncode: 0,
	plan.ModeScatter:      1,
	plan.ModePrefill:      2,
	plan.ModeDecode:       3,
}

// CheckHandoffs verifies the boundaries between the stages of a model: each
// joins an output of an earlier stage to an input of a later one, both sides
// agree with its declaration, every input has one source, and the buffer is
// held until the consumer's last read. graph lists the stages that run on a
// backend which records work ([Routing.Records]); their boundaries must be synchronised.
// Errors match [plan.ErrInvalidHandoff].
func CheckHandoffs(m *plan.ModelPlans, graph ...plan.Mode) error {
	type place struct {
		mode plan.Mode
		reg  plan.RegisterRef
	}
	fed := make(map[place]bool)
	for i := range m.Handoffs {
		h := &m.Handoffs[i]
		if err := checkHandoff(m, i, graph); err != nil {
			return err
		}
		to := place{h.To, h.ToReg}
		if fed[to] {
			return badHandoff(i, "%s r%d is fed twice", h.To, h.ToReg)
		}
		fed[to] = true
	}
	return nil
}

// Synchronised returns the plans with the boundaries of the stages that record marked as
// synchronised. Only who chose the backends knows which these are.
func Synchronised(m *plan.ModelPlans, graph ...plan.Mode) *plan.ModelPlans {
	out := *m
	out.Handoffs = slices.Clone(m.Handoffs)
	for i := range out.Handoffs {
		h := &out.Handoffs[i]
		h.Sync = h.Sync || slices.Contains(graph, h.From) || slices.Contains(graph, h.To)
	}
	return &out
}

func checkHandoff(m *plan.ModelPlans, i int, graph []plan.Mode) error {
	h := &m.Handoffs[i]
	from, to := m.ByMode(h.From), m.ByMode(h.To)
	switch {
	case from == nil:
		return badHandoff(i, "there is no %s stage to produce it", h.From)
	case to == nil:
		return badHandoff(i, "there is no %s stage to consume it", h.To)
	case order[h.From] >= order[h.To]:
		return badHandoff(i, "%s does not run before %s", h.From, h.To)
	case !slices.Contains(from.Plan.Outputs, h.FromReg):
		return badHandoff(i, "r%d is not an output of %s", h.FromReg, h.From)
	case !slices.Contains(to.Plan.Inputs, h.ToReg):
		return badHandoff(i, "r%d is not an input of %s", h.ToReg, h.To)
	}
	a, b := from.Plan.Registers[h.FromReg], to.Plan.Registers[h.ToReg]
	switch {
	case a.DType != h.DType || b.DType != h.DType:
		return badHandoff(i, "element type %s leaves, %s arrives, %s is declared", a.DType, b.DType, h.DType)
	case a.Layout != h.Layout || b.Layout != h.Layout:
		return badHandoff(i, "layout %s leaves, %s arrives, %s is declared", a.Layout, b.Layout, h.Layout)
	case a.Cols != h.Cols || b.Cols != h.Cols:
		return badHandoff(i, "%d columns leave, %d arrive, %d are declared", a.Cols, b.Cols, h.Cols)
	case !h.Sync && (slices.Contains(graph, h.From) || slices.Contains(graph, h.To)):
		return badHandoff(i, "a stage records its work and the boundary is not synchronised")
	}
	return checkRelease(to, i, h)
}

func checkRelease(to *plan.CompiledPlan, i int, h *plan.Handoff) error {
	last := to.Live.LastRead[h.ToReg]
	switch {
	case last == plan.NeverRead:
		return badHandoff(i, "%s never reads r%d", h.To, h.ToReg)
	case h.ReleaseAfter < last:
		return badHandoff(i, "its buffer is released after instruction %d, the last read is at %d", h.ReleaseAfter, last)
	case int64(h.ReleaseAfter) >= int64(len(to.Plan.Instructions)):
		return badHandoff(i, "its buffer is released after instruction %d of %d", h.ReleaseAfter, len(to.Plan.Instructions))
	case slices.Contains(to.Plan.Outputs, h.ToReg):
		return badHandoff(i, "r%d is also an output of %s and would outlive its buffer", h.ToReg, h.To)
	}
	return nil
}

func badHandoff(i int, format string, args ...any) error {
	return plan.Errorf(plan.ErrInvalidHandoff, plan.Whole, "handoff %d: "+format, append([]any{i}, args...)...)
}
