package atenia_test

import (
	"path/filepath"
	"slices"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// TestHeldIsPacked: in a budget that all weights just fit they are packed where they are,
// which is told by who plans it and by the account of the run, and changes no token; with room
// for a packed form beside the mapped files they are mapped.
func TestHeldIsPacked(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	cfg := atenia.Config{Threads: 1, Context: 64, BatchTokens: 4}
	cfg.Budget.Reserve.Runtime = 64 << 20
	cfg.Placement.NoProbe = true
	a, err := atenia.Advise(t.Context(), path, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	run := func(ram int64, off bool) (tokens []int32, p place.Packing, r *place.LastRun) {
		t.Helper()
		c := cfg
		if c.Budget.RAM, c.Observe.Account = ram, t.TempDir(); off {
			c.Pack = "off"
		}
		m, err := atenia.Open(t.Context(), path, &c)
		if err != nil {
			t.Fatal(err)
		}
		tokens = generate(t, m, atenia.Prompt{Text: "Once", Options: atenia.Options{MaxTokens: 8}}).ids
		p = m.Packing()
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err = atenia.ReadLastRun(c.Observe.Account, path); err != nil {
			t.Fatal(err)
		}
		return tokens, p, r
	}
	want, p, _ := run(a.Fit, true)
	if p.Held != 0 {
		t.Fatalf("pack off: %+v", p)
	}
	got, p, r := run(a.Fit, false)
	if p.Mode != "off" || p.Held == 0 || !slices.Equal(got, want) {
		t.Errorf("%+v: tokens %v, want %v", p, got, want)
	}
	if r.Form != "packed" || r.Pack != 0 {
		t.Errorf("the account says that weights are %s, and that packing them takes %d bytes", r.Form, r.Pack)
	}
	if got, p, _ := run(2*a.Fit, false); p.Mode != "memory" || p.Held != 0 || !slices.Equal(got, want) {
		t.Errorf("in much memory: %+v: tokens %v, want %v", p, got, want)
	}
}
