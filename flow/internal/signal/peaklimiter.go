package signal

// This file holds the limiter of true peaks.

import (
	"fmt"
	"math"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// A peakLimiter keeps the true peak of every row within a ceiling: the largest magnitude between frames, as BS.1770-4
// measures it and as sharper interpolations do ([sharpPhases]). It is two equal stages in series. With W = lookahead,
// R = 64 the reach of the interpolation and H = 8 that of the gain, a stage has
//
//	p[n]            true peak around x[n-R], found from x[n-2R+1] … x[n], and a[n] = max(0, ln p[n]/ceiling)
//	A[n]            max of a[n-W-2H+2] … a[n]
//	e[n]            A[n] at once if that is more, else k e[n-1] + (1-k) A[n], k of the release
//	s[n]            mean of e[n-W+1] … e[n]
//	y[n]            x[n-W-R-H+2] exp(-s[n])
//
// Every sample is attenuated at least as much as each peak within H frames demands. So no sample exceeds the ceiling,
// and neither does a peak around which the gain is constant. Where it moves, by r per frame at most, a peak of BS.1770's
// twelve taps may exceed the ceiling by a factor of 1 + sway(r), as y[k] = x[k] g[c] + y[k] (1 - g[c]/g[k])
// around its middle c, with |y[k]| within the ceiling. As e is at most the excess E of the input and s a mean of W of
// them, r is at most E/W. The second stage finds an excess of ln(1 + sway(E/W)), for which its own gain moves so little
// that a small margin holds the rest: 0.06 dB for 64 frames, if the input exceeds the ceiling by 40 dB or less.
//
// No such bound is of use for 128 taps, whose worst case no signal comes near; but the second stage finds what the first
// one's moving gain makes of them, too, and its own gain hardly moves. Measured, what is left is within 0.02 dB.
//
// It has no gradient: that of an interpolated peak is spread over many frames, and two stages in series would need
// the first one's output again in every backward call. Use true_peak no where a gradient is wanted.
type peakLimiter[F node.Float] struct {
	rate            float64
	channels        int
	window          int     // W
	margin          float64 // factor of the ceiling
	interpolator    *interpolator[F]
	mean            []F // [W] of 1/W
	x, a, e, top, y []F // of a row of a stage: the state and the call's frames
}

// gainReach is the number of frames on each side of a peak that are attenuated by what it exceeds the ceiling, at least
// half of peakTaps.
const gainReach = 8

// loudest is the excess over the ceiling for which the margin is enough, in nepers: 40 dB.
const loudest = 40 * decibel

// inaudible is the attenuation in nepers below which the release is over, so that the gain is 1 again.
const inaudible = 1e-9

func newPeakLimiter[F node.Float](cfg node.Config) node.Instance[F] {
	l := &peakLimiter[F]{rate: cfg.SampleRate, channels: cfg.Node.Rows.C, window: cfg.Settings.Int("lookahead")}
	w := float64(l.window)
	l.margin = 1 / (1 + sway(math.Log1p(sway(loudest/w))/w))
	l.interpolator = newInterpolator[F](cfg.MaxTokens, append(standardPhases(), sharpPhases()...))
	l.mean = make([]F, l.window)
	for i := range l.mean {
		l.mean[i] = F(1 / w)
	}
	n := cfg.MaxTokens
	l.x, l.a, l.e = make([]F, l.past()+n), make([]F, l.hold()+n), make([]F, l.window-1+n)
	l.top, l.y = make([]F, n), make([]F, n)
	return newRowwise(cfg, l, 2*l.delay())
}

// sway bounds by which factor over 1 an interpolated point exceeds those of a constant gain, if the gain changes by
// slope nepers per frame.
func sway(slope float64) (most float64) {
	for _, phase := range interpolation4 {
		least := math.Inf(1)
		for c := range peakTaps {
			sum := 0.0
			for k, h := range phase {
				sum += math.Abs(h) * math.Expm1(slope*math.Abs(float64(k-c)))
			}
			least = min(least, sum)
		}
		most = max(most, least)
	}
	return most
}

// delay returns the frames by which a stage is late.
func (l *peakLimiter[F]) delay() int { return l.window + sharpReach + gainReach - 2 }

// past returns the number of earlier frames that a stage needs: for its delay, and for the interpolation.
func (l *peakLimiter[F]) past() int { return max(l.delay(), 2*sharpReach-1) }

// hold returns for how many frames more an excess counts.
func (l *peakLimiter[F]) hold() int { return l.window + 2*gainReach - 2 }

// stageStates is the number of elements that a stage carries: the level, earlier frames, excesses, levels.
func (l *peakLimiter[F]) stageStates() int { return 1 + l.past() + l.hold() + l.window - 1 }

func (l *peakLimiter[F]) States() int { return 2 * l.stageStates() }

func (l *peakLimiter[F]) Forward(c *node.Call[F], r int, s []F) {
	n := l.stageStates()
	y := l.y[:c.Tokens]
	l.stage(y, c.In[0].Row(r), c, r, s[:n])
	l.stage(c.Out[0].Row(r), y, c, r, s[n:])
}

// stage computes a row of a stage.
func (l *peakLimiter[F]) stage(y, x []F, c *node.Call[F], r int, s []F) {
	n, past, hold := len(x), l.past(), l.hold()
	line, excess, levels := s[1:1+past], s[1+past:1+past+hold], s[1+past+hold:]
	copy(l.x, line)
	copy(l.x[past:], x)
	copy(l.a, excess)
	copy(l.e, levels)
	l.interpolator.peaks(l.top[:n], l.x[past-2*sharpReach+1:past+n])
	l.follow(s, n, rowValuesOf(c, 0, r, l.channels), rowValuesOf(c, 1, r, l.channels))
	dsp.Correlate(l.top[:n], l.e[:l.window-1+n], l.mean)
	late := l.x[past-l.delay():]
	for i, s := range l.top[:n] {
		if y[i] = late[i]; s > 0 {
			y[i] *= F(math.Exp(-float64(s)))
		}
	}
	copy(line, l.x[n:past+n])
	copy(excess, l.a[n:hold+n])
	copy(levels, l.e[n:l.window-1+n])
}

// follow computes the excess and the level e of each frame from the true peaks.
func (l *peakLimiter[F]) follow(s []F, n int, ceilingDB, release rowValues[F]) {
	d, level := l.hold(), s[0]
	p := peak[F]{line: l.a[:d], x: l.a[d : d+n]}
	ceiling, k := l.ceiling(ceilingDB.At(0)), l.keep(release.At(0))
	for i, top := range l.top[:n] {
		if ceilingDB.Step+release.Step > 0 {
			ceiling, k = l.ceiling(ceilingDB.At(i)), l.keep(release.At(i))
		}
		l.a[d+i] = 0
		if top > ceiling {
			l.a[d+i] = F(math.Log(float64(top) / float64(ceiling)))
		}
		most := p.next(i)
		if level = max(most, F(k*level)+F((1-k)*most)); level < inaudible {
			level = 0
		}
		l.e[l.window-1+i] = level
	}
	s[0] = level
}

func (l *peakLimiter[F]) ceiling(db F) F { return F(l.margin * math.Exp(decibel*float64(db))) }
func (l *peakLimiter[F]) keep(t F) F     { return F(math.Exp(-1 / (l.rate * float64(t)))) }

// shortest is the least look-ahead for true peaks, whose margin is 1 dB.
const shortest = 16

func refineLimiter(n *graph.Node, s node.Settings, spec *graph.Spec) error {
	if s.Word("true_peak") == "no" {
		return nil
	}
	if s.Int("lookahead") < shortest {
		return node.Bad(n, "lookahead", fmt.Sprintf("at least %d wanted for true_peak", shortest))
	}
	spec.Adjoint = false
	return nil
}
