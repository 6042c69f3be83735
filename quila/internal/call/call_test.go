package call_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/call"
	"atenia/quila/internal/network"
	"atenia/quila/internal/weights"
)

// TestCallIsStream: saying codes one by one gives the bits that the window of
// training gives, for random codes, configurations and places of a reflection,
// which does not change what follows.
func TestCallIsStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 4 {
		c, err := config.Profile("nano")
		if err != nil {
			t.Fatal(err)
		}
		if trial%2 == 0 {
			c.Training()
			c.WMQTopK = c.WMQWindow
		}
		if trial == 3 {
			c.RopeDims, c.K = 16, 2
		}
		g := weights.Initial(&c)
		w := weights.Init(&c, g.Edges(), uint64(trial))
		for _, name := range []string{"port.thinker.0.wmq.o"} { // zero at the start
			if w.Has(name) {
				for i := range w.Of(name) {
					w.Of(name)[i] = float32(rng.NormFloat64()) / 8
				}
			}
		}
		codes := make([]int32, 90)
		for i := range codes {
			codes[i] = int32(rng.IntN(c.V))
		}
		n, err := network.With(c, g, w, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := n.Open(1, false)
		want := make([]float32, len(codes)-1)
		for at := 0; at+1 < len(codes); { // windows of any length
			k := min(1+rng.IntN(40), len(codes)-1-at)
			if _, err := s.Window(codes[at:at+k+1], want[at:at+k]); err != nil {
				t.Fatal(err)
			}
			at += k
		}
		m, err := call.New(&c, g, w, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := m.Start(1)
		for i, code := range codes[:len(codes)-1] {
			if err := k.Say(code, 0); err != nil {
				t.Fatal(err)
			}
			if i%17 == 5 {
				need, err := k.Reflect()
				if err != nil || len(need) != c.DE {
					t.Fatalf("need has %d values: %v", len(need), err)
				}
			}
			if got := bits(k.Logits(), codes[i+1]) * math.Ln2; math.Abs(got-float64(want[i])) > 2e-4*(1+float64(want[i])) {
				t.Fatalf("trial %d, code %d: %g nats, the window has %g", trial, i, got, want[i])
			}
		}
		first := slices.Clone(k.State())
		again := m.Start(1)
		for _, code := range codes[:len(codes)-1] {
			if err := again.Say(code, 0); err != nil {
				t.Fatal(err)
			}
		}
		if trial < 3 && len(first) != len(again.State()) {
			t.Error("states have other sizes")
		}
		if err := k.Say(int32(c.V), 0); !errors.Is(err, call.ErrCall) {
			t.Errorf("a code beyond the codebook gives %v", err)
		}
	}
}

// TestSayAllocates: a code that is said allocates nothing once buffers are there.
func TestSayAllocates(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates")
	}
	c, _ := config.Profile("nano")
	c.Training()
	g := weights.Initial(&c)
	m, err := call.New(&c, g, weights.Init(&c, g.Edges(), 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	k := m.Start(1)
	say := func() {
		if err := k.Say(65, 0); err != nil {
			t.Fatal(err)
		}
		k.Logits()
	}
	for range 100 {
		say()
	}
	if n := await.Allocs(100, say); n > 0 {
		t.Errorf("%v allocations a code", n)
	}
}

// BenchmarkSay is one session that is told codes, one thread.
func BenchmarkSay(b *testing.B) {
	c, _ := config.Profile("nano")
	c.Training()
	g := weights.Initial(&c)
	m, err := call.New(&c, g, weights.Init(&c, g.Edges(), 1), nil)
	if err != nil {
		b.Fatal(err)
	}
	k := m.Start(1)
	for b.Loop() {
		if err := k.Say(65, 0); err != nil {
			b.Fatal(err)
		}
		k.Logits()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "codes/s")
}

// bits is −log2 of the probability that logits give a code.
func bits(logits []float32, code int32) float64 {
	high := math.Inf(-1)
	for _, x := range logits {
		high = math.Max(high, float64(x))
	}
	var sum float64
	for _, x := range logits {
		sum += math.Exp(float64(x) - high)
	}
	return (high + math.Log(sum) - float64(logits[code])) / math.Ln2
}

// TestReflect: after a look at itself a network goes on as if it had not looked,
// noise included, with counters, a cap, E4M3 and uncertainty; only traces know. A
// mailbox, a channel or a clock that is not put back fails.
func TestReflect(t *testing.T) {
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.Training()
	c.FP8, c.Uncertainty, c.Refractory, c.Stagger, c.ActiveCap, c.K = true, true, true, true, .5, 3
	g := weights.Initial(&c)
	w := weights.Init(&c, g.Edges(), 1)
	w.Of("port.planner.abg")[1] = -80 // utilities do not depend on traces
	m, err := call.New(&c, g, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := func(look bool) (channels [][]float32, traces []float32) {
		k := m.Start(5)
		for i := range 30 {
			if err := k.Say(int32(65+i%7), .8); err != nil {
				t.Fatal(err)
			}
			if look && i%4 == 1 {
				if _, err := k.Reflect(); err != nil {
					t.Fatal(err)
				}
			}
			state := k.State() // trace and persistent trace are the last
			channels, traces = append(channels, state[:len(state)-2*c.N]), state[len(state)-2*c.N:]
		}
		return channels, traces
	}
	want, before := run(false)
	got, after := run(true)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			for j := range want[i] {
				if got[i][j] != want[i][j] {
					t.Fatalf("code %d: channel value %d of %d is %g, want %g", i, j, len(want[i]), got[i][j], want[i][j])
				}
			}
		}
	}
	if slices.Equal(before, after) {
		t.Error("the traces do not know that the network looked at itself")
	}
}
