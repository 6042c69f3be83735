package place

import (
	"fmt"
	"io"
	"strings"

	"atenia/internal/spelling"
)

// A Comparison is what was predicted beside what was measured.
type Comparison []Difference

// A Difference is one number of a [Comparison].
type Difference struct {
	What    string  `json:"what"`
	Planned float64 `json:"planned"`
	Actual  float64 `json:"actual"`
	Off     float64 `json:"off"` // actual / planned - 1; of the overlap, which is a share, actual - planned
}

// tolerance is the part by which a number may be off without being told.
const tolerance = 0.05

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
		show := spelling.Seconds
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
