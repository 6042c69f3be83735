package place

import "atenia/internal/machine/hw"

// KeptRates are how fast the machine is, in bytes and operations a second. 0 = as
// measured now or earlier, or else a cautious guess; the plan says which.
type KeptRates struct {
	SSD   float64 `json:"ssd_bytes_per_s"` // large blocks of the model's files
	RAM   float64 `json:"ram_bytes_per_s"` // with all threads
	FLOPS float64 `json:"flop_per_s,omitempty"`
	// Both while both are read at once; 0 = as fast as alone.
	SSDBusy float64 `json:"ssd_busy_bytes_per_s,omitempty"`
	RAMBusy float64 `json:"ram_busy_bytes_per_s,omitempty"`
}

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
