package place

import (
	"fmt"
	"io"
	"strings"
)

// An Actual holds the measurements of a plan that ran. 0 means not measured.
type Actual struct {
	RAM      float64 // peak resident bytes
	SSDBytes float64 // read during a decode pass
	Seconds  float64 // of a decode pass
	Overlap  float64 // share of the shorter of reading and computing that was hidden behind the other, 0 to 1
}

// A Difference is one planned number beside its measurement.
type Difference struct {
	What    string  `json:"what"`
	Planned float64 `json:"planned"`
	Actual  float64 `json:"actual"`
	Off     float64 `json:"off"` // actual / planned - 1; of the overlap, which is a share, actual - planned
}

// A Comparison sets a plan beside its measurements.
type Comparison []Difference

// tolerance is the relative deviation above which [Comparison.Off] reports a
// difference.
const tolerance = 0.05

// Compare sets measurements beside the plan. It leaves out what was not
// measured.
func Compare(p *Placement, a Actual) Comparison {
	const most = 1000
	var c Comparison
	hidden := 0.0
	if least := min(p.Decode.SSD, max(p.Decode.RAM, p.Decode.Compute)); least > 0 {
		hidden = min(1, max(0, 1-(p.Decode.uncorrected(p.Decode.Seconds)-p.Decode.Bound)/least)) // by rounding it may be outside
	}
	for _, d := range []Difference{
		{What: "ram bytes", Planned: float64(p.RAM()), Actual: a.RAM},
		{What: "ssd bytes a pass", Planned: p.Decode.SSDBytes, Actual: a.SSDBytes},
		{What: "s a pass", Planned: p.Decode.Seconds, Actual: a.Seconds},
		{What: "overlap", Planned: hidden, Actual: a.Overlap},
	} {
		if d.Actual > 0 {
			if d.Off = min(d.Actual/d.Planned-1, most); d.What == "overlap" { // the planned value may be zero
				d.Off = d.Actual - d.Planned
			}
			c = append(c, d)
		}
	}
	return c
}

// Off returns the numbers that are worse than planned by more than [tolerance]:
// more bytes, more time, less overlap.
func (c Comparison) Off() (out Comparison) {
	for _, d := range c {
		if d.What == "overlap" && d.Off < -tolerance || d.What != "overlap" && d.Off > tolerance {
			out = append(out, d)
		}
	}
	return out
}

// WriteText prints the comparison as a table.
func (c Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %14s %14s %8s\n", "", "planned", "actual", "off")
	for _, d := range c {
		show := seconds
		switch {
		case d.What == "overlap":
			show = func(v float64) string { return fmt.Sprintf("%.2f", v) }
		case strings.Contains(d.What, "bytes"):
			show = func(v float64) string { return fmt.Sprintf("%.0f", v) }
		}
		fmt.Fprintf(&b, "%-18s %14s %14s %8s\n", d.What, show(d.Planned), show(d.Actual), fmt.Sprintf("%+.1f %%", 100*d.Off))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
