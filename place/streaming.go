package place

import "time"

// A LaneWork is what one lane of the executor did.
type LaneWork struct {
	Lane         string // Io reads, Transfer decodes and aligns, Compute computes
	Tasks, Bytes int64  // bytes are those that the tasks read, moved, or computed with
}

// An ExpertCache says what the cache of a mixture's experts holds, and what it has
// read so far. What it reads and waits for is part of a atenia.Streaming's numbers.
type ExpertCache struct {
	Bytes     int64 // memory of the cache
	Slots     int   // experts that it holds at once
	Experts   int   // of all layers
	Hits      int64 // experts that were in memory when tokens chose them
	Misses    int64
	Evictions int64
	Read      int64         // bytes, from files
	Wait      time.Duration // that computing waited for reads
}

// HitRate returns the share of chosen experts that were in memory: 1 if none was
// chosen.
func (e *ExpertCache) HitRate() float64 {
	if e.Hits+e.Misses == 0 {
		return 1
	}
	return float64(e.Hits) / float64(e.Hits+e.Misses)
}
