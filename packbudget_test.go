package atenia_test

import (
	"fmt"
	"strings"
	"testing"

	"atenia"
	"atenia/place"
)

// TestPackBudget: the budget in which an account says that weights are packed is one in
// which they are, and not far above the least.
func TestPackBudget(t *testing.T) {
	cfg := atenia.Config{Threads: 1}
	cfg.Budget.Reserve.Runtime = 64 << 20
	cfg.Placement.NoProbe = true
	a, err := atenia.Advise(t.Context(), "", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	run := func(ram int64) (*place.LastRun, string) {
		t.Helper()
		c := cfg
		c.Budget.RAM, c.Observe.Account = ram, t.TempDir()
		m, err := atenia.Open(t.Context(), "", &c)
		if err != nil {
			t.Fatal(err)
		}
		generate(t, m, atenia.Prompt{Text: "Once", Options: atenia.Options{MaxTokens: 4}})
		mode := m.Packing().Mode
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := atenia.ReadLastRun(c.Observe.Account, "atenia-story")
		if err != nil {
			t.Fatal(err)
		}
		return r, mode
	}
	r, mode := run(a.Fit)
	if mode != "off" || r.Pack == 0 || r.PackNeed <= a.Fit {
		t.Fatalf("in %d bytes packing is %s, %d would be packed in %d", a.Fit, mode, r.Pack, r.PackNeed)
	}
	if _, mode := run(r.PackNeed); mode != "memory" {
		t.Errorf("in the %d bytes that were told packing is %s", r.PackNeed, mode)
	}
	if _, mode := run(r.PackNeed - 6<<20); mode != "off" {
		t.Errorf("in 6 MiB less than the %d bytes that were told packing is %s, too", r.PackNeed, mode)
	}
}

// TestAdviseSaysWhatItAssumes: a verdict by rates that nobody measured has no range, and
// one within a quota of keys and values says how long texts may be.
func TestAdviseSaysWhatItAssumes(t *testing.T) {
	cfg := atenia.Config{Threads: 1, Context: 256}
	cfg.Placement.NoProbe = true
	advise := func() (*place.Advice, string) {
		t.Helper()
		a, err := atenia.Advise(t.Context(), "", &cfg)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := a.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return a, b.String()
	}
	const assumed, room = "by rates that were assumed, not measured", "keys and values have room for "
	a, text := advise()
	if !a.Assumed || !strings.Contains(text, assumed) || strings.Contains(text, "–") || strings.Contains(text, room) {
		t.Errorf("%+v: %s", a.Outcome, text)
	}
	cfg.Placement.Rates = place.Rates{SSD: 1e9, RAM: 1e10, FLOPS: 1e11}
	cfg.Budget.RAM, cfg.Budget.Reserve.KV = 1<<30, 1<<19
	a, text = advise()
	if a.Assumed || strings.Contains(text, assumed) || a.Context == 0 || a.Context >= 256 || !strings.Contains(text, fmt.Sprintf("%s%d of 256 tokens", room, a.Context)) {
		t.Errorf("%+v: %s", a.Outcome, text)
	}
	c := cfg
	m, err := atenia.Open(t.Context(), "", &c)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Context() != a.Context {
		t.Errorf("a sequence may have %d tokens, and %d were told", m.Context(), a.Context)
	}
}
