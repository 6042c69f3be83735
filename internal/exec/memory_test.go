package exec_test

import (
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden/await"
	"atenia/internal/model/compile"
)

// No kernel writes beyond the work arena, whose size is the largest that an
// adapter reserved.
func TestWorkArena(t *testing.T) {
	cfg := small
	cfg.Threads = 3
	for _, name := range invariant {
		m := openCase(t, name, compile.Options{})
		tokens := randomTokens(6, cfg.MaxTokens, m.Config.Vocab)
		l := m.lane(t, cfg)
		intact := l.x.GuardWork()
		got := l.all(tokens, cfg.MaxTokens-2, 1)
		if !intact() {
			t.Errorf("%s: bytes behind the arena changed", name)
		}
		sameRows(t, "guarded", got, m.lane(t, cfg).all(tokens, cfg.MaxTokens))
	}
}

// Prefill and decode share one allocation set: going back and forth between
// them allocates nothing and grows nothing.
func TestModeSwitching(t *testing.T) {
	m := openCase(t, "parity/gemma3", compile.Options{})
	x, decode := decodeStep(t, m, small)
	prefill := &exec.Step{Runs: []exec.Run{decode.Runs[0]}, Tokens: []int32{1, 2, 3, 4, 5}, Requested: []int32{4}}
	prefill.Runs[0].Pos, prefill.Runs[0].Len = 0, 5
	before := x.ScratchBytes()
	step := func(s *exec.Step) {
		if err := x.Step(s); err != nil {
			t.Fatal(err)
		}
	}
	if n := await.Allocs(30, func() { step(prefill); step(decode) }); n != 0 {
		t.Errorf("%g allocations to go back and forth", n)
	}
	if x.ScratchBytes() != before {
		t.Errorf("%d bytes of scratch became %d", before, x.ScratchBytes())
	}
}

// Paging is not a prerequisite: with one page that holds the whole context the
// results are the same.
func TestFixedPaging(t *testing.T) {
	for _, name := range invariant[:3] {
		m := openCase(t, name, compile.Options{})
		tokens := randomTokens(8, 60, m.Config.Vocab)
		fixed := openCase(t, name, compile.Options{PageTokens: small.Context})
		sameRows(t, "one page", fixed.lane(t, small).all(tokens, 50, 1), m.lane(t, small).all(tokens, 50, 1))
	}
}
