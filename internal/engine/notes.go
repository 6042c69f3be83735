package engine

import (
	"fmt"
	"strings"

	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/spelling"
)

// Notes says in lines what follows from a placement: where the packed form of
// weights will live, and how many sequences have room.
func (f *footprint) Notes(c PlaceConfig, pl *place.Placement) ([]string, error) {
	need, err := f.Need(f.within(c, pl).Exec)
	if err != nil {
		return nil, err
	}
	packing := need.Packing.String()
	if f.holds(&c, pl, &need.Packing) {
		packing = "weights are held in memory and packed in place, as far as that takes no more"
	}
	if pl.Spills() {
		packing = "off (asked for)"
		if c.Exec.Pack.Mode != pack.Off {
			packing = "weights that stay in memory, in place (those that are streamed are read as the file has them)"
		}
	}
	if pl.UsesVRAM() { // how weights would lie there is for its backend to say
		packing = "of weights in RAM alone"
	}
	notes := []string{"packing  " + packing}
	if len(pl.Input().Devices) > 0 {
		notes = append(notes, "device   none computes yet: such a plan can be made, and not be run")
	}
	_, one := f.stateBytes(&c)
	kv, why := int64(0), "more would leave less RAM for weights"
	for i := range pl.Tensors {
		if t := &pl.Tensors[i]; t.Class == place.KV {
			kv += t.Bytes
		}
	}
	one = max(one, 1)
	switch ram := pl.Input().RAM; {
	case ram == 0:
		why = "RAM has no budget"
	case pl.Spills():
	case ram-pl.RAM() >= one:
		why = fmt.Sprintf("the budget has room for %d, with --batch", (kv+ram-pl.RAM())/one)
	default:
		why = "that is what the budget has room for"
	}
	if kv == 0 { // an encoder keeps nothing of a text
		return notes, nil
	}
	notes = append(notes,
		fmt.Sprintf("slots    %s of %s, %s each: %s", spelling.Count(kv/one, "sequence"), spelling.Count(c.Exec.Context, "token"), spelling.Size(one), why))
	if n := f.inCache(c, f.CacheBytes(c)); n > 0 {
		notes = append(notes, "context  "+strings.TrimPrefix(upTo(n, c.Exec.Context), "; "))
	}
	return notes, nil
}

// within lets packed weights take what a placement leaves of the budget, and steps
// have the tokens that it was made for.
func (f *footprint) within(c PlaceConfig, pl *place.Placement) PlaceConfig {
	if f.model.Config.Encoder == nil {
		c.shorten(pl.Input().Chunk)
	}
	if ram := pl.Input().RAM; ram > 0 && !c.Budget.Auto {
		c.Exec.Pack.Available, c.Exec.Pack.Bound, c.Exec.Pack.Reserve, c.Exec.Pack.Mixture = max(1, ram-pl.RAM()), true, 0, false
	}
	if pl.Spills() {
		c.Exec.Pack.Mode = pack.Off
	}
	return c
}
