package sample

import (
	"math"
	"slices"
	"testing"
)

// TestMirostat follows mu by the definition, beside the sampler.
func TestMirostat(t *testing.T) {
	for _, m := range []Mirostat{{Tau: 3}, {Tau: 5, Eta: 0.3}, {Tau: 0.01, Eta: 1}} {
		s := newSampler(t, Params{Temperature: 1, TopK: 2, Mirostat: m}, 400) // TopK gives way
		mu, eta := 2*float64(m.Tau), float64(s.p.Mirostat.Eta)
		for i := range 100 {
			logits := randomLogits(uint64(i), 400)
			want := refLogProbs(logits)
			refSort(want, likeliest)
			n := slices.IndexFunc(want, func(x refToken) bool { return -x.LogProb/math.Ln2 > mu })
			if n >= 0 {
				want = want[:max(n, 1)]
			}
			refNormalize(want)
			ch, err := s.Sample(logits)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(want, func(x refToken) bool { return x.ID == ch.ID })
			if at < 0 || len(s.c) != len(want) {
				t.Fatalf("%+v, step %d: chose %d among %d, want among %d", m, i, ch.ID, len(s.c), len(want))
			}
			mu -= eta * (-want[at].LogProb/math.Ln2 - float64(m.Tau))
			if math.Abs(mu-s.mu) > 1e-9 {
				t.Fatalf("%+v, step %d: mu is %v, want %v", m, i, s.mu, mu)
			}
		}
	}
}

// TestMirostatTarget: the mean surprise settles at tau.
func TestMirostatTarget(t *testing.T) {
	const tau = 4
	logits := randomLogits(1, 1000)
	probs := refLogProbs(logits)
	s := newSampler(t, Params{Temperature: 1, Mirostat: Mirostat{Tau: tau}}, 1000)
	sum, n := 0.0, 0.0
	for i := range 3000 {
		ch, err := s.Sample(logits)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 500 {
			kept := 0.0
			for _, x := range s.c {
				kept += math.Exp(probs[x.id].LogProb)
			}
			sum += -(probs[ch.ID].LogProb - math.Log(kept)) / math.Ln2
			n++
		}
	}
	if mean := sum / n; math.Abs(mean-tau) > 0.1 {
		t.Errorf("mean surprise is %.3f bits, want %d", mean, tau)
	}
}
