package sched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// mixed are models whose states differ: pages, pages behind a window, and states
// that keep no positions apart beside pages.
var mixed = []string{"llama3", "mistral_window", "granite_hybrid", "lfm2", "qwen3_next", "mamba"}

// TestConversations branches conversations at random places, in few slots with
// little memory, cancels some, and compares every answer with that of a scheduler
// which computes it from the beginning.
func TestConversations(t *testing.T) {
	for _, name := range mixed {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			rng := rand.New(rand.NewPCG(5, 17))
			for _, cfg := range []Config{
				{Slots: 3, SnapshotTokens: 8},
				{Slots: 2, SnapshotTokens: 5, Snapshots: 1},
				{Slots: 3, SnapshotTokens: 16, Snapshots: -1},
			} {
				s := m.still(small, cfg)
				past := [][]int32{m.tokens(1, 30)}
				for round := range 12 {
					var answers, want []*answer
					for i := range 1 + rng.IntN(3) {
						from := past[rng.IntN(len(past))]
						prompt := append(slices.Clone(from[:1+rng.IntN(len(from))]), m.tokens(rng.Uint64(), 1+rng.IntN(9))...)
						r := Request{Prompt: prompt, MaxTokens: 1 + rng.IntN(12)}
						answers, want = append(answers, submit(t, s, r)), append(want, m.alone(r))
						if rng.IntN(6) == 0 {
							answers[i].st.Close()
						}
					}
					turns(t, s, nil, answers...)
					for i, a := range answers {
						if a.st.Err() != nil { // cancelled
							continue
						}
						same(t, fmt.Sprintf("round %d, request %d", round, i), a, want[i])
						past = append(past, append(slices.Clone(a.st.req.Prompt), a.tokens...))
					}
				}
			}
		})
	}
}

// TestRegenerate: a prompt that is sent again computes its last token alone, and
// one that leaves the conversation at a snapshot computes what follows.
func TestRegenerate(t *testing.T) {
	for _, name := range mixed {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			s := m.still(small, Config{Slots: 1, SnapshotTokens: 8})
			prompt := m.tokens(3, 40)
			ask := func(what string, prompt []int32, rows int) {
				t.Helper()
				r := Request{Prompt: prompt, MaxTokens: 6}
				a := submit(t, s, r)
				got := turns(t, s, nil, a)
				same(t, what, a, m.alone(r))
				if got != rows+5 {
					t.Errorf("%s: %d rows were computed, want %d", what, got, rows+5)
				}
			}
			ask("first", prompt, 40)
			ask("again", prompt, 1)
			other := append(slices.Clone(prompt[:32]), m.tokens(4, 7)...)
			if s.storage.pools[0].Cache().Config().Window > 0 { // the window before the snapshot is gone
				ask("another end", other, 39)
				return
			}
			ask("another end", other, 7)
			ask("and again", other, 1)
		})
	}
}

// TestPrefixReuseHybrid: a prompt continues where all of a model's states can, which is
// the last snapshot before it leaves the conversation when one of them keeps no
// positions apart, and computes the rest and no more; a model without such states
// continues where the prompts differ.
func TestPrefixReuseHybrid(t *testing.T) {
	const length, every = 45, 8
	for _, name := range []string{"granite_hybrid", "lfm2", "qwen3_next", "mamba", "llama3"} {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			first := m.tokens(3, length)
			for _, shared := range []int{1, 7, 8, 9, 15, 16, 31, 32, 33, 40, 43} {
				s := m.still(small, Config{Slots: 1, SnapshotTokens: every, Snapshots: length})
				turns(t, s, nil, submit(t, s, Request{Prompt: first, MaxTokens: 3}))
				prompt := join(first[:shared], m.tokens(uint64(shared), 5))
				from := shared
				for prompt[from] == first[from] { // by chance
					from++
				}
				if name != "llama3" {
					from -= from % every
				}
				r := Request{Prompt: prompt, MaxTokens: 4}
				second := submit(t, s, r)
				if got, want := turns(t, s, nil, second), len(prompt)-from+3; got != want {
					t.Errorf("%d tokens shared: %d rows were computed, want %d", shared, got, want)
				}
				same(t, fmt.Sprint(shared, " shared"), second, m.alone(r))
			}
		})
	}
}

// TestStoppedStep: a step that stops half-way leaves states that were changed in
// place; the answer is the same bits.
func TestStoppedStep(t *testing.T) {
	for _, name := range mixed {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			s := m.still(small, Config{Slots: 2, SnapshotTokens: 8})
			r := Request{Prompt: m.tokens(6, 37), MaxTokens: 9}
			want := m.alone(r)
			rng := rand.New(rand.NewPCG(8, 8))
			stops, left := 0, rng.IntN(60)
			r.Trace = func(Traced) {
				if left--; left == 0 && stops < 12 {
					stops++
					left = 1 + rng.IntN(200)
					s.batch.stop.Store(true)
				}
			}
			a := submit(t, s, r)
			turns(t, s, nil, a)
			same(t, "stopped", a, want)
			if stops < 2 {
				t.Errorf("only %d steps were stopped", stops)
			}
		})
	}
}
