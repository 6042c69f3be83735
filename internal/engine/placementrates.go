package engine

import (
	"path/filepath"

	"atenia/internal/machine/hw"
	"atenia/internal/memory/place"
	"atenia/internal/memory/rates"
)

// The assumed rates of an unmeasured machine: a slow SSD, two channels of old
// memory, two cores with narrow vectors.
const (
	assumedSSD   = 500e6 // bytes a second
	assumedRAM   = 8e9
	assumedVRAM  = 200e9
	assumedFLOPS = 40e9
)

// rates returns configured rates, or else those just measured, or else cached
// or assumed ones.
func (m *Footprint) rates(c *PlacementConfig, now rates.Rates) (r place.Rates) {
	asked, kept := c.Rules.Rates, keptRates(c.Rules.ProfileDir, m.Path)
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
		flops = max(flops, m.keepingUp(r.RAM))
	}
	choose("flops", &r.FLOPS, asked.FLOPS, 0, 0, flops)
	r.SSDBusy, r.RAMBusy = asked.SSDBusy, asked.RAMBusy
	if r.SSDBusy == 0 && r.RAMBusy == 0 && now.RAM > 0 { // both are slower by as much as was measured
		r.SSDBusy, r.RAMBusy = now.SSDBusy*r.SSD/now.SSD, now.RAMBusy*r.RAM/now.RAM
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
func (m *Footprint) keepingUp(rate float64) float64 {
	bytes := int64(0)
	for i := range m.tensors {
		if t := &m.tensors[i]; t.Class != place.Vector && !t.ByRow {
			bytes += t.Bytes
		}
	}
	return 2 * float64(m.products()) * rate / float64(max(bytes, 1))
}

// keptRates returns the cached rates of the storage that holds a model. It
// measures nothing; rates that cannot be read are zero.
func keptRates(cacheDir, model string) (r rates.Rates) {
	if cacheDir == "" {
		return r
	}
	if pr, err := hw.Kept(cacheDir, filepath.Dir(model)); err == nil && pr != nil {
		r.SSD = pr.ReadBytes
	}
	return r
}
