package sample

import (
	"atenia/internal/golden/await"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// newSampler fails the test on an error.
func newSampler(t testing.TB, p Params, vocab int, history ...int32) *Sampler {
	t.Helper()
	s, err := New(p, vocab)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range history {
		s.Accept(id)
	}
	return s
}

// randomLogits looks like what a model says: a few likely tokens, a long tail.
func randomLogits(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	l := make([]float32, n)
	for i := range l {
		l[i] = float32(r.NormFloat64()*3 - 2)
	}
	return l
}

func TestGreedy(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name   string
		p      Params
		past   []int32
		logits []float32
		want   int32
	}{
		{"largest", Params{}, nil, []float32{1, 3, 2}, 1},
		{"lowest id among equals", Params{}, nil, []float32{1, 3, 3}, 1},
		{"negative", Params{}, nil, []float32{-inf, -3, -2}, 2},
		{"bias", Params{LogitBias: map[int32]float32{0: 5}}, nil, []float32{1, 3, 2}, 0},
		{"forbidden", Params{LogitBias: map[int32]float32{1: -inf}}, nil, []float32{1, 3, 2}, 2},
		{"penalty", Params{RepeatPenalty: 2}, []int32{1}, []float32{1, 3, 2}, 2},
		{"tie after bias", Params{LogitBias: map[int32]float32{0: 2}}, nil, []float32{1, 3, 3}, 0},
		{"truncation is not asked", Params{Typical: 0.1, TopK: 1, MinP: 1}, nil, []float32{0, 3, 0, 0, 0, 0, 0, 0, 0, 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch, err := newSampler(t, c.p, len(c.logits), c.past...).Sample(c.logits)
			if err != nil || ch.ID != c.want {
				t.Errorf("got %d, %v, want %d", ch.ID, err, c.want)
			}
		})
	}
}

func TestLogitsErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, p := range []Params{{}, {Temperature: 1}, {RepeatPenalty: 2}, {LogProbs: 2}} {
		s := newSampler(t, p, 3)
		for _, bad := range []float32{nan, inf} {
			for i := range 3 {
				l := []float32{1, 2, 3}
				l[i] = bad
				_, err := s.Sample(l)
				if e, ok := errors.AsType[*LogitsError](err); !ok || e.Index != i {
					t.Errorf("%v at %d: got %v", bad, i, err)
				}
			}
		}
		if _, err := s.Sample([]float32{-inf, -inf, -inf}); !errors.Is(err, errNoToken) {
			t.Errorf("nothing possible: got %v", err)
		}
		if _, err := s.Sample([]float32{1, 2}); err == nil {
			t.Error("too few logits: no error")
		}
	}
	s := newSampler(t, Params{LogitBias: map[int32]float32{1: -inf}}, 2)
	if _, err := s.Sample([]float32{-inf, 0}); !errors.Is(err, errNoToken) {
		t.Errorf("all forbidden: got %v", err)
	}
}

func TestLogProbs(t *testing.T) {
	logits := randomLogits(1, 500)
	logits[3], logits[7] = logits[9], float32(math.Inf(-1))
	want := refLogProbs(logits)
	for _, n := range []int{1, 5, 499, 500, 1000} {
		s := newSampler(t, Params{Temperature: 0.7, TopK: 20, LogProbs: n, LogitBias: map[int32]float32{4: 9}}, 500)
		ch, err := s.Sample(logits)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(ch.LogProb)-want[ch.ID].LogProb) > 1e-5 {
			t.Errorf("chosen: got %v, want %v", ch.LogProb, want[ch.ID].LogProb)
		}
		sorted := slices.Clone(want)
		slices.SortStableFunc(sorted, func(a, b refToken) int { return compareFloat(b.LogProb, a.LogProb) })
		sorted = sorted[:min(n, 499)] // token 7 is impossible
		if len(ch.Top) != len(sorted) {
			t.Fatalf("top %d: got %d", n, len(ch.Top))
		}
		for i, w := range sorted {
			if g := ch.Top[i]; g.ID != w.ID || math.Abs(float64(g.LogProb)-w.LogProb) > 1e-5 {
				t.Fatalf("top %d, rank %d: got %v, want %v", n, i, g, w)
			}
		}
	}
}

func TestDeterminism(t *testing.T) {
	run := func(seed uint64) (ids []int32) {
		s := newSampler(t, Params{Temperature: 1, TopP: 0.95, RepeatPenalty: 1.1, Seed: seed}, 1000)
		for i := range 50 {
			ch, err := s.Sample(randomLogits(uint64(i), 1000))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, ch.ID)
			s.Accept(ch.ID)
		}
		return ids
	}
	if !slices.Equal(run(5), run(5)) {
		t.Error("equal seeds gave different tokens")
	}
	if slices.Equal(run(5), run(6)) {
		t.Error("different seeds gave equal tokens")
	}
}

func TestLogitsAreOnlyRead(t *testing.T) {
	logits := randomLogits(2, 300)
	before := slices.Clone(logits)
	s := newSampler(t, full(), 300, 1, 2, 3, 1, 2)
	if _, err := s.Sample(logits); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, logits) {
		t.Error("Sample changed the logits")
	}
}

// full uses every stage.
func full() Params {
	return Params{Temperature: 0.8, TopK: 100, TopP: 0.95, MinP: 0.01, Typical: 0.98,
		RepeatPenalty: 1.1, FrequencyPenalty: 0.1, PresencePenalty: 0.1,
		DRY: DRY{Multiplier: 0.8, Range: 256, Breakers: [][]int32{{13}}}, LogitBias: map[int32]float32{5: 1}}
}

func TestAllocations(t *testing.T) {
	const vocab = 2000
	mirostat := full()
	mirostat.Mirostat.Tau = 5
	for name, p := range map[string]Params{
		"greedy": {}, "penalized": {RepeatPenalty: 1.1}, "plain": {Temperature: 1},
		"all": full(), "mirostat": mirostat,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSampler(t, p, vocab)
			logits := randomLogits(3, vocab)
			for range 300 {
				s.Accept(1)
			}
			if n := await.Allocs(200, func() {
				ch, _ := s.Sample(logits)
				s.Accept(ch.ID)
			}); n != 0 {
				t.Errorf("%v allocations for each token", n)
			}
		})
	}
}
