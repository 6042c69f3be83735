package decide

import (
	"strings"

	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/policy/record"
)

// warmInputs are the inputs of a warm start's advice for one tensor.
type warmInputs struct {
	ID      string       `json:"id"`
	IsGrad  bool         `json:"is_grad"`
	Current memory.Tier  `json:"current"`
	Desired *memory.Tier `json:"desired"`
	Down    []warmDown   `json:"downgrades"` // by the restore
	GPU     bool         `json:"gpu_available"`
	Seed    bool         `json:"keep_downgraded"` // [checkpoint.SeedRules]
}

// A warmDown is a tensor that a restore degraded to a slower tier.
type warmDown struct {
	Desired  memory.Tier `json:"desired"`
	Restored memory.Tier `json:"restored"`
	Policy   bool        `json:"safe_restore_policy"` // because restores put nothing into VRAM
}

// warmLive reports no live state, so that only the entry counts.
type warmLive struct{}

func (warmLive) Tier(string) (memory.Tier, bool) { return 0, false }
func (warmLive) Hint(string) (memory.Hint, bool) { return memory.Hint{}, false }

func (in warmInputs) draft(*history) (record.Draft, error) {
	e := []checkpoint.Entry{{ID: in.ID, IsGrad: in.IsGrad, Tier: in.Current, Hint: memory.Hint{Desired: in.Desired}}}
	r := checkpoint.Report{ID: in.ID}
	for _, d := range in.Down {
		cause := checkpoint.BackendMissing
		if d.Policy {
			cause = checkpoint.SafeRestorePolicy
		}
		r.Drifts = append(r.Drifts, checkpoint.Drift{Kind: checkpoint.TierDowngrade, Desired: d.Desired, Restored: d.Restored, Cause: cause})
	}
	rules := checkpoint.DefaultRules
	if in.Seed {
		rules = checkpoint.SeedRules
	}
	p := checkpoint.PlanWarmStart(warmLive{}, e, []checkpoint.Report{r}, in.GPU, rules)
	return warmDraft(p.Decisions[0]), nil
}

// warmRules maps the prefix of a reason to a rule.
var warmRules = [...]struct{ prefix, rule string }{
	{"Tier downgraded", "TierDowngrade"},
	{"Desired VRAM", "DesiredVram"},
	{"Prefer RAM", "PreferRam"},
	{"Desired tier", "NoChange"},
	{"", "NoHint"},
}

func warmDraft(d checkpoint.Decision) record.Draft {
	out := record.Draft{Target: d.Action.String(), Reason: d.Reason}
	if d.To != nil {
		out.Target += " " + d.To.String()
	}
	for _, r := range warmRules {
		out.Evaluated = append(out.Evaluated, r.rule)
		if strings.HasPrefix(d.Reason, r.prefix) {
			out.Rule = r.rule
			return out
		}
	}
	return out
}

// WarmStart is [checkpoint.PlanWarmStart], a record for each tensor.
func (r *Recorder) WarmStart(live checkpoint.Live, entries []checkpoint.Entry, reports []checkpoint.Report, gpu bool, rules checkpoint.Rules) *checkpoint.WarmStart {
	p := checkpoint.PlanWarmStart(live, entries, reports, gpu, rules)
	if r.Journal == nil {
		return p
	}
	inputs := map[string]warmInputs{}
	for i := range entries {
		e := &entries[i]
		in := warmInputs{ID: e.ID, IsGrad: e.IsGrad, Current: e.Tier, Desired: e.Hint.Desired, Down: []warmDown{}, GPU: gpu, Seed: rules == checkpoint.SeedRules}
		if t, ok := live.Tier(e.ID); ok {
			in.Current = t
		}
		if h, ok := live.Hint(e.ID); ok && h.Desired != nil {
			in.Desired = h.Desired
		}
		inputs[e.ID] = in
	}
	for _, rep := range reports {
		in, ok := inputs[rep.ID]
		for _, d := range rep.Drifts {
			if ok && d.Kind == checkpoint.TierDowngrade {
				in.Down = append(in.Down, warmDown{d.Desired, d.Restored, d.Cause == checkpoint.SafeRestorePolicy})
			}
		}
		if ok {
			inputs[rep.ID] = in
		}
	}
	for _, d := range p.Decisions {
		r.record("warm_start", inputs[d.ID], warmDraft(d))
	}
	return p
}
