package conform

import (
	"math"
	"slices"

	"atenia/quila/config"
	"atenia/quila/internal/boundary"
	"atenia/quila/internal/call"
	"atenia/quila/internal/weights"
)

// callRows are the rows that need a whole call: who uses the
// codebook while a network hears and speaks, and that nothing changes it.
func callRows() []experiment {
	return []experiment{
		{ID: "INV-1", Section: "4.2", What: "100 ticks and full phases 0, 2 and 5 use it at the boundary alone, and no value inside is a code's row", Check: boundaryOnly},
		{ID: "INV-4", Section: "4.2", What: "ten calls, with noise and without, leave it as it was", Check: unchanged},
	}
}

// callNetwork is an untrained nano, which reads its queue.
func callNetwork(t *report) (config.Config, *call.Model) {
	c, err := config.Profile("nano")
	t.Must(err)
	c.Training()
	g := weights.Initial(&c)
	m, err := call.New(&c, g, weights.Init(&c, g.Edges(), 11), nil)
	t.Must(err)
	return c, m
}

func boundaryOnly(t *report) {
	c, m := callNetwork(t)
	k := m.Start(1)
	least := math.Inf(1)
	for i := range 100 {
		before := m.Book().Calls()
		t.Must(k.Say(int32((i*37)%c.V), 0))
		if n := m.Book().Calls(); n.Encoder != before.Encoder+1 || n.Total() != before.Total()+1 {
			t.Fatalf("code %d: the codebook was used %d times, once by the encoder is right", i, n.Total()-before.Total())
		}
		least = min(least, nearest(m.Book(), k.State(), c.DE))
	}
	before := m.Book().Calls().Total()
	_, err := k.Reflect()
	t.Must(err)
	if n := m.Book().Calls().Total(); n != before {
		t.Errorf("phase 2 used the codebook %d times", n-before)
	}
	k.Logits()
	if n := m.Book().Calls(); n.Decoder != 1 || n.Total() != before+1 {
		t.Errorf("one read-out counts as %+v", n)
	}
	if !(least > 0) {
		t.Errorf("a state of a neuron is a row of the codebook")
	}
	t.Figure("100 codes, 100 uses by the encoder, 1 by the decoder; states stay %.2f from the nearest row", least)
}

// nearest is the distance of the nearest pair of a state's vectors and a row.
func nearest(b *boundary.Book, state []float32, dim int) float64 {
	least := math.Inf(1)
	for at := 0; at+dim <= len(state); at += dim {
		x := state[at : at+dim]
		for code := range b.Len() {
			var sum float64
			for i, r := range b.Row(code) {
				sum += float64(r-x[i]) * float64(r-x[i])
			}
			least = min(least, math.Sqrt(sum))
		}
	}
	return least
}

func unchanged(t *report) {
	c, m := callNetwork(t)
	sum, rows := m.Book().Sum(), slices.Clone(m.Book().Rows())
	for n := range 10 {
		k := m.Start(uint64(n))
		for i := range 20 {
			t.Must(k.Say(int32((n+i*i)%c.V), float64(n%2)))
		}
		_, err := k.Reflect()
		t.Must(err)
		k.Logits()
	}
	t.Must(m.Book().Verify())
	if m.Book().Sum() != sum || !slices.Equal(rows, m.Book().Rows()) {
		t.Errorf("calls changed the codebook")
	}
	t.Figure("SHA-256 the same after 10 calls")
}
