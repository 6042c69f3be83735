package grad

import "testing"

// TestArenaGrows: chunks that get longer take the place of shorter ones, and do
// not add up.
func TestArenaGrows(t *testing.T) {
	var a arena[float32]
	longest := 0
	for n := 300_000; n < 600_000; n += 20_000 {
		a.reset()
		for range 3 {
			a.take(n)
		}
		longest = n
	}
	if most := 3 * 4 * (longest + blockStep); a.reserved() > most {
		t.Errorf("%d bytes are held for chunks of at most %d", a.reserved(), most)
	}
}
