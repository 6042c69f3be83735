package placement

import (
	"path/filepath"

	"atenia/tier/budget"
	"atenia/tier/hw"
)

// What is assumed of a machine of which nothing was measured: a slow disk of
// the solid kind, two channels of old memory, two cores with narrow vectors.
const (
	assumedSSD   = 500e6 // bytes a second
	assumedRAM   = 8e9
	assumedVRAM  = 200e9
	assumedFLOPS = 40e9
)

// rates are what was asked for, else measured, else assumed.
func (m *Model) rates(c *Config) (r budget.Rates) {
	asked := c.Rules.Rates
	measured := measuredRates(c.Rules.ProfileDir, m.Path)
	for _, f := range []struct {
		name             string
		to               *float64
		asked, was, most float64
	}{
		{"ssd", &r.SSD, asked.SSD, measured.SSD, assumedSSD},
		{"ram", &r.RAM, asked.RAM, measured.RAM, assumedRAM},
		{"flops", &r.FLOPS, asked.FLOPS, measured.FLOPS, assumedFLOPS},
	} {
		switch {
		case f.asked > 0:
			*f.to = f.asked
		case f.was > 0:
			*f.to = f.was
		default:
			*f.to = f.most
			r.Assumed = append(r.Assumed, f.name)
		}
	}
	r.SSDBusy, r.RAMBusy = asked.SSDBusy, asked.RAMBusy
	if c.Budget.VRAM > 0 {
		r.VRAM = assumedVRAM
		r.Assumed = append(r.Assumed, "vram")
	}
	return r
}

// measuredRates returns what is known of the machine and of the storage that a
// model lies on. Nothing is measured now, and what cannot be read is not known.
func measuredRates(cacheDir, model string) (r Rates) {
	if cacheDir == "" {
		return r
	}
	if pr, err := hw.Kept(cacheDir, filepath.Dir(model)); err == nil && pr != nil {
		r.SSD = pr.ReadBytes
	}
	return r
}
