package grad

import (
	"atenia/internal/golden/await"
	"testing"
)

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

// TestArenaTrims: slabs that only shorter chunks needed are released when longer ones
// take blocks, and a chunk that has been seen allocates nothing.
func TestArenaTrims(t *testing.T) {
	var a arena[float32]
	chunk := func(n int) {
		a.reset()
		for range 16 {
			a.take(n)
		}
		for range 40 {
			a.take(1000)
		}
	}
	for n := 20_000; n <= 80_000; n += 1000 { // a run of more than 65,536 is a block
		chunk(n)
	}
	if most := 16*4*(80_000+blockStep) + slabBytes; a.reserved() > most {
		t.Errorf("%d bytes are held for chunks of at most %d", a.reserved(), most)
	}
	if n := await.Allocs(3, func() { chunk(80_000) }); n != 0 {
		t.Errorf("a chunk of a size seen before makes %v allocations", n)
	}
}
