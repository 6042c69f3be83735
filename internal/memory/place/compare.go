package place

import pub "atenia/place"

// An Actual holds the measurements of a plan that ran. 0 means not measured.
type Actual struct {
	RAM      float64 // peak resident bytes
	SSDBytes float64 // read during a decode pass
	Seconds  float64 // of a decode pass
	Overlap  float64 // share of the shorter of reading and computing that was hidden behind the other, 0 to 1
}

// Compare sets measurements beside the plan. It leaves out what was not
// measured.
func Compare(p *Placement, a Actual) pub.Comparison {
	const most = 1000
	var c pub.Comparison
	hidden := 0.0
	if least := min(p.Decode.SSD, max(p.Decode.RAM, p.Decode.Compute)); least > 0 {
		hidden = min(1, max(0, 1-(p.Decode.uncorrected(p.Decode.Seconds)-p.Decode.Bound)/least)) // by rounding it may be outside
	}
	if p.Guessed() { // then its times say nothing
		a.Seconds, a.Overlap = 0, 0
	}
	for _, d := range []pub.Difference{
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
