package ring

import (
	"math/rand/v2"
	"slices"
	"testing"

	"atenia/internal/machine/ledger"
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

// TestPlaceEven: laps are about as long as one another where one that is shorter would let all
// reads wait for its end.
func TestPlaceEven(t *testing.T) {
	for _, c := range []struct{ units, room int }{{16, 3}, {16, 4}, {10, 3}, {17, 4}} {
		ahead := 0
		for i, back := range Backs(slices.Repeat([]int{100}, c.units), 100*c.room) {
			if ahead += back - 1; back < 2 {
				t.Errorf("%d units in the room of %d: unit %d waits for the one before it", c.units, c.room, i)
			}
		}
		if even := c.units * (c.room - 1); ahead < even*8/10 {
			t.Errorf("%d units in the room of %d: %d are read ahead in all, want most of %d", c.units, c.room, ahead, even)
		}
	}
	if Backs(nil, 100) != nil || Backs([]int{100}, 0) != nil {
		t.Error("a ring of nothing has units")
	}
}

// TestLastPage: a ring takes the whole of its last huge page, if it may.
func TestLastPage(t *testing.T) {
	const page = ledger.HugePage
	f := &memory{data: make([]byte, page)}
	units := []Unit{{{Bytes: page / 4}}, {{Bytes: page / 2}}}
	for bytes, want := range map[int]int64{page - 1: page / 4 * 3, page: page, 2*page - 1: page} {
		if got := open(t, Config{Files: []Source{f}, Units: units, Bytes: bytes}).Stats().Bytes; got != want {
			t.Errorf("%d of %d bytes were taken, want %d", got, bytes, want)
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
	if got, _ := readAhead(placeIn(sizes, 300, 0)); got != 0 {
		t.Errorf("laps of three: %d bytes ahead, want 0", got)
	}
	if got, _ := readAhead(place(sizes, 400)); got != 200 {
		t.Errorf("%d bytes ahead, want 200", got)
	}
}
