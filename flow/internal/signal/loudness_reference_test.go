package signal_test

import (
	"math"
	"slices"
)

// mean returns the loudness of the mean power of blocks in LUFS.
func mean(blocks []float64) float64 {
	sum := 0.0
	for _, v := range blocks {
		sum += math.Pow(10, v/10)
	}
	return 10 * math.Log10(sum/float64(len(blocks)))
}

// kept returns the blocks above their mean plus a gate in LU, sorted.
func kept(blocks []float64, gate float64) (b []float64) {
	least := mean(blocks) + gate
	for _, v := range blocks {
		if v > least {
			b = append(b, v)
		}
	}
	slices.Sort(b)
	return b
}

// meanAbove is gated loudness by its definition.
func meanAbove(blocks []float64, gate float64) float64 { return mean(kept(blocks, gate)) }

// percentiles is loudness range by its definition.
func percentiles(blocks []float64, gate float64) float64 {
	b := kept(blocks, gate)
	at := func(share float64) float64 { return b[int(math.Round(float64(len(b)-1)*share))] }
	return at(0.95) - at(0.10)
}
