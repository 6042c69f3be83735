package checkpoint

import (
	"testing"

	"atenia/internal/memory"
)

// TestWarmStart holds a warm start's acceptance cases.
func TestWarmStart(t *testing.T) {
	t.Parallel()
	entry := func(at memory.Tier, desired *memory.Tier) []Entry {
		return []Entry{{ID: "t1", Tier: at, Hint: memory.Hint{Desired: desired}}}
	}
	down := []Report{{"t1", []Drift{{Kind: TierDowngrade, Desired: memory.VRAM, Restored: memory.RAM, Cause: SafeRestorePolicy}}}}
	is := func(t *testing.T, p *WarmStart, a Action, to *memory.Tier, reason, summary string) {
		t.Helper()
		d := p.Decisions[0]
		if d.Action != a || (d.To == nil) != (to == nil) || to != nil && *d.To != *to || d.Reason != reason || p.Summary != summary {
			t.Errorf("%+v, %s; want %v %v %q, %s", d, p.Summary, a, to, reason, summary)
		}
	}
	for id, run := range map[string]func(t *testing.T, m *memory.Manager){
		"WS-1": func(t *testing.T, m *memory.Manager) {
			e := entry(memory.RAM, ptr(memory.VRAM))
			is(t, PlanWarmStart(m, e, nil, true, SeedRules), HintPromote, ptr(memory.VRAM), "Desired VRAM and GPU available", "warm_start: keep=0 promote=1 degrade=0")
			p := PlanWarmStart(m, e, nil, false, SeedRules)
			is(t, p, DegradeSafe, ptr(memory.RAM), "Desired VRAM but GPU unavailable", "warm_start: keep=0 promote=0 degrade=1")
			p.ApplySummaries(m.SetHint)
			if h, _ := m.Hint("t1"); h.Summary != "Desired VRAM but GPU unavailable" || h.Desired == nil || *h.Desired != memory.VRAM {
				t.Errorf("%+v", h)
			}
		},
		"WS-2": func(t *testing.T, m *memory.Manager) {
			e := entry(memory.VRAM, ptr(memory.VRAM))
			const why = "Tier downgraded from Vram to Ram during restore drift"
			is(t, PlanWarmStart(m, e, down, false, SeedRules), DegradeSafe, ptr(memory.RAM), why, "warm_start: keep=0 promote=0 degrade=1")
			is(t, PlanWarmStart(m, e, down, false, DefaultRules), DegradeSafe, ptr(memory.RAM), why, "warm_start: keep=0 promote=0 degrade=1")
			// With a GPU the seed's rules still keep it down; a step that only
			// the restore's caution asked for is undone by ours.
			is(t, PlanWarmStart(m, e, down, true, SeedRules), DegradeSafe, ptr(memory.RAM), why, "warm_start: keep=0 promote=0 degrade=1")
			is(t, PlanWarmStart(m, e, down, true, DefaultRules), HintPromote, ptr(memory.VRAM), "Desired VRAM and GPU available", "warm_start: keep=0 promote=1 degrade=0")
		},
		"WS-3": func(t *testing.T, m *memory.Manager) {
			is(t, PlanWarmStart(m, entry(memory.RAM, ptr(memory.SSD)), nil, true, SeedRules), Keep, nil,
				"Desired tier is Ssd and current placement is Ram, no change planned", "warm_start: keep=1 promote=0 degrade=0")
			is(t, PlanWarmStart(m, entry(memory.SSD, ptr(memory.RAM)), nil, true, SeedRules), HintPromote, ptr(memory.RAM),
				"Prefer RAM for faster access when safe", "warm_start: keep=0 promote=1 degrade=0")
			is(t, PlanWarmStart(m, entry(memory.SSD, nil), nil, true, SeedRules), Keep, nil, "No desired tier hint", "warm_start: keep=1 promote=0 degrade=0")
		},
		"WS-4": func(t *testing.T, _ *memory.Manager) {
			w := newWorld(t)
			w.ram(w.manager(), "t1", []byte{1}, true)
			w.write(manifestText(entryText("t1", "ssd", 1, "ram", "none")))
			m, r := w.restore(RestoreOptions{Lazy: true})
			is(t, PlanWarmStart(m, r.Manifest.Entries, r.Reports, true, DefaultRules), HintPromote, ptr(memory.RAM),
				"Prefer RAM for faster access when safe", "warm_start: keep=0 promote=1 degrade=0")
			if s, ok := m.LazyState("t1"); !ok || s != memory.Unmaterialized {
				t.Errorf("state %v, %v", s, ok)
			}
		},
	} {
		t.Run(id, func(t *testing.T) { run(t, memory.New(memory.Config{})) })
	}
}
