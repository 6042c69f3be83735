package conform

import (
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// run prepares a run of a tiny network.
func run(t *report, n *network.Network[float32], steps int) *school.Run {
	r, err := school.NewRun(school.Network(n), short(steps), school.MakeToy(1, 3000).Text, nil)
	t.Must(err)
	return r
}

// static are the values of S4, and of all other weights of neurons.
func static(n *network.Network[float32]) []float32 {
	var out []float32
	for i, s := range n.Weights.Specs {
		if strings.HasPrefix(s.Name, "s4.") || strings.HasPrefix(s.Name, "n.") || strings.HasPrefix(s.Name, "s5.") {
			out = append(out, n.Weights.At(i)...)
		}
	}
	return out
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// trained takes 20 steps and returns the run, and another of a network of another
// seed that continues from its checkpoint.
func trained(t *report) (first, second *school.Run, a, b *network.Network[float32]) {
	a, b = tinyNetwork(t, 1), tinyNetwork(t, 2)
	first, second = run(t, a, 40), run(t, b, 40)
	for range 20 {
		_, err := first.Step(t.Context())
		t.Must(err)
	}
	path := filepath.Join(t.Dir(), "run.checkpoint")
	t.Must(first.Save(nil, path))
	t.Must(second.Load(path))
	return first, second, a, b
}

func saved(t *report) {
	first, second, a, b := trained(t)
	if !sameBits(static(a), static(b)) {
		t.Errorf("S4 or weights of neurons differ after loading")
	}
	m, again := first.Moments(), second.Moments()
	if !sameBits(m, again) {
		t.Errorf("S7 differs after loading")
	}
	zero := 0
	for _, x := range m {
		if x == 0 {
			zero++
		}
	}
	if zero > len(m)/2 {
		t.Errorf("%d of %d moments are 0", zero, len(m))
	}
	// The next step of both is the same, so nothing is missing.
	x, err := first.Step(t.Context())
	t.Must(err)
	y, err := second.Step(t.Context())
	t.Must(err)
	if x != y || !sameBits(static(a), static(b)) {
		t.Errorf("the next step is %v, after loading %v", x, y)
	}
	t.Figure("%d values of S4 and neurons, %d moments, %.1f %% of them zero", len(static(a)), len(m), 100*float64(zero)/float64(len(m)))
}

func readOnly(t *report) {
	_, loaded, _, n := trained(t)
	before, moments := static(n), loaded.Moments()
	s := n.Open(3, false)
	nll := make([]float32, 3*40)
	for i := range 4 {
		_, err := s.Window(windows(school.MakeToy(5, 600).Text, 3, 40, i*40), nll)
		t.Must(err)
	}
	if !sameBits(before, static(n)) {
		t.Errorf("S4 or weights of neurons changed in a call")
	}
	if !sameBits(moments, loaded.Moments()) {
		t.Errorf("S7 changed in a call")
	}
	t.Figure("480 codes read, 0 of %d values changed", len(before)+len(moments))
}

// A library counts what is inserted, under a gate, by a trigger that always asks.
type library struct {
	gate  *school.Gate
	asked int
	added []int // steps
}

func (l *library) offer(step int) {
	l.asked++
	if l.gate.Open() {
		l.added = append(l.added, step)
	}
}

func delayed(t *report) {
	const steps = 100
	rec := short(steps)
	rec.Batch, rec.Window = 8, 24
	var n *network.Network[float32]
	if t.Brief() { // a narrow network opens the gate as well
		rec.Warmup = 10
		n = biased(tinyNetwork(t, 1))
	} else {
		n = newNano(t, 1, nil)
	}
	// Every state is worth an entry, so that the gate alone decides.
	n.Config.KFEAlpha, n.Config.KFEBeta, n.Config.KFEGamma = 0, 0, 0
	c, err := school.NewCurriculum(n, steps)
	t.Must(err)
	c.NoSparse = true
	r, err := school.NewRun(c.Pupil(), rec, school.MakeToy(1, 30000).Text, nil)
	t.Must(err)
	first := -1
	for step := range steps {
		_, err := r.Step(t.Context())
		t.Must(err)
		if created := c.Counts().Created; created > 0 && first < 0 {
			first = step
			if step < 10 || !r.Gate().Open() {
				t.Errorf("step %d created %d entries", step, created)
			}
		}
		if t.Brief() && first >= 0 && step >= first+10 {
			break
		}
	}
	if first < 0 {
		t.Fatalf("nothing was ever inserted: the average loss is %.2f, characters alone have %.2f", r.Gate().Loss, r.Gate().Entropy)
	}
	t.Figure("0 entries in steps 0 to 9, the first at step %d, %d after %d; edges are part two", first, c.Counts().Created, steps)
}

func forced(t *report) {
	early := school.NewGate(100, 100)
	l := &library{gate: early}
	for step := range 10 {
		l.offer(step)
		early.Observe(0, 0) // converged from the first step on
	}
	if len(l.added) > 0 {
		t.Errorf("%d inserted in the first ten steps", len(l.added))
	}
	l.offer(10)
	if len(l.added) != 1 {
		t.Errorf("nothing was inserted at step 10")
	}
	for what, bad := range map[string][2]float64{"loss": {math.NaN(), 1}, "gradient": {1, math.Inf(1)}} {
		g := school.NewGate(100, 100)
		for step := range 100 {
			if step == 4 {
				g.Observe(bad[0], bad[1])
			} else {
				g.Observe(0, 0)
			}
			if g.Open() {
				t.Errorf("a %s that was not finite left the gate open at step %d", what, step)
				break
			}
		}
	}
	// A run whose weights are not numbers stops and does not open the gate.
	n := tinyNetwork(t, 1)
	n.Weights.Of("head.read")[0] = float32(math.NaN())
	n.Changed()
	r := run(t, n, 100)
	_, err := r.Step(t.Context())
	if _, ok := errors.AsType[*school.NormError](err); !ok || r.Gate().Open() {
		t.Errorf("a step with a NaN: %v", err)
	}
	t.Figure("10 offers refused, NaN and ∞ keep the gate shut")
}
