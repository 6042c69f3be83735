package school

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// A Line is a curve to plot: bits a character by tokens.
type Line struct {
	Name   string
	Tokens []int
	Bits   []float64
}

// Size of a plot and its margins, in points, and the colours of its lines.
const (
	plotWidth, plotHeight = 760, 420
	plotLeft, plotRight   = 56, 130
	plotTop, plotBottom   = 20, 44
)

var plotColours = []string{"#1f61a8", "#d6541e", "#3b8a3e", "#8a4fa3", "#7a7a7a", "#b08a1e"}

// Plot draws curves as an SVG with a dashed line at the floor.
func Plot(w io.Writer, lines []Line, floor float64) error {
	most, high := 1, floor+.1
	for _, l := range lines {
		for i, x := range l.Tokens {
			most, high = max(most, x), math.Max(high, l.Bits[i])
		}
	}
	high = math.Min(high, 3.5)
	low := math.Floor(floor*10) / 10
	at := func(tokens, bits float64) (x, y float64) {
		x = plotLeft + tokens/float64(most)*(plotWidth-plotLeft-plotRight)
		share := math.Min(1, math.Max(0, (bits-low)/(high-low)))
		return x, plotHeight - plotBottom - share*(plotHeight-plotTop-plotBottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	const ticks = 5
	for i := range ticks + 1 {
		bits := low + (high-low)*float64(i)/ticks
		x0, y := at(0, bits)
		x1, _ := at(float64(most), bits)
		fmt.Fprintf(&b, `<path d="M%.0f %.1fH%.0f" stroke="#ddd"/><text x="%.0f" y="%.1f" text-anchor="end">%.2f</text>`+"\n", x0, y, x1, x0-6, y+4, bits)
		tokens := float64(most) * float64(i) / ticks
		x, y0 := at(tokens, low)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle">%.0f k</text>`+"\n", x, y0+18, tokens/1000)
	}
	x0, y := at(0, floor)
	x1, _ := at(float64(most), floor)
	fmt.Fprintf(&b, `<path d="M%.0f %.1fH%.0f" stroke="#333" stroke-dasharray="4 3"/><text x="%.0f" y="%.1f">floor</text>`+"\n", x0, y, x1, x1+6, y+4)
	for i, l := range lines {
		colour := plotColours[i%len(plotColours)]
		var path strings.Builder
		for k, tokens := range l.Tokens {
			x, y := at(float64(tokens), l.Bits[k])
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(k, 1)], x, y)
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", plotWidth-plotRight+12, plotTop+14+18*i, colour, l.Name)
	}
	fmt.Fprintf(&b, `<text x="%d" y="14">bits a character, by tokens</text>`+"\n</svg>\n", plotLeft)
	_, err := io.WriteString(w, b.String())
	return err
}
