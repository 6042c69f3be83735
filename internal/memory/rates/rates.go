// Package rates measures how fast this machine reads: files past the system's
// cache and memory, alone and both at once. Placements are made by it.
//
//	Measure ──▶ Rates   bytes a second of storage and of memory
//	Drop                takes a file out of the system's cache first
//	Kept ─────▶ Rates   what was measured of a storage device earlier
//	Remember ─▶ Remembered   how much longer runs took than predicted
package rates

import "atenia/internal/machine/hw"

// Rates are how fast the machine is, in bytes and operations a second. 0 = as
// measured now or earlier, or else a cautious guess; the plan says which.
type Rates struct {
	SSD   float64 `json:"ssd_bytes_per_s"` // large blocks of the model's files
	RAM   float64 `json:"ram_bytes_per_s"` // with all threads
	FLOPS float64 `json:"flop_per_s,omitempty"`
	// Both while both are read at once; 0 = as fast as alone.
	SSDBusy float64 `json:"ssd_busy_bytes_per_s,omitempty"`
	RAMBusy float64 `json:"ram_busy_bytes_per_s,omitempty"`
}

// Kept returns what a folder of profiles keeps of the storage that dir lies on.
// Nothing is measured, and what cannot be read is not known.
func Kept(profiles, dir string) (r Rates) {
	if profiles == "" {
		return r
	}
	if p, err := hw.Kept(profiles, dir); err == nil && p != nil {
		r.SSD = p.ReadBytes
	}
	return r
}
