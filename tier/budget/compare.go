package budget

import (
	"fmt"
	"io"
	"strings"
)

// Actual is what was measured of a plan that ran. 0 = not measured.
type Actual struct {
	RAM      float64 // bytes resident, at most
	SSDBytes float64 // read by a decode pass
	Seconds  float64 // of a decode pass
	Overlap  float64 // part of the shorter of reading and computing that the other hid, 0 to 1
}

// A Difference is one number of a plan beside what was measured.
type Difference struct {
	What    string  `json:"what"`
	Planned float64 `json:"planned"`
	Actual  float64 `json:"actual"`
	Off     float64 `json:"off"` // actual / planned - 1
}

// A Comparison is a plan beside what was measured of it.
type Comparison []Difference

// Tolerance is how far a measured number may be off what was planned before
// [Comparison.Off] tells of it.
const Tolerance = 0.05

// Compare sets what was measured beside the plan. What was not measured is left
// out.
func Compare(p *Plan, a Actual) Comparison {
	const most = 1000
	var c Comparison
	hidden := 0.0
	if least := min(p.Decode.SSD, max(p.Decode.RAM, p.Decode.Compute)); least > 0 {
		hidden = 1 - (p.Decode.Seconds-p.Decode.Bound)/least
	}
	for _, d := range []Difference{
		{What: "ram bytes", Planned: float64(p.RAM()), Actual: a.RAM},
		{What: "ssd bytes a pass", Planned: p.Decode.SSDBytes, Actual: a.SSDBytes},
		{What: "s a pass", Planned: p.Decode.Seconds, Actual: a.Seconds},
		{What: "overlap", Planned: hidden, Actual: a.Overlap},
	} {
		if d.Actual > 0 {
			d.Off = min(d.Actual/d.Planned-1, most) // nothing may have been planned
			c = append(c, d)
		}
	}
	return c
}

// Off returns what is worse than planned by more than [Tolerance]: more bytes,
// more time, less overlap.
func (c Comparison) Off() (out Comparison) {
	for _, d := range c {
		if d.What == "overlap" && d.Off < -Tolerance || d.What != "overlap" && d.Off > Tolerance {
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
