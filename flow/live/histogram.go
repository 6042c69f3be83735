package live

import (
	"math/bits"
	"time"
)

// A Histogram counts durations in buckets an eighth of an octave wide, so
// quantiles are accurate to 12 %. Its size is fixed. A [LoopReport] has two.
type Histogram struct {
	counts [64 * perOctave]uint64
	total  uint64
	most   int64
}

const (
	perOctave  = 8
	octaveBits = 3
)

// add counts ns nanoseconds; negative values count as zero.
func (h *Histogram) add(ns int64) {
	ns = max(ns, 0)
	h.counts[bucket(uint64(ns))]++
	h.total++
	h.most = max(h.most, ns)
}

// bucket returns the octave of v with the three bits after its highest one.
// Values below eight have a bucket each.
func bucket(v uint64) int {
	if v < perOctave {
		return int(v)
	}
	o := bits.Len64(v) - 1
	return (o-octaveBits+1)*perOctave + int(v>>(o-octaveBits))&(perOctave-1)
}

// top returns the largest value of bucket i.
func top(i int) int64 {
	if i < perOctave {
		return int64(i)
	}
	o := i/perOctave + octaveBits - 1
	low := uint64(perOctave+i%perOctave) << (o - octaveBits)
	return int64(low + 1<<(o-octaveBits) - 1)
}

// Count returns the number of durations counted.
func (h *Histogram) Count() uint64 { return h.total }

// Max returns the longest duration, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.most) }

// Quantile returns a duration that a share q of all does not exceed, 0 if there
// are none. Quantile(0.99) of [LoopReport.Wake] is the usual measure of jitter.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	left := uint64(min(max(q, 0), 1) * float64(h.total-1))
	for i, n := range h.counts {
		if left < n {
			return time.Duration(min(top(i), h.most))
		}
		left -= n
	}
	return time.Duration(h.most)
}
