package engine

import (
	"path/filepath"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/embedded"
)

// TestDraftShares: the memory for keys and values is divided between both models in
// proportion to what a token takes of each, and what an open draft model holds is within
// what its placement reserved.
func TestDraftShares(t *testing.T) {
	dir := filepath.Join(golden.Root(t), "testdata", "golden", "parity")
	const bound = 4 << 20
	config := Config{Context: 256, Threads: 1, Slots: 2, BatchTokens: 64, CacheBytes: bound, Draft: filepath.Join(dir, "gemma3")}
	config.Budget.RAM = 256 << 20
	config.Rules.NoProbe = true
	open := func(draft string) (*Engine, func()) {
		t.Helper()
		c := config
		c.Draft = draft
		e, _, end := opened(t, "llama3", c)
		return e, end
	}
	plain, end := open("")
	without, packed := plain.Plan.account.Held(), plain.Plan.account.Of(ledger.Packed)
	end()
	before := ledger.Process.Held() - ledger.Process.Of(ledger.Program)
	for _, draft := range []string{config.Draft, embedded.Name} {
		e, end := open(draft)
		checkShares(t, e.Plan, bound, without)
		if n := e.Plan.account.Of(ledger.Packed); n > packed {
			t.Errorf("%d bytes of packed weights, %d without a draft model", n, packed)
		}
		end()
		if held := ledger.Process.Held() - ledger.Process.Of(ledger.Program); held != before {
			t.Errorf("%d bytes are held after all was closed, %d before", held, before)
		}
	}
}

func checkShares(t *testing.T, p *Plan, bound, without int64) {
	t.Helper()
	if p.Config.CacheBytes+p.draft.cache != bound {
		t.Errorf("%d and %d bytes of keys and values, want %d in all", p.Config.CacheBytes, p.draft.cache, bound)
	}
	_, own := p.draft.StateBytes()
	_, target := p.StateBytes()
	if got, want := float64(p.draft.cache)/float64(bound), float64(own)/float64(own+target); got < want*0.8 || got > want*1.2 { // windows take less
		t.Errorf("the draft model has %.2f of it, a token takes %.2f", got, want)
	}
	if held, most := p.account.Held()-without, p.draftBytes(); held <= 0 || held > most {
		t.Errorf("the draft model holds %d bytes, %d are reserved for it", held, most)
	}
}
