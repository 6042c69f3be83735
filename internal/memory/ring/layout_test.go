package ring

import (
	"math/rand/v2"
	"testing"
)

// A unit may be read once the one it waits for is released: its place then
// overlaps no unit that is in use, or ready but not used yet.
func TestPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 500 {
		sizes := make([]int, 1+rng.IntN(30))
		units := make([]Unit, len(sizes))
		for i := range sizes {
			units[i] = Unit{{Bytes: PageBytes * (1 + rng.IntN(8))}}
			sizes[i] = units[i].Room()
		}
		n := Floor(units) + rng.IntN(60*PageBytes)
		slots := place(sizes, n)
		for i, s := range slots {
			if s.at < 0 || s.at+s.size > n || s.size != sizes[i] {
				t.Fatalf("round %d: unit %d lies at %d+%d of %d", round, i, s.at, s.size, n)
			}
			for d := 1; d < s.back; d++ {
				o := slots[(i-d+len(slots))%len(slots)]
				if s.at < o.at+o.size && o.at < s.at+s.size {
					t.Fatalf("round %d: unit %d waits for the one %d before, but lies on the one %d before", round, i, s.back, d)
				}
			}
		}
	}
}

// The lap is cut so that reads go on across the end of a pass.
func TestPlaceAhead(t *testing.T) {
	sizes := make([]int, 7)
	for i := range sizes {
		sizes[i] = 100
	}
	// Laps of 3 would leave a single unit at the end of a pass; those of 4
	// leave three.
	if got := leastAhead(placeIn(sizes, 300)); got != 0 {
		t.Errorf("laps of three: %d bytes ahead, want 0", got)
	}
	if got := leastAhead(place(sizes, 400)); got != 200 {
		t.Errorf("%d bytes ahead, want 200", got)
	}
}
