package neuron_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/quila/config"
	"atenia/quila/internal/neuron"
)

func shape(t testing.TB) *config.Config {
	t.Helper()
	c, err := config.Profile("micro")
	if err != nil {
		t.Fatal(err)
	}
	c.H, c.A, c.S, c.Kappa = 16, 8, 2, 4
	return &c
}

func normalValues(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// TestConvT: the transposed convolution by its definition, kernels wider than
// the stride included, and cells outside left out.
func TestConvT(t *testing.T) {
	for _, z := range []neuron.Shape{{16, 8, 2, 4}, {16, 8, 2, 2}, {12, 4, 3, 5}, {8, 8, 1, 3}} {
		seeds, k := normalValues(z.A*z.A, 1), normalValues(z.Kappa*z.Kappa, 2)
		want, got := make([]float64, z.H*z.H), make([]float64, z.H*z.H)
		pad := (z.Kappa - z.S) / 2
		for i := range z.A {
			for j := range z.A {
				for p := range z.Kappa {
					for q := range z.Kappa {
						r, c := i*z.S+p-pad, j*z.S+q-pad
						if r >= 0 && r < z.H && c >= 0 && c < z.H {
							want[r*z.H+c] += seeds[i*z.A+j] * k[p*z.Kappa+q]
						}
					}
				}
			}
		}
		neuron.ConvT(got, seeds, k, z)
		for i, w := range want {
			if math.Abs(got[i]-w) > 1e-13 {
				t.Fatalf("%+v: cell %d is %v, want %v", z, i, got[i], w)
			}
		}
	}
}

// TestSeeds: shorter vectors repeat, longer ones fold.
func TestSeeds(t *testing.T) {
	for _, d := range []int{5, 16, 24, 40} {
		h, w := normalValues(d, 1), normalValues(max(d, 16), 2)
		want, got := make([]float64, 16), make([]float64, 16)
		for i, x := range w {
			want[i%16] += x * h[i%d]
		}
		neuron.Seeds(got, h, w, 4)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("D %d: seed %d is %v, want %v", d, i, got[i], want[i])
			}
		}
	}
}

// TestInbox: what is malformed is refused and counted, a NaN is dropped and
// counted.
func TestInbox(t *testing.T) {
	c := shape(t)
	in := neuron.Inbox{Config: c}
	m := neuron.Message{Pos: 0x0102, Sender: 7, Payload: make([]byte, 256)}
	if err := in.Receive(m.Append(nil)); err != nil {
		t.Fatal(err)
	}
	m.Payload[9] = 0xFF
	if err := in.Receive(m.Append(nil)); err != nil {
		t.Fatal(err)
	}
	err := in.Receive(m.Append(nil)[:100])
	if wire := (*neuron.WireError)(nil); !errors.Is(err, neuron.ErrWire) || !errors.As(err, &wire) || wire.Want != 256 || wire.Got != 93 {
		t.Errorf("a message cut short: %v", err)
	}
	if len(in.Messages) != 1 || in.NaN != 1 || in.Rejected != 1 {
		t.Errorf("%d kept, %d NaN, %d refused, want 1 each", len(in.Messages), in.NaN, in.Rejected)
	}
}

// TestBoardReuse: a board that was used is like a new one after Reset.
func TestBoardReuse(t *testing.T) {
	c := shape(t)
	used, fresh := neuron.NewBoard[float64](c), neuron.NewBoard[float64](c)
	used.Add(normalValues(16, 1), 0x0304, neuron.Partial|neuron.Quarter|neuron.Uncertainty)
	used.Add(normalValues(256, 2), 0x0304, neuron.Uncertainty)
	used.Reset()
	a, b := make([]float64, 256), make([]float64, 256)
	for _, x := range []*neuron.Board[float64]{used, fresh} {
		x.Add(normalValues(256, 3), 0x0F0E, 0)
		x.Add(normalValues(16, 4), 0x0C0C, neuron.Partial|neuron.Quarter)
	}
	used.Mean(a)
	fresh.Mean(b)
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("cell %d is %v after Reset, want %v", i, a[i], b[i])
		}
	}
	if used.Doubt(make([]float64, c.D)) {
		t.Error("uncertainty survived Reset")
	}
}

// FuzzParse: what parses has the same bytes again, and anything else is a
// *WireError.
func FuzzParse(f *testing.F) {
	c := shape(f)
	f.Add((&neuron.Message{Pos: 0x0102, Sender: 7, Payload: make([]byte, 256)}).Append(nil))
	f.Add((&neuron.Message{Pos: 0x0C0C, Flags: neuron.Partial | neuron.Quarter | neuron.Uncertainty, Payload: make([]byte, 16)}).Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := neuron.ParseMessage(c, b)
		if err != nil {
			if !errors.Is(err, neuron.ErrWire) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if !bytes.Equal(m.Append(nil), b) {
			t.Fatal("bytes differ")
		}
		board := neuron.NewBoard[float32](c)
		board.Receive(&m) // must not panic
		board.Mean(make([]float32, c.H*c.H))
	})
}

// BenchmarkReceive is one neuron of nano that reads three messages.
func BenchmarkReceive(b *testing.B) {
	c, err := config.Profile("nano")
	if err != nil {
		b.Fatal(err)
	}
	z, board := neuron.ShapeOf(&c), neuron.NewBoard[float32](&c)
	x := func(n int, seed uint64) []float32 {
		out := make([]float32, n)
		for i, v := range normalValues(n, seed) {
			out[i] = float32(v)
		}
		return out
	}
	h, w, k := x(c.D, 1), x(c.WOutLen(), 2), x(c.Kappa*c.Kappa, 3)
	kIn, l, r := x(64, 4), x(c.R*c.D1*c.H, 5), x(c.R*c.D2*c.H, 6)
	seeds, payload, mean, conv, out, work := x(64, 0), x(256, 0), x(256, 0), x(256, 0), x(64, 0), x(c.D1*c.H, 0)
	codes := make([]byte, 256)
	b.Run("payload", func(b *testing.B) {
		for b.Loop() {
			neuron.Payload(payload, seeds, h, w, k, z)
		}
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			neuron.EncodeMessage(codes, payload)
		}
	})
	m := neuron.Message{Payload: codes, Pos: 0x0204}
	b.Run("add", func(b *testing.B) {
		for b.Loop() {
			board.Reset()
			board.Receive(&m)
		}
	})
	b.Run("mean", func(b *testing.B) {
		for b.Loop() {
			board.Mean(mean)
		}
	})
	b.Run("convolve", func(b *testing.B) {
		for b.Loop() {
			neuron.Convolve(conv, mean, kIn, c.H)
		}
	})
	b.Run("kronecker", func(b *testing.B) {
		for b.Loop() {
			neuron.Kronecker(out, conv, l, r, work, c.H, c.D1, c.D2)
		}
	})
}
