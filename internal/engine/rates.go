package engine

import (
	"path/filepath"
	"slices"

	"atenia/internal/memory/place"
)

// The assumed rates of an unmeasured machine: a slow SSD, two channels of old
// memory, two cores with narrow vectors.
const (
	assumedSSD   = 500e6 // bytes a second
	assumedRAM   = 8e9
	assumedVRAM  = 200e9
	assumedFLOPS = 40e9
	assumedBusy  = 0.5 // of rates that were not measured at once: as if one waited for the other
)

// rates are what was asked for, else what was measured just now, else earlier,
// else assumed.
func (f *footprint) rates(c *PlaceConfig, now place.Measurement) (r place.Rates) {
	asked, kept := c.Rules.Rates, place.ReadRates(c.Rules.ProfileDir, filepath.Dir(f.Path))
	choose := func(name string, to *float64, asked, now, kept, assumed float64) {
		switch {
		case asked > 0:
			*to = asked
		case now > 0:
			*to, r.Measured = now, append(r.Measured, name)
		case kept > 0:
			*to, r.Kept = kept, append(r.Kept, name)
		default:
			*to, r.Assumed = assumed, append(r.Assumed, name)
		}
	}
	choose("ssd", &r.SSD, asked.SSD, now.SSD, kept.SSD, assumedSSD)
	choose("ram", &r.RAM, asked.RAM, now.RAM, 0, assumedRAM)
	flops := assumedFLOPS
	if asked.RAM > 0 || now.RAM > 0 {
		flops = max(flops, f.keepingUp(r.RAM))
	}
	choose("flops", &r.FLOPS, asked.FLOPS, 0, 0, flops)
	r.SSDBusy, r.RAMBusy = asked.SSDBusy, asked.RAMBusy
	if r.SSDBusy == 0 && r.RAMBusy == 0 && now.RAM > 0 { // both are slower by as much as was measured
		r.SSDBusy, r.RAMBusy = now.SSDBusy*r.SSD/now.SSD, now.RAMBusy*r.RAM/now.RAM
	}
	if r.SSDBusy == 0 && r.RAMBusy == 0 && len(r.Measured) > 0 { // memory was too short to measure it
		r.SSDBusy, r.RAMBusy, r.Assumed = r.SSD*assumedBusy, r.RAM*assumedBusy, append(r.Assumed, "both at once")
	}
	between := func(low, high float64) place.Range { return place.Range{Low: low, High: high} }
	if slices.Contains(r.Measured, "ssd") {
		r.SSDRange = between(now.Low.SSD, now.High.SSD)
	}
	if slices.Contains(r.Measured, "ram") {
		r.RAMRange = between(now.Low.RAM, now.High.RAM)
	}
	if now.RAMBusy > 0 && r.SSDBusy == now.SSDBusy && r.RAMBusy == now.RAMBusy { // not made of others
		r.SSDBusyRange, r.RAMBusyRange = between(now.Low.SSDBusy, now.High.SSDBusy), between(now.Low.RAMBusy, now.High.RAMBusy)
	}
	if c.Budget.VRAM > 0 {
		r.VRAM = assumedVRAM
		r.Assumed = append(r.Assumed, "vram")
	}
	return r
}

// keepingUp returns the operations a second of products with one row that read
// weights at a rate: a rate of reading is that of products, which compute as
// fast.
func (f *footprint) keepingUp(rate float64) float64 {
	bytes, operations := f.pass()
	return float64(operations) * rate / float64(max(bytes, 1))
}

// pass returns the bytes of weights that one token passes through the processor, and
// the operations of their products.
func (f *footprint) pass() (bytes, operations int64) {
	for i := range f.tensors {
		if t := &f.tensors[i]; t.Class != place.Vector && !t.ByRow {
			bytes += int64(float64(t.Bytes) * t.Uses)
		}
	}
	return bytes, 2 * f.products()
}

// Pass returns the bytes of weights that one token passes through the processor, and
// the operations of their products: a multiply-add is two.
func (p *Plan) Pass() (bytes, operations int64) { return p.footprint.pass() }
