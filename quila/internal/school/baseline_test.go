package school_test

import (
	"fmt"
	"math"
	"testing"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/school"
	"atenia/quila/internal/weights"
)

// codes are counted random codes.
func codes(n, alphabet int) []int32 {
	out := make([]int32, n)
	for i, w := range (weights.Stream{Seed: 7}).Words(n) {
		out[i] = int32(weights.Choice(w, alphabet))
	}
	return out
}

// reading is a GRU that reads, with weights that are not zero.
func reading[F grad.Float](t testing.TB, width int) *school.BaselineNet[F] {
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	n := school.NewReadingGRU[F](width, c, 1, nil)
	for _, p := range n.Params() {
		for i := range p.Value {
			p.Value[i] += F(.01 * math.Sin(float64(i)))
		}
	}
	return n
}

// TestGradients compares gradients with central differences. A forgotten bias,
// a gate's wrong derivative or a transposed product fails.
func TestGradients(t *testing.T) {
	const alphabet, batch, steps = 11, 2, 4
	for name, n := range map[string]*school.BaselineNet[float64]{
		"gru":         school.NewGRU[float64](6, alphabet, 1, nil),
		"transformer": school.NewTransformer[float64](8, alphabet, 1, nil),
		"reader":      reading[float64](t, 6),
	} {
		t.Run(name, func(t *testing.T) {
			first := codes(batch*(steps+1), alphabet)
			one := func(learn bool) float64 {
				s := n.Open(batch, learn)
				for _, state := range s.State() {
					for i := range state {
						state[i] = math.Sin(float64(i))
					}
				}
				x, err := s.Window(first, make([]float64, batch*steps))
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			one(true)
			for _, p := range n.Params() {
				if name == "reader" && p.Name == "embed" {
					continue // the reader's entries are constants of it
				}
				want := append([]float64(nil), p.Grad...)
				for _, i := range []int{0, len(want) / 3, len(want) - 1} {
					const h = 1e-5
					old := p.Value[i]
					p.Value[i] = old + h
					up := one(false)
					p.Value[i] = old - h
					down := one(false)
					p.Value[i] = old
					if got := (up - down) / (2 * h); math.Abs(got-want[i]) > 1e-4*math.Max(math.Abs(want[i]), 1e-4) {
						t.Errorf("%s[%d] has the gradient %v, differences say %v", p.Name, i, want[i], got)
					}
				}
			}
		})
	}
}

// TestSize: models have the size of the network beside them, within 5 %.
func TestSize(t *testing.T) {
	for _, weights := range []int{300_000, 549_000, 2_000_000} {
		for name, n := range map[string]*school.BaselineNet[float32]{
			"gru":         school.NewGRU[float32](school.GRUWidth(weights, 264), 264, 1, nil),
			"transformer": school.NewTransformer[float32](school.TransformerWidth(weights, 264), 264, 1, nil),
		} {
			if d := float64(n.Size())/float64(weights) - 1; math.Abs(d) > .05 {
				t.Errorf("a %s for %d weights has %d, %+.1f %%", name, weights, n.Size(), 100*d)
			}
		}
	}
}

// TestCarried: a GRU reads two windows like one of both.
func TestCarried(t *testing.T) {
	const alphabet, steps = 9, 5
	n := school.NewGRU[float64](8, alphabet, 3, nil)
	all := codes(2*steps+1, alphabet)
	whole, halves := make([]float64, 2*steps), make([]float64, 2*steps)
	if _, err := n.Open(1, false).Window(all, whole); err != nil {
		t.Fatal(err)
	}
	s := n.Open(1, false)
	for i := range 2 {
		if _, err := s.Window(all[i*steps:(i+1)*steps+1], halves[i*steps:(i+1)*steps]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range whole {
		if math.Abs(whole[i]-halves[i]) > 1e-12 {
			t.Errorf("step %d is %v, in two windows %v", i, whole[i], halves[i])
		}
	}
}

// TestBadCodes: codes outside the alphabet and ragged rows are errors.
func TestBadCodes(t *testing.T) {
	n := school.NewGRU[float32](8, 9, 3, nil)
	for _, bad := range [][]int32{nil, {1}, {1, 2, 3}, {1, 2, 9, 3}, {1, -2, 5, 3}} {
		if _, err := n.Open(2, false).Window(bad, nil); err == nil {
			t.Errorf("%v is no error", bad)
		}
	}
}

// TestLearns: a few steps lower the loss.
func TestLearns(t *testing.T) {
	text := school.MakeToy(1, 4000).Text
	for name, n := range map[string]*school.BaselineNet[float32]{
		"gru":         school.NewGRU[float32](32, 264, 1, nil),
		"transformer": school.NewTransformer[float32](16, 264, 1, nil),
	} {
		opt, err := grad.NewOptimizer[float32](grad.AdamW{}, n.Params(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := n.Open(4, true)
		var first, last float32
		for i := range 30 {
			window := make([]int32, 4*25)
			for b := range 4 {
				for k := range 25 {
					window[b*25+k] = int32(text[b*1000+i*24+k])
				}
			}
			for _, p := range n.Params() {
				clear(p.Grad)
			}
			x, err := s.Window(window, nil)
			if err != nil {
				t.Fatal(err)
			}
			opt.Step(5e-3, 1)
			if i == 0 {
				first = x
			}
			last = x
		}
		if !(last < .8*first) {
			t.Errorf("the loss of a %s went from %v to %v", name, first, last)
		}
	}
}

// TestKneserNey: probabilities add up to one, and the text that was counted is
// likelier than another.
func TestKneserNey(t *testing.T) {
	text := school.MakeToy(1, 20000).Text
	k := school.NewKneserNey(text, 256)
	for _, before := range []string{"", "t", "the ", "12+3", "never seen", "\x00"} {
		var sum float64
		for c := range 256 {
			sum += k.Probability([]byte(before), byte(c))
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("after %q probabilities add up to %v", before, sum)
		}
	}
	v := school.MakeToy(2, 5000)
	if b := k.Bits(v.Text, 0, nil); b < v.Entropy || b > 3 {
		t.Errorf("%v bits a character; the entropy is %v", b, v.Entropy)
	}
}

// BenchmarkWindow is a training window of 16 texts and 48 steps at the size of a
// nano.
func BenchmarkWindow(b *testing.B) {
	const weights, alphabet, batch, steps = 549_000, 264, 16, 48
	for name, n := range map[string]*school.BaselineNet[float32]{
		"gru":         school.NewGRU[float32](school.GRUWidth(weights, alphabet), alphabet, 1, nil),
		"transformer": school.NewTransformer[float32](school.TransformerWidth(weights, alphabet), alphabet, 1, nil),
	} {
		b.Run(fmt.Sprintf("%s/%d", name, n.Size()), func(b *testing.B) {
			s := n.Open(batch, true)
			c := codes(batch*(steps+1), alphabet)
			for b.Loop() {
				if _, err := s.Window(c, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*batch*steps)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
