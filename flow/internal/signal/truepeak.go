package signal

// This file holds the interpolation that finds peaks between frames.

import (
	"math"
	"slices"

	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// peakTaps is the number of taps of a phase of BS.1770.
const peakTaps = 12

// interpolation4 holds the two distinct phases of the interpolation by 4 of ITU-R BS.1770-4, annex 2, table 2. The
// others are these in reverse.
var interpolation4 = [2][peakTaps]float64{
	{0.0017089843750, 0.0109863281250, -0.0196533203125, 0.0332031250000, -0.0594482421875, 0.1373291015625,
		0.9721679687500, -0.1022949218750, 0.0476074218750, -0.0266113281250, 0.0148925781250, -0.0083007812500},
	{-0.0291748046875, 0.0292968750000, -0.0517578125000, 0.0891113281250, -0.1665039062500, 0.4650878906250,
		0.7797851562500, -0.2003173828125, 0.1015625000000, -0.0582275390625, 0.0330810546875, -0.0189208984375},
}

// standardPhases returns the four phases of BS.1770, in the order of frames.
func standardPhases() [][]float64 {
	var phases [][]float64
	for _, phase := range interpolation4 {
		back := slices.Clone(phase[:])
		slices.Reverse(back)
		phases = append(phases, phase[:], back)
	}
	return phases
}

// Of the phases that are sharper than those of BS.1770.
const (
	sharpReach = 64 // frames on each side of a point
	sharpSteps = 8  // points per frame: those of meters at four times the rate with an odd or an even number of taps
)

// sharpPhases returns the phases of Blackman-windowed sincs that reach 16, 32 and 64 frames to each side. The twelve taps
// of BS.1770 read up to a few dB low from 0.4 of the rate on. A longer filter reads more of what lies there, but near
// half the rate the sum of a sine and its image beats, and the shorter ones see the crests of that; so a limiter takes
// the largest of all.
func sharpPhases() [][]float64 {
	var phases [][]float64
	for reach := sharpReach / 4; reach <= sharpReach; reach *= 2 {
		for step := 1; step < sharpSteps; step++ {
			phase := make([]float64, 2*reach)
			for k := range phase {
				d := float64(k-reach+1) - float64(step)/sharpSteps
				u := math.Pi * d / float64(reach)
				phase[k] = sinc(d) * (0.42 + 0.5*math.Cos(u) + 0.08*math.Cos(2*u))
			}
			phases = append(phases, phase)
		}
	}
	return phases
}

// An interpolator computes true peaks: the largest magnitude of a signal, in and between its frames.
type interpolator[F node.Float] struct {
	reach  int   // half of the most taps of a phase
	phases [][]F // of an even number of taps each, around the same middle
	points []F   // of a phase
}

func newInterpolator[F node.Float](frames int, phases [][]float64) *interpolator[F] {
	p := &interpolator[F]{points: make([]F, frames)}
	for _, phase := range phases {
		taps := make([]F, len(phase))
		for k, h := range phase {
			taps[k] = F(h)
		}
		p.phases, p.reach = append(p.phases, taps), max(p.reach, len(taps)/2)
	}
	return p
}

// peaks writes, for each frame of y, the largest magnitude of the points that its last 2 reach frames interpolate
// and of the middle two of these frames. x has 2 reach - 1 frames more, which come before. The points are in the middle
// of these frames, so they are reach - 1 to reach frames late.
func (p *interpolator[F]) peaks(y, x []F) {
	for i := range y {
		y[i] = max(abs(x[i+p.reach-1]), abs(x[i+p.reach]))
	}
	for _, taps := range p.phases {
		points := p.points[:len(y)]
		dsp.Correlate(points, x[p.reach-len(taps)/2:][:len(y)+len(taps)-1], taps)
		for i, v := range points {
			y[i] = max(y[i], abs(v))
		}
	}
}
