package network_test

import (
	"errors"
	"math"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/quila/internal/network"
)

// TestStep: a code at a time gives what a window gives, and so does a stream that
// goes on from another's state. A channel that a step forgets to carry fails.
func TestStep(t *testing.T) {
	const batch, steps = 3, 20
	n := nano(t)
	for i := range n.Weights.Of("port.thinker.0.wmq.o") { // zero at first: nothing that is read would show
		n.Weights.Of("port.thinker.0.wmq.o")[i] = float32(math.Sin(float64(i)))
	}
	c := codes(batch, steps)
	nll := make([]float32, batch*steps)
	if _, err := n.Open(batch, false).Window(c, nll); err != nil {
		t.Fatal(err)
	}
	s := n.Open(batch, false)
	for i := range steps {
		if i == steps/2 {
			other := n.Open(batch, false)
			if err := other.SetState(s.State()); err != nil {
				t.Fatal(err)
			}
			s = other
		}
		now := make([]int32, batch)
		for b := range now {
			now[b] = c[b*(steps+1)+i]
		}
		logits, err := s.Step(now)
		if err != nil {
			t.Fatal(err)
		}
		v := len(logits) / batch
		for b := range now {
			row := logits[b*v : (b+1)*v]
			var sum float64
			for _, x := range row {
				sum += math.Exp(float64(x))
			}
			got := math.Log(sum) - float64(row[c[b*(steps+1)+i+1]])
			if want := float64(nll[b*steps+i]); math.Abs(got-want) > 1e-4 {
				t.Fatalf("session %d, step %d: %v nats, a window has %v", b, i, got, want)
			}
		}
	}
}

// TestThreads: a window on three threads has the bits of one on one.
func TestThreads(t *testing.T) {
	c := codes(5, 9)
	one := nano(t)
	threads := grad.NewThreads(3)
	defer threads.Close()
	three, err := network.New[float32](one.Config, 0, threads)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*network.Network[float32]{one, three} {
		s := n.Open(5, true)
		for range 2 {
			if _, err := s.Window(c, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, p := range one.Params() {
		for k, g := range p.Grad {
			if h := three.Params()[i].Grad[k]; math.Float32bits(g) != math.Float32bits(h) {
				t.Fatalf("%s[%d] has the gradient %v, on three threads %v", p.Name, k, g, h)
			}
		}
	}
}

// TestCodes: codes that do not fit are errors that say what fits.
func TestCodes(t *testing.T) {
	n := nano(t)
	s := n.Open(2, false)
	for _, bad := range [][]int32{nil, {1}, {1, 2, 3}, {1, 2, 264, 3}, {1, -2, 5, 3}} {
		_, err := s.Window(bad, nil)
		if _, ok := errors.AsType[*network.CodesError](err); !ok {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for _, bad := range [][]int32{nil, {1}, {1, 264}, {-1, 0}} {
		_, err := s.Step(bad)
		if _, ok := errors.AsType[*network.CodesError](err); !ok {
			t.Errorf("a step of %v: %v", bad, err)
		}
	}
	if err := s.SetState(n.Open(3, false).State()); err == nil {
		t.Error("a state of other sessions was taken")
	}
}

// TestSteadyState: steps allocate nothing once they have run.
func TestSteadyState(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("counts allocations")
	}
	n := nano(t)
	s := n.Open(4, false)
	c := []int32{97, 98, 99, 100}
	if got := await.Allocs(20, func() {
		if _, err := s.Step(c); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("a step allocates %v times", got)
	}
}

// BenchmarkStep is streaming: a code of every session.
func BenchmarkStep(b *testing.B) {
	for name, sessions := range map[string]int{"1 session": 1, "32 sessions": 32} {
		b.Run(name, func(b *testing.B) {
			s := nano(b).Open(sessions, false)
			c := make([]int32, sessions)
			for b.Loop() {
				if _, err := s.Step(c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*sessions)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
