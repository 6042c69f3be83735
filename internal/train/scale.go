package train

import (
	"math"
	"strconv"
)

// A PlotPoint is a point of a line.
type PlotPoint struct{ X, Y float64 }

// A PlotLine is a list of points with ascending X.
type PlotLine struct {
	Name   string
	Points []PlotPoint
}

// A span is the range of an axis.
type span struct{ lo, hi float64 }

// at returns the relative position of x, from 0 to 1.
func (s span) at(x float64) float64 { return (x - s.lo) / (s.hi - s.lo) }

// spans returns the ranges of the axes. The ordinate reaches from the lowest
// value to the largest of the first few, so that a single outlier does not
// flatten the plot.
func spans(lines []PlotLine) (x, y span, ok bool) {
	x, y = span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	for _, l := range lines {
		for _, p := range l.Points {
			if !finite(p) {
				continue
			}
			x.lo, x.hi = min(x.lo, p.X), max(x.hi, p.X)
			y.lo, y.hi = min(y.lo, p.Y), max(y.hi, p.Y)
		}
	}
	if x.lo > x.hi {
		return x, y, false
	}
	if first, found := start(lines); found {
		y.hi = min(y.hi, first+0.25*(first-y.lo)+1e-9)
	}
	return widened(x), widened(y), true
}

func finite(p PlotPoint) bool { return isFinite(p.X) && isFinite(p.Y) }

func isFinite(x float64) bool { return !math.IsNaN(x) && math.Abs(x) < 1e100 }

// start returns the largest of the first few values.
func start(lines []PlotLine) (most float64, found bool) {
	const few = 3
	for _, l := range lines {
		for _, p := range l.Points[:min(few, len(l.Points))] {
			if finite(p) && (!found || p.Y > most) {
				most, found = p.Y, true
			}
		}
	}
	return most, found
}

// widened adds a margin around a single value.
func widened(s span) span {
	if s.hi-s.lo < 1e-9*(1+math.Abs(s.lo)) {
		d := max(0.5, math.Abs(s.lo)*1e-3)
		return span{s.lo - d, s.hi + d}
	}
	return s
}

// ticks returns about want round numbers in a span.
func (s span) ticks(want int) (at []float64) {
	raw := (s.hi - s.lo) / float64(want)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, k := range []float64{1, 2, 5, 10} {
		if k*step >= raw {
			step *= k
			break
		}
	}
	for k := math.Ceil(s.lo / step); k*step <= s.hi && len(at) < 4*want; k++ {
		at = append(at, k*step)
	}
	return at
}

// label formats a number for a tick.
func label(x float64) string {
	unit := ""
	for _, u := range []struct {
		of   float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		if math.Abs(x) >= u.of {
			x, unit = x/u.of, u.name
			break
		}
	}
	return strconv.FormatFloat(math.Round(x*1e4)/1e4, 'f', -1, 64) + unit
}
