package network_test

import (
	"testing"

	"atenia/quila/config"
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
)

// nano is a nano as it is trained.
func nano(tb testing.TB) *network.Network[float32] {
	tb.Helper()
	c, err := config.Profile("nano")
	if err != nil {
		tb.Fatal(err)
	}
	c.Training()
	n, err := network.New[float32](c, 0, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// codes cuts a window of every row out of a text.
func codes(rows, steps int) []int32 {
	text := school.MakeToy(1, rows*(steps+1)).Text
	out := make([]int32, rows*(steps+1))
	for i := range out {
		out[i] = int32(text[i])
	}
	return out
}

// BenchmarkWindow is a training window of 16 texts and 48 steps on one thread,
// without the optimizer.
func BenchmarkWindow(b *testing.B) {
	n := nano(b)
	s := n.Open(16, true)
	c := codes(16, 48)
	for b.Loop() {
		n.Changed()
		if _, err := s.Window(c, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*16*48)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkForward is an evaluation window of 32 texts and 48 steps.
func BenchmarkForward(b *testing.B) {
	n := nano(b)
	s := n.Open(32, false)
	c, nll := codes(32, 48), make([]float32, 32*48)
	for b.Loop() {
		if _, err := s.Window(c, nll); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*32*48)/b.Elapsed().Seconds(), "tokens/s")
}
