package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestKeptSystemPrompt: a hundred conversations with one system prompt in four slots,
// with other requests between them, compute it once, and their second turns only what
// is new.
func TestKeptSystemPrompt(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 4, PromptRows: 24})
	system := m.tokens(1, 100)
	prompt := func(i int) []int32 {
		tail := m.tokens(uint64(1000+i), 20)
		tail[0] = int32(i)
		return join(system, tail)
	}
	turn := func(p []int32) (*answer, int) {
		a := submit(t, s, Request{Prompt: p, MaxTokens: 4})
		return a, turns(t, s, nil, a)
	}
	var answers [100]*answer
	for i := range answers {
		a, rows := turn(prompt(i))
		if i > 0 && rows != 20+3 {
			t.Fatalf("conversation %d: %d rows, want 20 of the prompt and 3 of the answer", i, rows)
		}
		answers[i] = a
		if i%10 == 9 {
			for k := range 6 { // others fill all slots
				turn(m.tokens(uint64(5000+10*i+k), 70))
			}
		}
	}
	for i, first := range answers {
		p := join(prompt(i), first.tokens, []int32{5, 6})
		second, rows := turn(p)
		if rows != 1+2+3 {
			t.Fatalf("second turn %d: %d rows, want 3 of the prompt and 3 of the answer", i, rows)
		}
		if i%25 == 0 {
			same(t, fmt.Sprint("second turn ", i), second, m.alone(Request{Prompt: p, MaxTokens: 4}))
		}
	}
}

// TestKeptIsBounded makes random conversations with little room and compares the
// bytes kept with those of the distinct pages, and the answers with requests alone.
func TestKeptIsBounded(t *testing.T) {
	for _, name := range mixed {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			limit := m.budget(12)
			s := m.still(small, Config{Slots: 2, PromptRows: 24, KeepBytes: limit})
			rng := rand.New(rand.NewPCG(3, 9))
			past := [][]int32{m.tokens(1, 20)}
			most := 0
			for i := range 40 {
				from := past[rng.IntN(len(past))]
				p := join(from[:1+rng.IntN(len(from))], m.tokens(rng.Uint64(), 1+rng.IntN(30)))
				p = p[:min(len(p), 150)]
				r := Request{Prompt: p, MaxTokens: 1 + rng.IntN(6)}
				a := submit(t, s, r)
				turns(t, s, nil, a)
				if i%4 == 0 {
					same(t, fmt.Sprint("request ", i), a, m.alone(r))
				}
				past = append(past, join(p, a.tokens))
				pages, bytes := map[*byte]bool{}, int64(0)
				for _, p := range s.kept.memory.list {
					lists := [][][]byte{}
					for _, x := range p.states {
						lists = append(lists, x.Pages())
					}
					for _, k := range p.snapshots {
						for _, x := range k.states {
							if x != nil {
								lists = append(lists, x.Pages())
							}
						}
					}
					for _, l := range lists {
						for _, page := range l {
							if page != nil && !pages[&page[0]] {
								pages[&page[0]], bytes = true, bytes+int64(len(page))
							}
						}
					}
				}
				if bytes != s.kept.memory.bytes || bytes > limit {
					t.Fatalf("request %d: %d bytes kept, counted as %d, %d allowed", i, bytes, s.kept.memory.bytes, limit)
				}
				most = max(most, len(s.kept.memory.list))
			}
			if most < 2 {
				t.Errorf("at most %d sequences were kept", most)
			}
			s.kept.memory.clear()
			if len(s.kept.memory.owners) != 0 || len(s.kept.memory.index) != 0 || s.kept.memory.bytes != 0 {
				t.Errorf("%d pages, %d hashes and %d bytes stay", len(s.kept.memory.owners), len(s.kept.memory.index), s.kept.memory.bytes)
			}
		})
	}
}

// TestKeptGivesWay: what is kept never keeps a request from the memory it needs.
func TestKeptGivesWay(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 1, PromptRows: 24, CacheBytes: m.budget(10), KeepBytes: 1 << 40})
	for i := range 5 {
		turns(t, s, nil, submit(t, s, Request{Prompt: m.tokens(uint64(i), 30), MaxTokens: 1}))
	}
	if len(s.kept.memory.list) == 0 {
		t.Fatal("nothing was kept")
	}
	r := Request{ID: "long", Prompt: m.tokens(77, 140), MaxTokens: 15}
	want := m.alone(r)
	a := submit(t, s, r)
	turns(t, s, nil, a)
	same(t, "long", a, want)
	evicted := 0
	for _, d := range s.Why("") {
		if d.Action == actionEvict && d.Rule == byMemory && d.Other == "long" {
			evicted++
		}
	}
	if evicted == 0 || len(s.kept.memory.list) > 0 {
		t.Errorf("%d evicted for the long one, %d still kept", evicted, len(s.kept.memory.list))
	}
}

// BenchmarkFind looks a prompt of 1,000 tokens up among a thousand kept sequences with
// the same first 900. It does arithmetic on 1,000 tokens and compares 64 sequences.
//
// match: the kept sequences have states of 1,000 positions, so that the longest one serves
// the prompt, as in use. miss: they have none, and all candidates are tried in vain.
func BenchmarkFind(b *testing.B) {
	b.Run("match", func(b *testing.B) { benchmarkFind(b, true) })
	b.Run("miss", func(b *testing.B) { benchmarkFind(b, false) })
}

func benchmarkFind(b *testing.B, match bool) {
	m := open(b, "llama3")
	s, err := newScheduler(m.executor(small), Config{Slots: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.shutdown()
	system := m.tokens(1, 900)
	first, err := s.blank(m.tokens(1, 1000), 1001)
	if err != nil {
		b.Fatal(err)
	}
	defer first.clear()
	for i := range 1000 {
		sl := s.newSlot()
		if match {
			sl = first.forked().slot
		}
		sl.tokens = join(system, m.tokens(uint64(i), 100))
		sl.done = len(sl.tokens)
		p := &prefix{slot: sl}
		p.chain = chain(nil, adapter{}, sl.tokens)
		s.kept.memory.list = append(s.kept.memory.list, p)
		for _, h := range p.chain {
			s.kept.memory.index[h] = append(s.kept.memory.index[h], p)
		}
	}
	r := &Request{Prompt: join(system, m.tokens(5, 100)), MaxTokens: 1}
	if match {
		r.Prompt = append(r.Prompt, 1)
	} else {
		r.Prompt = join(system, m.tokens(5000, 100))
	}
	n := 0
	for b.Loop() {
		_, n = s.kept.memory.find(r)
	}
	if want := map[bool]int{true: 1000}[match]; n != want {
		b.Errorf("%d tokens were found, want %d", n, want)
	}
	for _, p := range s.kept.memory.list {
		p.clear()
	}
	s.kept.memory = newPrefixCache(0, 0, len(s.storage.pools))
}
