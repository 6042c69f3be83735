package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestRandomSchedules compares who is admitted when with a model of the rules: the
// highest level, the client with the fewest tokens, the first to come. One slot and
// prompts that share nothing leave no other choice.
func TestRandomSchedules(t *testing.T) {
	m := open(t, "llama3")
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 17))
		s := m.still(small, Config{Slots: 1, PromptRows: 24})
		type asked struct {
			a        *answer
			id       string
			priority int
			client   string
			came     uint64
			prompt   int
		}
		var waiting []*asked
		var all []*answer
		used, live := map[string]int64{}, map[string]int{}
		var now *asked
		for turn := 0; turn < 400 || now != nil || len(waiting) > 0; turn++ {
			if turn < 400 && rng.IntN(4) == 0 {
				w := &asked{id: fmt.Sprint(seed, "/", turn), priority: rng.IntN(5) - 2, client: fmt.Sprint(rng.IntN(3)), came: s.steps.Load(), prompt: 1 + rng.IntN(60)}
				prompt := m.tokens(rng.Uint64(), w.prompt)
				prompt[0] = int32(len(all) % m.Config.Vocab) // shares nothing with others near it
				if live[w.client] == 0 {                     // it brings no more than the least of those that wait
					least, busy := int64(1<<62), false
					for c, n := range live {
						if n > 0 {
							least, busy = min(least, used[c]), true
						}
					}
					if busy {
						used[w.client] = max(used[w.client], least)
					}
				}
				live[w.client]++
				w.a = submit(t, s, Request{ID: w.id, Priority: w.priority, Client: w.client, Prompt: prompt, MaxTokens: 1 + rng.IntN(9)})
				waiting, all = append(waiting, w), append(all, w.a)
			}
			steps := s.steps.Load()
			if now == nil && len(waiting) > 0 {
				best := 0
				for i, w := range waiting {
					b := waiting[best]
					x, y := w.priority+int(steps-w.came)/64, b.priority+int(steps-b.came)/64
					if x > y || x == y && used[w.client] < used[b.client] {
						best = i
					}
				}
				now, waiting = waiting[best], append(waiting[:best:best], waiting[best+1:]...)
			}
			if s.turn() && now != nil {
				used[now.client] += int64(len(s.batch.step.Tokens))
				if got := s.batch.owners[0].by; got != now.id {
					t.Fatalf("seed %d, turn %d: %s is computed, want %s", seed, turn, got, now.id)
				}
			}
			if now != nil && now.a.ended() {
				live[now.client]--
				now = nil
			}
		}
	}
}

// TestNoStarvation: a request of the lowest priority is admitted although one of the
// highest always waits.
func TestNoStarvation(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 1, PromptRows: 24})
	low := submit(t, s, Request{Prompt: m.tokens(1, 4), MaxTokens: 2, Priority: -5})
	for i := 0; !low.ended(); i++ {
		if i > 12*ageSteps {
			t.Fatal("it still waits")
		}
		if s.admission.waiting() == nil || len(s.admission.waiting()) < 2 {
			submit(t, s, Request{Prompt: m.tokens(uint64(i+2), 4), MaxTokens: 2, Priority: 5})
		}
		s.turn()
	}
	if waited := s.Why(low.st.req.ID); len(waited) < 2 || waited[0].Action != actionWait {
		t.Errorf("decisions %v", waited)
	}
}

// TestFairShare: a client with one request after another gets about as many tokens as
// one that asked for everything at once.
func TestFairShare(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 1, PromptRows: 24})
	for i := range 40 {
		submit(t, s, Request{Client: "flood", Prompt: m.tokens(uint64(i), 20), MaxTokens: 4})
	}
	served := 0
	var one *answer
	for range 60 {
		if one == nil || one.ended() {
			served++
			one = submit(t, s, Request{Client: "one", Prompt: m.tokens(uint64(100+served), 20), MaxTokens: 4})
		}
		s.turn()
	}
	a, b := s.admission.clients["flood"].tokens.Load(), s.admission.clients["one"].tokens.Load()
	if b*10 < a*7 || served < 5 {
		t.Errorf("%d tokens for the client with 40 requests, %d for the other", a, b)
	}
}

// TestClientsAreForgotten: of more clients than are remembered, those whose requests have
// ended are forgotten and no others: what these were given counts on.
func TestClientsAreForgotten(t *testing.T) {
	s := open(t, "llama3").still(small, Config{})
	for i := range maxClients {
		c := s.admission.client(fmt.Sprint(i))
		c.tokens.Store(int64(1000 + i))
		if i%2 == 0 {
			c.live.Add(-1)
		}
	}
	late := s.admission.client("late")
	if n := len(s.admission.clients); n != maxClients/2+1 {
		t.Errorf("%d clients are remembered, want %d", n, maxClients/2+1)
	}
	for i := 1; i < maxClients; i += 2 {
		if c := s.admission.clients[fmt.Sprint(i)]; c == nil || c.tokens.Load() < int64(1000+i) {
			t.Fatalf("client %d, which has a request: %+v", i, c)
		}
	}
	if got := late.tokens.Load(); got != 1001 {
		t.Errorf("a new client begins at %d tokens, want those of the one with the fewest, 1001", got)
	}
}

// TestPriorityKeepsMemory: with too little memory for two, the one with the higher
// priority keeps it although it came later.
func TestPriorityKeepsMemory(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2, PromptRows: 24, CacheBytes: m.budget(11)})
	low := submit(t, s, Request{ID: "low", Prompt: m.tokens(1, 62), MaxTokens: 80})
	s.turn()
	high := submit(t, s, Request{ID: "high", Prompt: m.tokens(2, 20), MaxTokens: 150, Priority: 10})
	want := []*answer{m.alone(low.st.req), m.alone(high.st.req)}
	turns(t, s, nil, low, high)
	same(t, "low", low, want[0])
	same(t, "high", high, want[1])
	preempted := func(id string) (n int) {
		for _, d := range s.Why(id) {
			if d.Action == actionPreempt {
				n++
			}
		}
		return n
	}
	if preempted("low") == 0 || preempted("high") > 0 {
		t.Errorf("low preempted %d times, high %d times", preempted("low"), preempted("high"))
	}
}

// TestGap follows the rows of prompts beside answers with machines whose steps take
// a time of their own: what reads weights once, and what pays for every row.
func TestGap(t *testing.T) {
	for what, c := range map[string]struct {
		step     func(answers, prompts int) time.Duration
		min, max int
	}{
		"weights": {func(a, p int) time.Duration { return 10*time.Millisecond + time.Duration(a+p)*500*time.Microsecond }, 10, 16},
		"rows":    {func(a, p int) time.Duration { return time.Duration(a+p) * time.Millisecond }, 1, 2},
		"nothing": {func(a, p int) time.Duration { return time.Millisecond }, 512, 512},
	} {
		g := gap{plain: make([]time.Duration, 5), rows: gapRows}
		if n := g.prompts(0, 512, 0); n != 512 {
			t.Errorf("%s: %d rows without answers", what, n)
		}
		if n := g.prompts(1, 512, 0); n != 0 {
			t.Errorf("%s: %d rows before a step was timed", what, n)
		}
		g.observe(1, 0, c.step(1, 0))
		worst := 0.0
		for i := range 200 {
			n := g.prompts(1, 512, 0)
			d := c.step(1, n)
			g.observe(1, n, d)
			if i > 10 {
				worst = max(worst, float64(d)/float64(c.step(1, 0)))
			}
		}
		if n := g.prompts(1, 512, 0); n < c.min || n > c.max || worst > 2 {
			t.Errorf("%s: %d rows, steps at most %.2f times as long, want %d to %d and 2", what, n, worst, c.min, c.max)
		}
		if n := g.prompts(4, 512, 0); n < 4 {
			t.Errorf("%s: %d rows beside 4 answers", what, n)
		}
	}
}

// TestGapOfDeepPrompts: a prompt of 30,000 tokens, read beside answers by a machine whose
// rows take longer the deeper they are, takes half of the time and no more, and no
// step is longer than one row makes it, or twice the usual; so it is with a prompt whose
// first 28,000 tokens were cached, after a short one.
func TestGapOfDeepPrompts(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 4))
	for range 200 {
		answers := 1 + r.IntN(8)
		weights, row := time.Duration(1+r.IntN(30))*time.Millisecond, time.Duration(20+r.IntN(2000))*time.Microsecond
		deep := time.Duration(1 + r.IntN(3000)) // of a row, for each token before it
		step := func(p, depth int) time.Duration {
			return weights + time.Duration(answers+p)*row + time.Duration(p)*time.Duration(depth)*deep
		}
		g := gap{plain: make([]time.Duration, 9), rows: gapRows}
		plain := step(0, 0)
		g.observe(answers, 0, plain)
		for _, span := range [][2]int{{0, 30_000}, {0, 1000}, {28_000, 30_000}} {
			var prompts, alone time.Duration // what prompts took, and answers
			begin := span[0]
			for done, i := begin, 0; done < span[1]; i++ {
				n := g.prompts(answers, 512, done)
				d := step(n, done)
				g.observe(answers, n, d)
				done += n
				prompts, alone = prompts+d-plain, alone+plain
				one := plain + row + time.Duration(done)*deep
				if worst := max(2*plain, one); i > 10 && begin == 0 && d > worst+worst/10 || begin > 0 && d > worst+worst/4 {
					t.Fatalf("weights %v, rows %v and %v a token, %d answers: step %d with %d rows after %d tokens takes %v, alone %v, one row %v",
						weights, row, deep, answers, i, n, done-n, d, plain, one)
				}
			}
			if share := float64(prompts) / float64(alone); share > 1.05 || share < 0.2 && span[1] > 1000 {
				t.Errorf("weights %v, rows %v and %v a token, %d answers, from %d on: prompts take %.2f of what answers do", weights, row, deep, answers, begin, share)
			}
		}
	}
}
