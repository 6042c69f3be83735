package memory_test

import (
	"fmt"
	"slices"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
	"atenia/internal/store/blob"
	"atenia/internal/store/faultfs"
)

func init() { goldenTopics["grads"] = runGrads }

// A wantGrads is the expected result of one step.
type wantGrads struct {
	Report   *decide.PersistReport
	Restored int
	Data     *hexBytes
	Error    *wantError
	Tiers    []tierRow
	Keys     []string
}

func runGrads(t *testing.T, c *goldenCase) {
	var in struct {
		Memory goldenMemory
		Steps  []struct {
			Op      string
			ID      string
			IDs     []string
			Created uint64 `json:"created_unix"`
		}
	}
	var want struct {
		Steps   []wantGrads
		Tensors []wantTensor
		Ledger  wantLedger
	}
	c.decode(t, &in, &want)
	m := in.Memory.build(t)
	for i, s := range in.Steps {
		what, w := fmt.Sprintf("step %d %s", i, s.Op), &want.Steps[i]
		switch s.Op {
		case "persist":
			r, err := decide.PersistGradients(t.Context(), m.Manager, s.IDs, s.Created)
			w.Error.check(t, what, err, cacheKinds)
			if err == nil && r != *w.Report {
				t.Errorf("%s: got %+v, want %+v", what, r, *w.Report)
			}
		case "warm":
			if n := decide.WarmGradients(t.Context(), m.Manager, s.IDs); n != w.Restored {
				t.Errorf("%s: %d restored, want %d", what, n, w.Restored)
			}
		case "remove":
			m.Remove(s.ID) // of an id that is not there, too
		case "restore":
			data, err := m.RestoreGradient(s.ID)
			w.Error.check(t, what, err, cacheKinds)
			if (err == nil) != (w.Data != nil) || err == nil && !slices.Equal(data, *w.Data) {
				t.Errorf("%s: %x, want %x", what, data, w.Data)
			}
		case "reopen":
			m.reopen(t, in.Memory.VRAM)
		}
		m.checkRows(t, what, w)
	}
	m.checkTensors(t, "at the end", want.Tensors)
	m.checkLedger(t, "at the end", want.Ledger, false)
}

// reopen replaces the manager by a new one with the same cache.
func (m *goldenManager) reopen(t *testing.T, v goldenVRAM) {
	t.Helper()
	cache := m.cache
	*m = *(&goldenMemory{VRAM: v, SSDDir: "ok"}).build(t)
	m.cache = cache
	c := memory.Config{Dir: t.TempDir(), Cache: cache, FS: faultfs.NoSync()}
	if m.fake != nil {
		c.Adapter = m.fake
	}
	m.Manager = memory.New(c)
}

// checkRows compares tiers and the keys of the cache.
func (m *goldenManager) checkRows(t *testing.T, what string, w *wantGrads) {
	t.Helper()
	for _, row := range w.Tiers {
		at, ok := m.Tier(row.id)
		if ok != (row.tier != nil) || ok && at != *row.tier {
			t.Errorf("%s: %q in %v (%v), want %v", what, row.id, at, ok, row.tier)
		}
	}
	var keys []string
	if m.cache != nil {
		keys, _ = m.cache.Keys(blob.Gradient) // a blocked cache has none
	}
	if !slices.Equal(keys, w.Keys) {
		t.Errorf("%s: keys %q, want %q", what, keys, w.Keys)
	}
}
