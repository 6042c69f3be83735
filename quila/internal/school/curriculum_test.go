package school_test

import (
	"context"
	"math"
	"testing"

	"atenia/quila/config"
	"atenia/quila/internal/network"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/school"
)

// staged trains a small network through all stages; each looks at it and at its
// stream before every step.
func staged(t *testing.T, steps int, set func(*school.Curriculum), each func(step int, n *network.Network[float32], s *network.Stream[float32])) *network.Network[float32] {
	t.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.D, c.DE, c.D1, c.D2, c.H, c.A, c.N, c.KP, c.G = 16, 16, 4, 4, 8, 4, 8, 4, 8
	c.Training()
	n, err := network.New[float32](c, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	stages, err := school.NewCurriculum(n, steps)
	if err != nil {
		t.Fatal(err)
	}
	set(stages)
	p := stages.Pupil()
	begin := p.Begin
	p.Begin = func(ctx context.Context, r *school.Run, s school.Stream) error {
		err := begin(ctx, r, s)
		if err == nil {
			each(r.Done(), n, s.(*network.Stream[float32]))
		}
		return err
	}
	recipe := school.Recommended(steps)
	recipe.Batch, recipe.Window = 2, 6
	r, err := school.NewRun(p, recipe, school.MakeToy(1, 2000).Text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		if _, err := r.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestSparse: in stage c fewer and fewer neurons of a session fire, down to the
// cap's share, none that rests, and of the others those of the largest utility.
func TestSparse(t *testing.T) {
	const steps, first, half = 20, 14, 3.0
	type choose = func(int, *neuron.State[float32], []bool)
	var inner choose
	chosen := 0 // times that some were left out for others of larger utility
	step := 0
	outer := func(k int, s *neuron.State[float32], fire []bool) {
		inner(k, s, fire)
		share := 1 - min(1, float64(step-first)/half)*(1-.19)
		most := int(math.Ceil(share * float64(s.N)))
		for b := range s.B {
			n, ready := 0, 0
			least, best := float32(math.Inf(1)), float32(math.Inf(-1)) // of those that fire; of those that might have
			for i := b; i < len(fire); i += s.B {
				switch {
				case s.Refractory[i] > 0 && fire[i]:
					t.Fatalf("step %d: a neuron fires that rests for %d ticks", step, s.Refractory[i])
				case s.Refractory[i] > 0:
					continue
				case fire[i]:
					n++
					least = min(least, s.Utility[i])
				default:
					best = max(best, s.Utility[i])
				}
				ready++
			}
			if n != min(most, ready) {
				t.Fatalf("step %d: %d neurons of a session fire, %d are ready, the cap is %d", step, n, ready, most)
			}
			if best > least {
				t.Fatalf("step %d: a neuron of utility %v fires, one of %v does not", step, least, best)
			}
			if n < ready && best < least {
				chosen++
			}
		}
	}
	n := staged(t, steps, func(*school.Curriculum) {}, func(now int, _ *network.Network[float32], s *network.Stream[float32]) {
		step = now
		if sparse := s.Options.Fire != nil && s.Options.FP8; sparse != (now >= first) {
			t.Fatalf("step %d: the network is sparse: %v", now, sparse)
		}
		if now == first { // the stream keeps what it has from here on
			inner, s.Options.Fire = s.Options.Fire, outer
		}
	})
	if c := &n.Config; chosen == 0 || !c.Refractory || !c.Stagger || c.K != 5 {
		t.Errorf("%d choices by utility; refractory %v, stagger %v, %d ticks", chosen, c.Refractory, c.Stagger, c.K)
	}
}

// TestDistil: at the end of stage a, the network receives a consistency model and
// its average, which after few steps is nearer to where both began, and its form.
func TestDistil(t *testing.T) {
	const steps, first = 20, 2
	seen := false
	staged(t, steps, func(c *school.Curriculum) {
		c.NoLibrary, c.NoBook, c.NoSparse = true, true, true
		c.Distil = &network.DistillOptions{TeacherSteps: 2, Steps: 6, Batch: 8, EMALow: .99, EMAHigh: .99}
	}, func(now int, n *network.Network[float32], _ *network.Stream[float32]) {
		if (n.Config.CM == "song") != (now >= first) {
			t.Errorf("step %d: the form is %q", now, n.Config.CM)
		}
		if now != first { // the model, not its average, learns from here on
			return
		}
		seen = true
		size := func(name string) (sum float32) { // biases begin at 0
			for _, x := range n.Weights.Of(name) {
				sum += x * x
			}
			return sum
		}
		f, ema := size("cm.f.1.b"), size("cm.ema.1.b")
		if sigma := n.Weights.Of("cm.sigma_d")[0]; !(sigma > 0) || !(ema > 0) || !(f > 4*ema) {
			t.Errorf("σ_d %v, biases %g, of the average %g", sigma, f, ema)
		}
	})
	if !seen {
		t.Error("stage a did not end")
	}
}
