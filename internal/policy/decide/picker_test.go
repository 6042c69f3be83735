package decide

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/store/faultfs"
)

// A shared machine has cores, of which neighbours take some. Work is divided
// evenly among threads, and a thread that shares its core takes twice as long,
// which all others wait for.
type shared struct {
	cores, taken int
	rng          *rand.Rand
	noise        float64
}

func (m *shared) cost(threads int) float64 {
	t := 1/float64(threads) + 0.02 // a part that cannot be divided
	if threads > m.cores-m.taken {
		t += 1 / float64(threads)
	}
	return t
}

func (m *shared) best() float64 {
	best := m.cost(1)
	for n := range m.cores {
		best = min(best, m.cost(n+1))
	}
	return best
}

func threadOptionsOf(n int) (out []Option) {
	for k := n; k >= 1; k-- {
		out = append(out, Option{fmt.Sprint(k), float64(n) / float64(k)})
	}
	return out
}

var here = Place{Model: "m", Class: "decode", Knob: threads}

// play runs episodes and returns seconds spent and those of an oracle.
func (m *shared) play(h *Handle, n int) (spent, oracle float64, log []Pick) {
	for range n {
		in := *h.Pick()
		in.Arms = append([]Arm{}, in.Arms...)
		option := h.Follow(h.Pick().Decide())
		var threads int
		fmt.Sscan(option, &threads)
		f := 1 + m.noise*(2*m.rng.Float64()-1)
		t := m.cost(threads) * f
		spent, oracle = spent+t, oracle+m.best()*f
		h.Observe(option, t, true)
		log = append(log, in)
	}
	return spent, oracle, log
}

// While neighbours come and go, at most 5 % more time is spent than by an oracle
// that knows each phase's best number of threads, and less than half of what all
// threads would lose; trials lose no more than their share.
func TestPickerRegret(t *testing.T) {
	for _, cores := range []int{2, 4, 8} {
		for seed := range uint64(5) {
			p, _ := newPicker(PickConfig{Seed: seed}, "", nil)
			h := p.At(here, PickConfig{}, threadOptionsOf(cores))
			m := &shared{cores: cores, rng: rand.New(rand.NewPCG(seed, 1)), noise: 0.1}
			var spent, oracle, fixed float64
			for phase := range 12 {
				m.taken = []int{0, 1, 0, max(1, cores/2)}[phase%4]
				const steps = 1500
				s, o, _ := m.play(&h, steps)
				if phase >= 4 { // after learning
					spent, oracle, fixed = spent+s, oracle+o, fixed+steps*m.cost(cores)
				}
			}
			lost, all := 0.0, 0.0
			for _, a := range h.Pick().Arms {
				lost, all = lost+a.Lost, all+a.Spent
			}
			t.Logf("%d cores, seed %d: regret %.1f %%, without a policy %.1f %%, trials lost %.2f %%", cores, seed, 100*(spent/oracle-1), 100*(fixed/oracle-1), 100*lost/all)
			if r := spent/oracle - 1; r > 0.05 || cores > 2 && spent > (fixed+oracle)/2 {
				t.Errorf("%d cores, seed %d: regret %.1f %%, %.3g s of %.3g s with all threads", cores, seed, 100*r, spent, fixed)
			}
			if lost > 1.1*defaultShare*all {
				t.Errorf("%d cores, seed %d: trials lost %.2f %%", cores, seed, 100*lost/all)
			}
		}
	}
}

// Every choice can be made again from its record, and equal runs are equal.
func TestPickerReplay(t *testing.T) {
	run := func() (log []Pick) {
		p, _ := newPicker(PickConfig{Seed: 7}, "", nil)
		h := p.At(here, PickConfig{}, threadOptionsOf(4))
		m := &shared{cores: 4, rng: rand.New(rand.NewPCG(3, 1)), noise: 0.1}
		for phase := range 4 {
			m.taken = phase % 2
			_, _, l := m.play(&h, 300)
			log = append(log, l...)
		}
		return log
	}
	log, again := run(), run()
	if !reflect.DeepEqual(log, again) {
		t.Error("two equal runs differ")
	}
	rules := map[Rule]int{}
	for i := range log {
		b, err := json.Marshal(log[i])
		if err != nil {
			t.Fatal(err)
		}
		var back Pick
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		v, want := back.Decide(), log[i].Decide()
		if v != want || back.Reason(v) != log[i].Reason(want) {
			t.Fatalf("%d: made again: %+v, want %+v", i, v, want)
		}
		rules[v.Rule]++
	}
	for _, r := range []Rule{ruleFirst, ruleTryOption, ruleGoesOn, ruleFaster, ruleChanged, ruleKeep} {
		if rules[r] == 0 {
			t.Errorf("rule %s never applied: %v", r, rules)
		}
	}
}

// A file keeps what was learned, byte for byte, and the next process starts with
// the fastest option.
func TestPickerFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "learning.choices")
	p, r := newPicker(PickConfig{}, file, nil)
	check(t, "report", r.Status, StatusMissing)
	h := p.At(here, PickConfig{}, threadOptionsOf(4))
	m := &shared{cores: 4, taken: 1, rng: rand.New(rand.NewPCG(3, 1))}
	m.play(&h, 1000)
	odd := p.At(Place{Model: "a;b\n", Class: "decode", Knob: weightsKnob}, PickConfig{Whole: true}, []Option{{Name: "packed"}, {Name: "mapped"}})
	odd.Observe("packed", 1.5, true)
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(want), pickHeader+"\n") || !strings.Contains(string(want), "model=a_b;class=decode;knob=weights;option=packed;count=1;success=1;seconds=1.5;") {
		t.Fatalf("%q, %v", want, err)
	}
	for range 2 {
		q, r := newPicker(PickConfig{}, file, nil)
		check(t, "report", r, Report{Status: StatusOK})
		h := q.At(here, PickConfig{}, threadOptionsOf(4))
		check(t, "starts with", h.Pick().Arms[h.Pick().Current].Option, "3")
		q.At(here, PickConfig{}, threadOptionsOf(2)) // fewer cores now: the rest of what is known is kept
		if err := q.Save(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
			t.Fatalf("saved again: %q, %v", got, err)
		}
	}
}

// The name beside the table's is the program's: a link there is replaced and not
// followed, and another name of the file keeps what it has.
func TestPickerLink(t *testing.T) {
	for name, link := range map[string]func(from, to string) error{"symbolic": os.Symlink, "hard": os.Link} {
		dir := t.TempDir()
		victim, file := filepath.Join(dir, "victim"), choicesPath(filepath.Join(dir, "learning"))
		mine := pickHeader + "\n"
		if err := os.WriteFile(victim, []byte(mine), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := link(victim, file); err != nil {
			t.Skip(err)
		}
		p, _ := newPicker(PickConfig{}, file, nil)
		h := p.At(here, PickConfig{}, threadOptionsOf(2))
		h.Observe("2", 1, true)
		if err := p.Save(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(victim); err != nil || string(got) != mine {
			t.Errorf("%s: written through the link: %q, %v", name, got, err)
		}
		if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%s: the link stayed: %v", name, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != p.String() {
			t.Errorf("%s: saved %q, %v", name, got, err)
		}
	}
}

// Damaged lines are skipped and reported, and their file is kept; so is a
// foreign one. One that cannot be read is not replaced.
func TestPickerDamage(t *testing.T) {
	const line = "gpu_avail=0;vram_band=0;ram_band=1;model=m;class=c;knob=threads;option=2;count=3;success=3;seconds=1;spent=3;lost=0;age=5\n"
	for _, c := range [][2]string{
		{strings.Replace(line, "success=3", "success=4", 1), "success: want at most count, which is 3, got 4"},
		{strings.Replace(line, "seconds=1", "seconds=NaN", 1), "seconds: want"},
		{strings.Replace(line, "knob=threads", "knob=x", 1), "no knob"},
		{strings.Replace(line, "option=2", "option=", 1), "no model, class or option"},
		{strings.Replace(line, "ram_band=1", "ram_band=9", 1), "ram_band: want"},
	} {
		file := filepath.Join(t.TempDir(), "f")
		text := pickHeader + "\n" + c[0] + line
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p, r := newPicker(PickConfig{}, file, nil)
		if r.Skipped != 1 || !strings.Contains(r.First.Error(), "line 2: "+c[1]) || len(p.Known()) != 1 {
			t.Errorf("%q: %+v", c[0], r)
		}
		if err := p.Save(); err != nil {
			t.Fatal(err)
		}
		if bak, err := os.ReadFile(file + ".bak-1"); err != nil || string(bak) != text {
			t.Errorf("kept %q, %v", bak, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != pickHeader+"\n"+line {
			t.Errorf("written %q, %v", got, err)
		}
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("ATENIA_CHOICES_V9\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p, r := newPicker(PickConfig{}, file, nil)
	if r.Status != StatusForeign || !errors.Is(r.Err, errFormat) {
		t.Errorf("%+v", r)
	}
	if err := p.Save(); err != nil || !exists(file+".bak-1") {
		t.Errorf("foreign: %v", err)
	}
	dir := t.TempDir()
	p, r = newPicker(PickConfig{}, dir, nil)
	if r.Status != StatusUnreadable || !errors.Is(p.Save(), ErrIO) {
		t.Errorf("a folder: %+v", r)
	}
}

// The old file or the new one, whatever call fails or kills.
func TestPickerFaults(t *testing.T) {
	for fault := range faultfs.Full + 1 {
		for n, fsys := range faultfs.Each(fault) {
			file := filepath.Join(t.TempDir(), "f")
			old, _ := newPicker(PickConfig{}, file, nil)
			h := old.At(here, PickConfig{}, threadOptionsOf(2))
			h.Observe("2", 1, true)
			if err := old.Save(); err != nil {
				t.Fatal(err)
			}
			p, _ := newPicker(PickConfig{}, file, fsys)
			h = p.At(here, PickConfig{}, threadOptionsOf(2))
			h.Observe("1", 2, true)
			err := p.Save()
			fsys.PowerCut()
			got, r := newPicker(PickConfig{}, file, nil)
			if s := got.String(); r.Skipped > 0 || s != old.String() && s != p.String() || err == nil && s != p.String() {
				t.Fatalf("fault %d at call %d: error %v, file %q", fault, n, err, s)
			}
		}
	}
}

// A failed episode counts as a run without success, and its time is not learned.
func TestPickerFailure(t *testing.T) {
	p, _ := newPicker(PickConfig{}, "", nil)
	h := p.At(here, PickConfig{}, threadOptionsOf(2))
	h.Observe("2", 9, false)
	h.Observe("none", 9, true) // an option that there is not
	check(t, "arm", h.Pick().Arms[0], Arm{Option: "2", Guess: 1, Count: 1})
}

// A decision in the loop of tokens allocates nothing.
func TestPickerAllocations(t *testing.T) {
	p, _ := newPicker(PickConfig{}, "", nil)
	h := p.At(here, PickConfig{}, threadOptionsOf(8))
	m := &shared{cores: 8, taken: 1}
	i := 0
	if n := await.Allocs(2000, func() {
		option := h.Follow(h.Pick().Decide())
		h.Observe(option, m.cost(8-i%8), true)
		i++
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkPick(b *testing.B) {
	p, _ := newPicker(PickConfig{}, "", nil)
	h := p.At(here, PickConfig{}, threadOptionsOf(8))
	m := &shared{cores: 8, taken: 1}
	for b.Loop() {
		h.Observe(h.Follow(h.Pick().Decide()), m.cost(7), true)
	}
}

func FuzzPicker(f *testing.F) {
	f.Add([]byte(pickHeader + "\ngpu_avail=1;vram_band=0;ram_band=0;model=m;class=c;knob=weights;option=o;count=3;success=1;seconds=0.5;spent=2;lost=0.1;age=7"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, _ := newPicker(PickConfig{}, "", nil)
		r := a.parse(data)
		text := a.String()
		b, _ := newPicker(PickConfig{}, "", nil)
		if again := b.parse([]byte(text)); again.Skipped != 0 || b.String() != text {
			t.Errorf("%+v: printed %q, read back %+v as %q", r, text, again, b.String())
		}
	})
}
