package place

import (
	"fmt"
	"slices"
	"strings"

	"atenia/internal/spelling"
)

// A Range is what a value is expected to lie between: most often it does. The
// zero value says nothing.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Less reports whether a predicted time is less than another by more than predictions are off:
// by their own error, since both have those of the same rates.
func Less(seconds, than float64) bool { return seconds*(1+OwnError) < than*(1-OwnError) }

// LessRead is the part of what a pass reads from the SSD from which on less is worth advising.
const LessRead = 0.9

// Uncertainties are parts of a predicted time.
const (
	OwnError     = 0.12 // of the prediction itself: docs/placement.md has how far off it was; the rest is of rates
	keptError    = 0.15 // of a rate that was measured on another day
	mostError    = 0.25 // more is not printed: then it is a guess, and the rates say so
	leastSpread  = 0.06 // of runs of one kind
	fewRunsError = 0.12 // of the first of them; of n, that divided by n
)

// A Correction is how much longer runs took than was predicted for them.
type Correction struct {
	// Class is that of their placements, see [Placement.Class]. One that ends in a
	// space is for all classes that begin so and have no correction of their own.
	Class string  `json:"class"`
	Ratio float64 `json:"ratio"` // measured / predicted seconds, the median
	Spread
	Runs int `json:"runs"`
}

// A Spread is the least and the most of several ratios.
type Spread struct {
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// Corrections makes corrections from the ratios of measured to predicted seconds
// of runs, by class: one for each class, and one for all that begin alike.
func Corrections(ratios map[string][]float64) (out []Correction) {
	byClass := map[string][]float64{}
	for class, list := range ratios {
		byClass[class] = append(byClass[class], list...)
		kin := class[:strings.LastIndexByte(class, ' ')+1]
		byClass[kin] = append(byClass[kin], list...)
	}
	for class, list := range byClass {
		if len(list) == 0 || class == "" {
			continue
		}
		slices.Sort(list)
		n := len(list)
		median := (list[(n-1)/2] + list[n/2]) / 2
		// Of many runs, one of ten on either side may be an accident.
		out = append(out, Correction{class, median, Spread{list[n/10], list[n-1-n/10]}, n})
	}
	slices.SortFunc(out, func(a, b Correction) int { return strings.Compare(a.Class, b.Class) })
	return out
}

// Class says what limits a placement: whether weights are streamed, packed or held as
// their files have them, how its rates are known, which of them limits it, and about
// which part of the weights is read from the SSD, in quarters.
func (p *Placement) Class() string { return p.ClassAs(p.in.Packed) }

// ClassAs is Class with weights that are packed, or not, whatever was expected.
func (p *Placement) ClassAs(packed bool) string {
	kind, rate := "held", "ram"
	if packed {
		kind = "packed"
	}
	part := 0.0
	if p.Decode.SSDBytes > 0 && p.Decode.RAMBytes > 0 {
		if part = p.Decode.SSDBytes / p.Decode.RAMBytes; part > 0.001 {
			kind, rate = "streamed", "ssd"
		}
	}
	source := p.in.Rates.source(rate)
	if kind == "streamed" && source != given {
		for _, other := range []string{"ram", "both at once"} { // a half of what is compared was not found out
			if p.in.Rates.source(other) == assumed {
				source = assumed
			}
		}
	}
	return fmt.Sprintf("%s %s %s,%d/4", kind, source, p.Decode.Limit, int(min(3, 4*part)))
}

// source says where a rate is from: "measured", "kept", "assumed" or "given".
func (r *Rates) source(name string) string {
	switch {
	case slices.Contains(r.Measured, name):
		return "measured"
	case slices.Contains(r.Kept, name):
		return "kept"
	case slices.Contains(r.Assumed, name):
		return assumed
	}
	return given
}

const given, assumed = "given", "assumed"

// Given reports whether the rates that limit a placement were given rather than
// found out: then what runs measure says nothing about them.
func (p *Placement) Given() bool { return strings.Contains(p.Class(), " "+given+" ") }

// correction returns the one for a placement, nil if there is none.
func (p *Placement) correction() *Correction {
	class := p.Class()
	var best *Correction
	for i := range p.in.Corrections {
		c := &p.in.Corrections[i]
		if c.Class == class || best == nil && strings.HasSuffix(c.Class, " ") && strings.HasPrefix(class, c.Class) {
			best = c
		}
	}
	return best
}

// uncertain adds to the predictions what they may be off by, and what runs of
// this kind took more or less.
func (p *Placement) uncertain() {
	p.spread(&p.Decode, p.in.Batch, float64(p.in.Batch), OwnError)
	p.spread(&p.Prefill, p.in.Chunk, 1, mostError) // computing, whose rate is not measured
	c := p.correction()
	if c == nil || p.Given() || c.Ratio <= 0 {
		return
	}
	d := &p.Decode
	width := max((d.Range.High-d.Range.Low)/2/d.Seconds-OwnError, 0) // of the rates
	d.Runs, d.Correction = c.Runs, c.Ratio
	d.Seconds *= c.Ratio
	d.Start *= c.Ratio
	if c.Runs > 1 {
		width = max(width, (c.Most-c.Least)/2/c.Ratio)
	}
	d.Range = around(d.Seconds, max(width, leastSpread)+fewRunsError/float64(c.Runs))
}

// spread sets the range of a prediction from those of the rates.
func (p *Placement) spread(r *Prediction, tokens int, sequences, own float64) {
	if r.Seconds <= 0 {
		return
	}
	q := *p
	q.in.Rates = p.in.Rates.at(func(f Range) float64 { return f.High })
	low := q.pass(tokens, sequences, float64(p.in.Text)).Seconds
	q.in.Rates = p.in.Rates.at(func(f Range) float64 { return f.Low })
	high := q.pass(tokens, sequences, float64(p.in.Text)).Seconds
	r.Range = around(r.Seconds, max(1-low/r.Seconds, high/r.Seconds-1)+own)
}

// around returns the range of a value with a relative error.
func around(v, off float64) Range {
	off = min(off, mostError)
	return Range{v * (1 - off), v * (1 + off)}
}

// at returns rates that are an end of their ranges.
func (r Rates) at(end func(Range) float64) Rates {
	one := func(v float64, of Range, name string) float64 {
		if of.Low > 0 && of.High >= of.Low {
			return end(of)
		}
		switch r.source(name) {
		case "kept":
			return v * end(Range{1 - keptError, 1 + keptError})
		case "assumed":
			return v * end(Range{1 - mostError, 1 + mostError})
		}
		return v
	}
	out := r
	out.SSD, out.RAM = one(r.SSD, r.SSDRange, "ssd"), one(r.RAM, r.RAMRange, "ram")
	out.SSDBusy, out.RAMBusy = one(r.SSDBusy, r.SSDBusyRange, "ssd"), one(r.RAMBusy, r.RAMBusyRange, "ram")
	if slices.Contains(r.Assumed, "both at once") { // somewhere between one after another and fully at once
		out.SSDBusy, out.RAMBusy = r.SSDBusy*end(Range{1 - mostError, 1 + mostError}), r.RAMBusy*end(Range{1 - mostError, 1 + mostError})
	}
	out.VRAM, out.FLOPS = one(r.VRAM, Range{}, "vram"), one(r.FLOPS, Range{}, "flops")
	if of := r.Chosen.Range; of.Low > 0 {
		faster := end(Range{1 / of.High, 1 / of.Low})
		out.Chosen.Wait, out.Chosen.Each = r.Chosen.Wait/faster, r.Chosen.Each/faster
	}
	if r.RAM > 0 && slices.Contains(r.Measured, "ram") && slices.Contains(r.Assumed, "flops") {
		out.FLOPS = r.FLOPS * out.RAM / r.RAM // it was made from it
	}
	return out
}

// text prints a range of seconds, or of their part of n tokens.
func (r Range) text(n int) string {
	if r == (Range{}) {
		return ""
	}
	n = max(n, 1)
	return fmt.Sprintf(" (%s–%s)", spelling.Seconds(r.Low/float64(n)), spelling.Seconds(r.High/float64(n)))
}
