package engine

import (
	"fmt"

	"atenia/internal/memory/place"
	"atenia/internal/spelling"
)

// fitWhole is fit for all sequences that are asked for, for whoever tells or opens. As many
// of them have room for keys and values of whole contexts as leave all weights in memory,
// and one where weights are streamed, since more would be read then; the sequences share
// that room. whole is how many, 0 if their room was given or one sequence was asked for.
func (p *Plan) fitWhole(f *footprint, c PlaceConfig) (pl *place.Placement, whole int, err error) {
	all, one := c.sequences(), f.oneWhole(&c)
	if one == 0 {
		pl, err = p.fit(f, c)
		return pl, 0, err
	}
	c.CacheBytes = one
	if pl, err = p.fit(f, c); err != nil || pl.Spills() {
		return pl, 1, err
	}
	whole = 1
	for low, high := 2, all; low <= high; {
		n := (low + high) / 2
		c.CacheBytes = one * int64(n)
		if more, err := p.fit(f, c); err == nil && !more.Spills() {
			pl, whole, low = more, n, n+1
		} else {
			high = n - 1 // even the floor may be higher than what there is
		}
	}
	return pl, whole, nil
}

// oneWhole returns the bytes of keys and values of one whole context where sequences that
// are asked for may share them; 0 = their room was given, or one sequence was asked for.
func (f *footprint) oneWhole(c *PlaceConfig) int64 {
	if c.sequences() == 1 || c.Budget.Reserve.KV > 0 || c.CacheBytes > 0 || c.Budget.RAM == 0 || c.File != "" {
		return 0
	}
	_, one := f.stateBytes(c)
	return one
}

// wholeOf says that fewer sequences have room for whole contexts than were asked for; "" =
// all have, or one was.
func wholeOf(whole, all int) string {
	if whole == 0 || whole >= all {
		return ""
	}
	return fmt.Sprintf("keys and values of %d of %s have room for whole contexts at once", whole, spelling.Count(all, "sequence"))
}
