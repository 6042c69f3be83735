package grid_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/golden/await"
	"atenia/quila/config"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/weights"
)

// TestCopy: ticks after a copy was put back are those that it would have had,
// whatever came between, with mailboxes, counters, noise and bytes on the wire;
// copying allocates nothing the second time. A channel, a mailbox, a slot of the
// ring or the tick that is forgotten fails.
func TestCopy(t *testing.T) {
	for name, materialise := range map[string]bool{"ring": false, "bytes": true} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Profile("nano")
			if err != nil {
				t.Fatal(err)
			}
			c.Training()
			c.FP8, c.Uncertainty, c.Refractory, c.Stagger, c.PartialSend, c.ActiveCap, c.K = true, true, true, true, true, .4, 5
			top := weights.Initial(&c)
			g, err := grid.New(&c, top, weights.Init(&c, top.Edges(), 4), nil)
			if err != nil {
				t.Fatal(err)
			}
			s := g.Session(9)
			if materialise {
				if err := s.Materialise(nil); err != nil {
					t.Fatal(err)
				}
			}
			ticks := func(seed uint64, n int) (out []float32) {
				rng := rand.New(rand.NewPCG(seed, 1))
				for range n {
					emb := make([]float32, c.DE)
					for i := range emb {
						emb[i] = float32(rng.NormFloat64())
					}
					if err := s.Inject(0, emb); err != nil {
						t.Fatal(err)
					}
					if err := g.Tick([]*grid.Session{s}, grid.Options{Temperature: .5}); err != nil {
						t.Fatal(err)
					}
					st, _ := s.View()
					out = append(append(append(out, st.HFinal...), st.Conf...), s.Channels.Uncertainty...)
					out = append(append(out, s.Channels.Neighbour...), s.Channels.Load...)
				}
				return out
			}
			ticks(1, 7)
			kept := s.Copy(nil)
			want := ticks(2, 9)
			s.Restore(kept)
			if got := ticks(2, 9); !slices.Equal(got, want) {
				t.Error("ticks after a copy was put back are others")
			}
			s.Restore(kept)
			ticks(3, 40) // the ring has come round
			s.Restore(kept)
			if got := ticks(2, 9); !slices.Equal(got, want) {
				t.Error("ticks after a copy was put back are others once the ring came round")
			}
			if await.Race || testing.Short() || materialise {
				return
			}
			if n := await.Allocs(20, func() { kept = s.Copy(kept); s.Restore(kept) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
