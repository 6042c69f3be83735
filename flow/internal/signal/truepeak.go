package signal

// This file holds the interpolation that finds peaks between frames.

import (
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// Sizes of the interpolation.
const (
	peakPhases = 4
	peakTaps   = 12
)

// interpolation4 holds the two distinct phases of the interpolation by 4 of ITU-R BS.1770-4, annex 2, table 2. The
// others are these in reverse.
var interpolation4 = [2][peakTaps]float64{
	{0.0017089843750, 0.0109863281250, -0.0196533203125, 0.0332031250000, -0.0594482421875, 0.1373291015625,
		0.9721679687500, -0.1022949218750, 0.0476074218750, -0.0266113281250, 0.0148925781250, -0.0083007812500},
	{-0.0291748046875, 0.0292968750000, -0.0517578125000, 0.0891113281250, -0.1665039062500, 0.4650878906250,
		0.7797851562500, -0.2003173828125, 0.1015625000000, -0.0582275390625, 0.0330810546875, -0.0189208984375},
}

// An interpolator computes true peaks: the largest magnitude of a signal at four times its rate.
type interpolator[F node.Float] struct {
	phases [peakPhases][peakTaps]F // in the order of frames
	points []F                     // of a phase
}

func newInterpolator[F node.Float](frames int) *interpolator[F] {
	p := &interpolator[F]{points: make([]F, frames)}
	for k := range peakTaps {
		for i, phase := range interpolation4 {
			p.phases[i][k], p.phases[peakPhases-1-i][peakTaps-1-k] = F(phase[peakTaps-1-k]), F(phase[peakTaps-1-k])
		}
	}
	return p
}

// peaks writes, for each frame of y, the largest magnitude of the four points that its last twelve frames interpolate
// and of the middle two of these frames. x has eleven frames more, which come before. The points are in the middle of
// the twelve frames, so they are five to six frames late.
func (p *interpolator[F]) peaks(y, x []F) {
	for i := range y {
		y[i] = max(abs(x[i+peakTaps/2-1]), abs(x[i+peakTaps/2]))
	}
	for i := range p.phases {
		points := p.points[:len(y)]
		dsp.Correlate(points, x[:len(y)+peakTaps-1], p.phases[i][:])
		for i, v := range points {
			y[i] = max(y[i], abs(v))
		}
	}
}
