package place

import (
	"atenia/internal/spelling"
	"fmt"

	"atenia/internal/memory"
)

// A Rejection is a faster tier and why a tensor is not in it.
type Rejection struct {
	Tier memory.Tier `json:"tier"`
	Why  string      `json:"why"`
}

// A Decision explains the tier of one tensor: the rule, the numbers it is based
// on, and the rejected tiers.
type Decision struct {
	Tensor   string      `json:"tensor"`
	Sources  []string    `json:"sources,omitempty"` // its names in the model's files
	Class    Class       `json:"class"`
	Bytes    int64       `json:"bytes"`
	Unit     int         `json:"unit"`
	Tier     memory.Tier `json:"tier"`
	Device   string      `json:"device,omitempty"`
	Rule     Rule        `json:"rule"`
	Reason   string      `json:"reason"`
	Reads    float64     `json:"bytes_read_per_pass"`
	Saves    float64     `json:"ssd_seconds_saved_per_pass"` // compared with streaming it; 0 without a rate
	Rejected []Rejection `json:"rejected,omitempty"`

	called string
}

// String returns one line: tensor, tier, rule, numbers.
func (d Decision) String() string {
	where := d.Tier.Lower()
	if d.Device != "" {
		where += "@" + d.Device
	}
	s := fmt.Sprintf("%s: %s by rule %s: %s", d.called, where, d.Rule, d.Reason)
	for _, r := range d.Rejected {
		s += fmt.Sprintf("; not %s: %s", r.Tier.Lower(), r.Why)
	}
	return s
}

// Decision explains tensor i.
func (p *Placement) Decision(i int) Decision {
	t := &p.Tensors[i]
	d := Decision{
		Tensor: t.Name, Sources: t.Sources, called: t.Called(), Class: t.Class, Bytes: t.Bytes, Unit: t.Unit, Tier: t.Tier, Device: t.Device, Rule: t.Rule,
		Reads: t.reads(), Saves: over(t.reads(), p.in.Rates.SSD),
	}
	if t.Class == KV || t.Class == Buffer || t.Held != "" {
		d.Saves = 0
	}
	d.Reason = p.reason(t)
	d.Rejected = p.rejected(t)
	return d
}

func (p *Placement) reason(t *Placed) string {
	size, left := spelling.Size(t.Bytes), spelling.Size(max(0, p.in.RAM-p.RAM()))
	value := fmt.Sprintf("%.3g bytes read by a pass for each byte held", t.reads()/float64(max(t.Bytes, 1)))
	switch t.Rule {
	case RulePin:
		return fmt.Sprintf("%s, as a pin says", size)
	case RuleFile:
		return fmt.Sprintf("%s, as the plan file says", size)
	case RuleKV:
		return fmt.Sprintf("%s of keys and values are written and read by every step, so they get RAM first", size)
	case RuleBuffer:
		return fmt.Sprintf("%s that every step writes", size)
	case RuleVector:
		return fmt.Sprintf("%s is too little to be worth a read from the SSD", size)
	case RuleHeld:
		return fmt.Sprintf("%s, %s, so no file has its bytes", size, t.Held)
	case RuleVRAM:
		return fmt.Sprintf("%s, %s: device %s had room", size, value, t.Device)
	case RuleFits:
		if p.in.RAM == 0 {
			return fmt.Sprintf("%s, and RAM has no budget", size)
		}
		if p.Spills() { // by pins or a plan file
			return fmt.Sprintf("%s: what is not kept on the SSD fits, with %s of %s to spare", size, left, spelling.Size(p.in.RAM))
		}
		return fmt.Sprintf("%s: everything fits, with %s of %s to spare", size, left, spelling.Size(p.in.RAM))
	case RuleRing:
		return fmt.Sprintf("%s: streamed with the rest of its unit, it would make the ring larger than its %s for %d units", size, spelling.Size(p.Ring.Bytes()), p.Ring.Slots)
	case RuleValue:
		return fmt.Sprintf("%s, %s: held, it saves %s s of reading", size, value, spelling.Seconds(over(t.reads(), p.in.Rates.SSD)))
	case RuleStream:
		return fmt.Sprintf("%s, %s: read in %s s through the ring of %s for %d units", size, value,
			spelling.Seconds(over(t.reads(), p.in.Rates.SSD)), spelling.Size(p.Ring.Bytes()), p.Ring.Slots)
	case RuleCache:
		return fmt.Sprintf("%s of %d experts, %s: those that tokens choose are read through a cache of %d experts of %d, %s", size, t.Experts, value,
			p.Cache.Slots, p.Cache.Experts, spelling.Size(p.Cache.Bytes()))
	case RuleRows:
		return fmt.Sprintf("a pass reads %s of its %s, row by row", spelling.Size(t.RowBytes), size)
	}
	return size
}

// rejected explains why t is in no faster tier.
func (p *Placement) rejected(t *Placed) (out []Rejection) {
	weight := t.Class == Weight || t.Class == Expert || t.Class == Table || t.Class == Vector
	if t.Tier == memory.VRAM || !weight || t.Rule == RulePin || t.Rule == RuleFile {
		return nil
	}
	switch {
	case len(p.in.Devices) == 0:
		out = append(out, Rejection{memory.VRAM, "no VRAM is in the budget"})
	case t.Class == Vector || t.ByRow:
		out = append(out, Rejection{memory.VRAM, "the processor reads it"})
	default:
		out = append(out, Rejection{memory.VRAM, "no device has " + spelling.Size(t.Bytes) + " left"})
	}
	if t.Tier != memory.SSD {
		return out
	}
	left := max(0, p.in.RAM-p.RAM())
	if t.Bytes > left {
		return append(out, Rejection{memory.RAM, fmt.Sprintf("%s of %s are left by what saves as much or more for each byte", spelling.Size(left), spelling.Size(p.in.RAM))})
	}
	return append(out, Rejection{memory.RAM, "it is kept free"})
}
