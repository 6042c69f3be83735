package decide

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"atenia/internal/store/faultfs"
)

// A world is a machine whose latencies are made up.
type world struct {
	rng    *rand.Rand
	means  [2]float64 // seconds, of the processor and the device
	noise  float64    // a latency is its mean times 1 ± noise
	ticks  uint64
	policy *Policy
}

// run plays n episodes and returns seconds spent and those of an oracle that
// always takes the faster backend.
func (w *world) run(c Context, class string, n int) (spent, oracle float64, choices []string) {
	fastest := min(w.means[CPU], w.means[GPU])
	for range n {
		choice := w.policy.Choose(c, class, w.ticks)
		f := 1 + w.noise*(2*w.rng.Float64()-1)
		t := w.means[choice.Backend] * f
		spent, oracle = spent+t, oracle+fastest*f
		choices = append(choices, choice.Backend.String()+" "+choice.Reason)
		if err := w.policy.Observe(Episode{Context: c, Class: class, Backend: choice.Backend, Latency: time.Duration(t * 1e9)}); err != nil {
			panic(err)
		}
		w.ticks++
	}
	return spent, oracle, choices
}

// After 50 episodes in each context, at most 5 % more time is spent than by an
// oracle.
func TestPolicyRegret(t *testing.T) {
	for seed := range uint64(5) {
		for _, ratio := range []float64{0.05, 0.3, 0.7, 0.9, 0.96, 1, 1.03, 1.1, 1.3, 2, 5, 30} {
			p, _ := newPolicy(policyConfig{Seed: seed})
			w := &world{rng: rand.New(rand.NewPCG(seed, 0)), means: [2]float64{0.1, 0.1 * ratio}, noise: 0.1, policy: p}
			for _, c := range []Context{{true, 0.1, 0.1}, {true, 0.95, 0.1}} {
				w.run(c, "decode", 50)
				spent, oracle, _ := w.run(c, "decode", 1000)
				if r := spent/oracle - 1; r > 0.05 {
					t.Errorf("seed %d, device %g times slower: regret %.1f %%", seed, ratio, 100*r)
				}
			}
		}
	}
}

// Two contexts and two classes with different best backends are learned
// separately.
func TestPolicyContexts(t *testing.T) {
	p, _ := newPolicy(policyConfig{})
	w := &world{rng: rand.New(rand.NewPCG(7, 0)), noise: 0.1, policy: p}
	play := func(n int) (spent, oracle float64) {
		for range n {
			for i, c := range []Context{{true, 0.1, 0.1}, {true, 0.8, 0.1}} {
				for j, class := range []string{"prefill", "decode"} {
					w.means = [2]float64{0.1, 0.05}
					if i == j {
						w.means = [2]float64{0.01, 0.03}
					}
					s, o, _ := w.run(c, class, 1)
					spent, oracle = spent+s, oracle+o
				}
			}
		}
		return spent, oracle
	}
	play(50)
	if s, o := play(500); s > 1.05*o {
		t.Errorf("regret %.1f %%", 100*(s/o-1))
	}
}

// The policy follows a machine that changes, and never switches more often than
// the cooldown allows.
func TestPolicyCooldown(t *testing.T) {
	p, _ := newPolicy(policyConfig{Cooldown: 10})
	w := &world{rng: rand.New(rand.NewPCG(3, 0)), noise: 0.5, policy: p}
	c := Context{GPU: true}
	last, switches, prefers := uint64(0), 0, map[Backend]int{}
	for round := range 40 {
		w.means = [2]float64{1, 0.9}
		if round/10%2 == 1 {
			w.means = [2]float64{1, 3}
		}
		for range 50 {
			m := p.Turn(c, "", w.ticks)
			w.run(c, "", 1)
			now := p.Turn(c, "", w.ticks)
			prefers[now.Last]++
			if now.Last == m.Last {
				continue
			}
			if switches > 0 && now.LastSwitch-last < 10 {
				t.Errorf("switched at %d and %d", last, now.LastSwitch)
			}
			last = now.LastSwitch
			switches++
		}
	}
	if switches < 4 || prefers[CPU] < 300 || prefers[GPU] < 300 {
		t.Errorf("%d switches, %v", switches, prefers)
	}
}

func TestPolicyRules(t *testing.T) {
	t.Run("first episodes", func(t *testing.T) {
		p, _ := newPolicy(policyConfig{})
		w := &world{rng: rand.New(rand.NewPCG(1, 0)), means: [2]float64{2, 1}, policy: p}
		_, _, got := w.run(Context{GPU: true}, "", 8)
		check(t, "choices", got, []string{
			"Cpu trial: no latency of the cpu to compare with", "Cpu trial: cpu has 1 of 3 episodes", "Cpu trial: cpu has 2 of 3 episodes",
			"Gpu trial: gpu has 0 of 3 episodes", "Gpu trial: gpu has 1 of 3 episodes", "Gpu trial: gpu has 2 of 3 episodes",
			"Gpu switch: cpu->gpu due to learned score", "Gpu hold: same backend preferred",
		})
	})
	t.Run("errors", func(t *testing.T) { // a device that fails is not used
		p, _ := newPolicy(policyConfig{})
		c, broken := Context{GPU: true}, errors.New("out of memory")
		n := 0
		for tick := range uint64(200) {
			e := Episode{Context: c, Backend: p.Choose(c, "", tick).Backend, Latency: time.Second}
			if e.Backend == GPU {
				e.Err, n = broken, n+1
			}
			if err := p.Observe(e); err != nil {
				t.Fatal(err)
			}
		}
		s, _ := p.Trainer().Stats(c.Bucket(), GPU)
		check(t, "device", s.Score, int64(-10*n))
		if n < 3 || n > 6 {
			t.Errorf("tried %d times", n)
		}
	})
	t.Run("no device", func(t *testing.T) {
		p, _ := newPolicy(policyConfig{})
		c := p.Choose(Context{}, "", 0)
		check(t, "rules", c.Rules(), []string{ruleNoGPU})
		check(t, "backend", c.Backend, CPU)
	})
	t.Run("score", func(t *testing.T) {
		for _, c := range []struct {
			ref, t float64
			want   int32
		}{{1, 1, 0}, {1, 1.41421, -5}, {1, 0.5, 10}, {1, 0.01, 10}, {1, 100, -10}, {1, 0, 10}, {0, 1, 0}, {1, 1.07, -1}} {
			check(t, fmt.Sprint(c), scoreOf(c.ref, c.t), c.want)
		}
	})
	t.Run("decay", func(t *testing.T) {
		p, _ := newPolicy(policyConfig{})
		for range forgetAt {
			if err := p.Observe(Episode{Latency: time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		s, _ := p.Trainer().Stats(Bucket{}, CPU)
		check(t, "row", s, Stats{Count: forgetAt / 2, Success: forgetAt / 2})
	})
}

// A choice can be repeated from its record, and equal runs give equal records.
func TestPolicyReplay(t *testing.T) {
	run := func() (turns []Measured, choices []Choice) {
		p, _ := newPolicy(policyConfig{Seed: 5})
		rng := rand.New(rand.NewPCG(9, 0))
		for tick := range uint64(500) {
			c := Context{GPU: tick%50 != 0, VRAM: float32(tick/100) / 5}
			m := p.Turn(c, "decode", tick)
			choice := p.Choose(c, "decode", tick)
			turns, choices = append(turns, m), append(choices, choice)
			if err := p.Observe(Episode{Context: c, Class: "decode", Backend: choice.Backend, Latency: time.Duration(1 + rng.IntN(1000))}); err != nil {
				t.Fatal(err)
			}
		}
		return turns, choices
	}
	turns, choices := run()
	again, choicesAgain := run()
	if !reflect.DeepEqual(turns, again) || !reflect.DeepEqual(choices, choicesAgain) {
		t.Error("two equal runs differ")
	}
	for i, m := range turns {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back Measured
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if got := back.Decide(); !reflect.DeepEqual(got, choices[i]) {
			t.Fatalf("tick %d: made again: %+v, want %+v", i, got, choices[i])
		}
	}
}

// The file is that of the table, byte for byte, and a policy that starts from it
// needs one look at the processor only.
func TestPolicyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "learning")
	cfg := policyConfig{Autosave: Autosave{Path: file, EveryTicks: 1, FS: faultfs.New(0, faultfs.Fail)}}
	p, r := newPolicy(cfg)
	check(t, "report", r.Status, StatusMissing)
	w := &world{rng: rand.New(rand.NewPCG(1, 0)), means: [2]float64{3, 1}, noise: 0.1, policy: p}
	w.run(Context{GPU: true}, "decode", 100)
	text, err := os.ReadFile(file)
	if err != nil || string(text) != p.Trainer().String() {
		t.Fatalf("file %q, %v", text, err)
	}
	p, r = newPolicy(cfg)
	check(t, "report", r.Status, StatusOK)
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(text) {
		t.Errorf("saved again: %q, %v", again, err)
	}
	w.policy = p
	_, _, got := w.run(Context{GPU: true}, "decode", 2)
	check(t, "choices", got, []string{"Cpu trial: no latency of the cpu to compare with", "Gpu switch: cpu->gpu due to learned score"})
}

func BenchmarkChoose(b *testing.B) {
	p, _ := newPolicy(policyConfig{})
	c := Context{GPU: true}
	for i := range 100 {
		_ = p.Observe(Episode{Context: c, Backend: Backend(i % 2), Latency: time.Duration(1 + i)})
	}
	for i := uint64(1); b.Loop(); i++ {
		p.Choose(c, "decode", i)
	}
}
