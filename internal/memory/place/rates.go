package place

import "atenia/internal/machine/hw"

// ReadRates returns what a folder of profiles keeps of the storage that dir lies on.
// Nothing is measured, and what cannot be read is not known.
func ReadRates(profiles, dir string) (r KeptRates) {
	if profiles == "" {
		return r
	}
	if p, err := hw.Kept(profiles, dir); err == nil && p != nil {
		r.SSD = p.ReadBytes
	}
	return r
}
