package place

import (
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/spelling"
)

// A Change is an adjustment of the budget that would make decode faster.
type Change struct {
	What        string  `json:"what"` // such as "+2 GiB RAM"
	RAM         int64   `json:"ram"`  // the RAM budget after the change
	Seconds     float64 `json:"seconds"`
	SecondsThen float64 `json:"seconds_then"` // of a decode pass
	Range       Range   `json:"range"`        // of Seconds; zero if rates were assumed
	RangeThen   Range   `json:"range_then"`
	Fits        bool    `json:"fits"`      // nothing is streamed after the change
	SSDNow      float64 `json:"ssd_bytes"` // that a decode pass reads
	SSDBytes    float64 `json:"ssd_bytes_then"`
	// Text and StartThen are those of the pass that takes SecondsThen, see [Prediction].
	Text      int     `json:"text_tokens,omitempty"`
	StartThen float64 `json:"seconds_then_at_start,omitempty"`
}

// String returns a line such as "+2 GiB RAM: 3.90 → 2.60 s", or with what is read where times
// are of rates that were assumed.
func (c Change) String() string {
	if c.Range == (Range{}) {
		return fmt.Sprintf("%s: %s are read from the ssd by a pass, in place of %s", c.What, spelling.Size(int64(c.SSDBytes)), spelling.Size(int64(c.SSDNow)))
	}
	s := fmt.Sprintf("%s: %s s%s → %s s%s", c.What, spelling.Seconds(c.Seconds), c.Range.text(1), spelling.Seconds(c.SecondsThen), c.RangeThen.text(1)+spelling.AfterText(c.Text, c.SecondsThen, c.StartThen))
	if c.Fits {
		s += ", nothing is streamed"
	}
	return s
}

// larger are two larger RAM budgets: a quarter more, and enough to stream nothing, alone
// where that is less.
func (p *Placement) larger() []int64 {
	if p.in.RAM == 0 || !p.Spills() || p.in.MaxTier != nil && *p.in.MaxTier != memory.SSD {
		return nil
	}
	fit := p.in.reserved()
	for i := range p.Tensors {
		if p.Tensors[i].Tier != memory.VRAM {
			fit += p.Tensors[i].Bytes
		}
	}
	step := int64(64 << 20)
	for step*4 <= p.in.RAM {
		step *= 2
	}
	switch {
	case fit <= p.in.RAM: // which a plan file leaves unused
		return []int64{p.in.RAM + step}
	case fit <= p.in.RAM+step:
		return []int64{fit}
	}
	return []int64{p.in.RAM + step, fit}
}

// withoutFile says that a change is made of what a plan file says otherwise.
const withoutFile = " without the plan file"

// changes tries larger RAM budgets.
func (p *Placement) changes(without string) {
	for _, ram := range p.larger() {
		in := p.in
		in.RAM = ram
		if q, err := place(in, nil); err == nil {
			p.change(q, without)
		}
	}
}

// change keeps the change to a placement in more RAM that reads less: as the next one, too,
// if it is faster by more than predictions are off.
func (p *Placement) change(q *Placement, without string) {
	if q.Decode.SSDBytes >= p.Decode.SSDBytes {
		return
	}
	what := "+" + spelling.SizeUp(q.in.RAM-p.in.RAM) + " RAM" + without
	if q.in.RAM == p.in.RAM { // which only a plan file leaves unused
		what = "the same RAM" + without
	}
	c := Change{What: what, SSDNow: p.Decode.SSDBytes, RAM: q.in.RAM, Seconds: p.Decode.Seconds, SecondsThen: q.Decode.Seconds, Fits: !q.Spills(), Text: q.Decode.Text, StartThen: q.Decode.Start, SSDBytes: q.Decode.SSDBytes}
	if !p.Supposed() && !q.Supposed() {
		c.Range, c.RangeThen = p.Decode.Range, q.Decode.Range
	}
	p.Larger = append(p.Larger, c)
	if Less(q.Decode.Seconds, p.Decode.Seconds) {
		p.Next = append(p.Next, c)
	}
}

// Revise tries the changes again by a function that places within a RAM budget, for
// who places differently there and streams nothing in so many bytes: more is no change. Of
// a placement by a plan file they are without it.
func (p *Placement) Revise(fits int64, file bool, try func(ram int64) (*Placement, error)) {
	was, last, without := p.Larger, int64(-1), ""
	p.Next, p.Larger = nil, nil
	if file {
		fits, without = max(fits, p.in.RAM), withoutFile
	}
	for _, c := range was {
		ram := min(c.RAM, fits)
		if ram < p.in.RAM || ram == last {
			continue
		}
		last = ram
		if q, err := try(ram); err == nil {
			p.change(q, without)
		}
	}
}
