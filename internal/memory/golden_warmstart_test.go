package memory_test

import (
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
)

func init() { goldenTopics["warmstart"] = runWarmStart }

func runWarmStart(t *testing.T, c *goldenCase) {
	type placed struct {
		ID          string
		Tier        memory.Tier
		IsGrad      bool         `json:"is_grad"`
		DesiredTier *memory.Tier `json:"desired_tier"`
	}
	var in struct {
		Entries      []placed
		LiveTiers    []placed `json:"live_tiers"`
		LiveHints    []placed `json:"live_hints"`
		Reports      []wantReport
		GPUAvailable bool `json:"gpu_available"`
		Planner      string
	}
	var want struct {
		Decisions []struct {
			ID      string
			IsGrad  bool `json:"is_grad"`
			Current memory.Tier
			Desired *memory.Tier
			Action  string
			To      *memory.Tier
			Reason  *string
		}
		Summary         string
		HintsAfterApply []wantHintText `json:"hints_after_apply"`
	}
	c.decode(t, &in, &want)
	m := memory.New(memory.Config{})
	for _, x := range in.LiveTiers {
		if err := m.Register(x.ID, 1, x.Tier); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range in.LiveHints {
		m.SetHint(x.ID, memory.Hint{Desired: x.DesiredTier})
	}
	var entries []checkpoint.Entry
	for _, x := range in.Entries {
		entries = append(entries, checkpoint.Entry{ID: x.ID, IsGrad: x.IsGrad, Tier: x.Tier, Hint: memory.Hint{Desired: x.DesiredTier}})
	}
	rules := checkpoint.DefaultRules
	if in.Planner == "seed" {
		rules = checkpoint.SeedRules
	}
	p := checkpoint.PlanWarmStart(m, entries, reportsOf(in.Reports), in.GPUAvailable, rules)
	if p.Summary != want.Summary || len(p.Decisions) != len(want.Decisions) {
		t.Fatalf("got %+v, want %+v", p, want)
	}
	for i, w := range want.Decisions {
		d := p.Decisions[i]
		if d.ID != w.ID || d.IsGrad != w.IsGrad || d.Current != w.Current || !sameTier(d.Desired, w.Desired) || d.Action.String() != w.Action || !sameTier(d.To, w.To) {
			t.Errorf("decision %d is %+v, want %+v", i, d, w)
		}
		checkText(t, "reason of "+w.ID, d.Reason, w.Reason)
	}
	p.ApplySummaries(m.SetHint)
	for _, w := range want.HintsAfterApply {
		h, ok := m.Hint(w.id)
		if !ok || !sameTier(h.Desired, w.desired) || !h.HasSummary {
			t.Errorf("hint of %q is %+v, want %+v", w.id, h, w)
		}
		checkText(t, "summary of "+w.id, h.Summary, w.summary)
	}
}

// A wantHintText is [id, desired_tier, last_plan_summary], the summary free
// text if it is null.
type wantHintText struct {
	id      string
	desired *memory.Tier
	summary *string
}

func (w *wantHintText) UnmarshalJSON(b []byte) error {
	return unmarshalList(b, &w.id, &w.desired, &w.summary)
}

func sameTier(a, b *memory.Tier) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// reportsOf makes reports of those of a case.
func reportsOf(in []wantReport) (out []checkpoint.Report) {
	kinds := map[string]checkpoint.DriftKind{}
	for _, k := range []checkpoint.DriftKind{checkpoint.MissingBackend, checkpoint.TierDowngrade, checkpoint.PlanMismatch} {
		kinds[k.String()] = k
	}
	for _, r := range in {
		x := checkpoint.Report{ID: r.EntryID}
		for _, d := range r.Drifts {
			y := checkpoint.Drift{Kind: kinds[d.Drift]}
			if d.Cause == checkpoint.SafeRestorePolicy.String() {
				y.Cause = checkpoint.SafeRestorePolicy
			}
			if d.Desired != nil {
				y.Desired = *d.Desired
			}
			if d.Restored != nil {
				y.Restored = *d.Restored
			}
			if d.Summary != nil {
				y.Summary = *d.Summary
			}
			x.Drifts = append(x.Drifts, y)
		}
		out = append(out, x)
	}
	return out
}
