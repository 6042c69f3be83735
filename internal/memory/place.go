package memory

// Placement: in which memory one tensor belongs, from pressures alone. It is a
// fixed list of rules; the first whose conditions all hold decides, and the
// rules before it are reported as rejected, each with the condition that failed.

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"atenia/internal/machine/hw"
)

// The thresholds of placement. Pressures are float32 and are compared as such.
const (
	SafeVRAM     float32 = .80 // below is safe
	SafeRAM      float32 = .85 // below is safe
	CriticalVRAM float32 = .95 // at or above is critical
	CriticalRAM  float32 = .95 // at or above is critical
	VeryHighRAM  float32 = .90 // above is very high
	HeavyCost    float32 = 100 // above is compute-heavy
	HugeBytes    uint64  = 512 << 20
)

// A TensorProfile is the input of placement about one tensor.
type TensorProfile struct {
	Name         string   `json:"name,omitempty"`
	Elements     uint64   `json:"num_elements"`
	ElementBytes uint32   `json:"element_size_bytes"`
	Cost         *float32 `json:"estimated_compute_cost,omitempty"` // relative, no unit; nil counts as 0
}

// Bytes returns the size of the tensor, at most the largest uint64.
func (p *TensorProfile) Bytes() uint64 {
	hi, lo := bits.Mul64(p.Elements, uint64(p.ElementBytes))
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

// A Rule names one rule of placement.
type Rule uint8

// The rules of placement in the order in which they are tried.
const (
	ruleNoDevice      Rule = iota + 1 // there is no device
	ruleSafeVRAM                      // a device has room
	ruleAllCritical                   // both memories are full and the tensor is huge
	ruleVeryHighRAM                   // RAM is nearly full and the tensor is huge
	ruleHugeToRAM                     // huge, and RAM has room
	ruleHighVRAM                      // only VRAM is short of room
	ruleNoReliability                 // there is room, but no device can be relied on
	ruleHighPressure                  // none of the above
)

var ruleNames = [...]string{"", "NoDevice", "SafeVram", "AllCritical", "VeryHighRam", "HugeToRam", "HighVram", "NoReliability", "HighPressure"}

// String returns the name of the rule in traces and records.
func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return "Rule(" + strconv.Itoa(int(r)) + ")"
}

// MarshalText writes the name of the rule.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Inputs are the numbers that placement decides by. The same inputs give the
// same decision.
type Inputs struct {
	Devices     int     `json:"devices"`
	Best        string  `json:"best,omitempty"`        // id of the most reliable device
	Reliability float32 `json:"reliability,omitempty"` // of that device, 0 to 1
	Bytes       uint64  `json:"bytes"`
	Cost        float32 `json:"cost"`
	VRAM        float32 `json:"vram"` // pressure; 1 if unknown
	RAM         float32 `json:"ram"`  // pressure; 0 if unknown
	// PressureUnknown is set if a pressure was unknown and VRAM or RAM holds its
	// default.
	PressureUnknown bool `json:"pressure_unknown,omitempty"`
	// NoSSD is set if storage may not be used as the last resort.
	NoSSD bool `json:"no_ssd_last_resort,omitempty"`
}

// A Because is a rule with the observed quantity and the limit that it was
// compared with.
type Because struct {
	Rule     Rule    `json:"rule"`
	What     string  `json:"what"` // the quantity
	Observed float64 `json:"observed"`
	Limit    float64 `json:"limit"`
}

// A Decision says where a tensor belongs and why.
type Decision struct {
	What    string  `json:"what,omitempty"` // name of the tensor
	To      Tier    `json:"to"`
	Device  string  `json:"device,omitempty"` // its id when To is VRAM
	Reason  string  `json:"reason"`           // one line
	Because Because `json:"because"`
	Inputs  Inputs  `json:"inputs"`
}

// String returns the rule, the observed quantity and the limit in one line.
func (b Because) String() string {
	return fmt.Sprintf("%v: %s %s, limit %s", b.Rule, b.What, number(b.Observed), number(b.Limit))
}

// number formats bytes and counts in full and pressures with the digits they
// were given with.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 32)
}

// String returns the decision in one line.
func (d Decision) String() string {
	to := d.To.String()
	if d.Device != "" {
		to += " of " + d.Device
	}
	return fmt.Sprintf("%s to %s: %s [%v]", d.What, to, d.Reason, d.Because)
}

// placementPressures returns the pressures that placement decides by: an unknown
// VRAM pressure counts as full, an unknown RAM pressure as empty.
func placementPressures(vram, ram *float32) (v, r float32) { return or(vram, 1), or(ram, 0) }

// PlanningPressures returns the pressures that execution, offload and the graph
// decide by: an unknown pressure counts as empty.
func PlanningPressures(vram, ram *float32) (v, r float32) { return or(vram, 0), or(ram, 0) }

func or(p *float32, absent float32) float32 {
	if p == nil {
		return absent
	}
	return *p
}

// Decide returns the tier for the tensor on the machine of the snapshot; noSSD says that
// storage may not be used as the last resort. It compares pressures, not free bytes:
// package place plans by bytes.
func Decide(p TensorProfile, s hw.Snapshot, noSSD bool) Decision {
	in := Inputs{Devices: len(s.GPUs), Bytes: p.Bytes(), Cost: or(p.Cost, 0), NoSSD: noSSD,
		PressureUnknown: s.Pressure.VRAM == nil || s.Pressure.RAM == nil}
	in.VRAM, in.RAM = placementPressures(s.Pressure.VRAM, s.Pressure.RAM)
	if best, reliability := bestDevice(&s); best != nil {
		in.Best, in.Reliability = best.ID, reliability
	}
	d := in.Decide()
	d.What = p.Name
	return d
}

// Decide applies the rules to recorded inputs.
func (in Inputs) Decide() Decision {
	r := &placement[len(placement)-1]
	for i := range placement {
		if failed, _, _ := placement[i].failed(in); failed == nil {
			r = &placement[i]
			break
		}
	}
	d := Decision{To: r.to, Reason: r.reason, Inputs: in}
	shown := r.when[len(r.when)-1]
	observed, limit := shown.numbers(in)
	d.Because = Because{r.rule, shown.what, observed, limit}
	if r.rule == ruleSafeVRAM {
		d.Device, d.Reason = in.Best, selected(in.Best, in.Reliability)
	}
	return d
}

func selected(id string, reliability float32) string {
	var room [128]byte // on the stack
	b := append(room[:0], "Selected GPU "...)
	b = append(b, id...)
	b = append(b, " (reliability="...)
	b = strconv.AppendFloat(b, float64(reliability), 'f', 2, 64)
	return string(append(b, ") and VRAM pressure is safe"...))
}

// Rejected returns the rules tried before the one that decided, each with the
// condition that did not hold.
func (d *Decision) Rejected() []Because {
	var out []Because
	for i := range placement {
		r := &placement[i]
		if r.rule == d.Because.Rule {
			break
		}
		if c, observed, limit := r.failed(d.Inputs); c != nil {
			out = append(out, Because{r.rule, c.what, observed, limit})
		}
	}
	return out
}

// bestDevice returns the most reliable device; ties go to the highest score,
// then to the smallest id. It returns nil if there is none.
func bestDevice(s *hw.Snapshot) (best *hw.GPU, reliability float32) {
	const epsilon = 0x1p-23 // of float32: a smaller difference counts as equal
	var score float32
	for i := range s.GPUs {
		g := &s.GPUs[i]
		r, c := reliabilityOf(s.Reliability, g.ID), or(g.ComputeScore, 0)
		better := best == nil || r > reliability
		if best != nil && abs(r-reliability) < epsilon {
			better = c > score || abs(c-score) < epsilon && g.ID < best.ID
		}
		if better {
			best, reliability, score = g, r, c
		}
	}
	return best, reliability
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// reliabilityOf returns how reliable a device is, 0 to 1: the share of its calls
// that succeeded, less a seventh if it ever reported an error. A device without
// history counts as fully reliable.
func reliabilityOf(by map[string]hw.Reliability, id string) float32 {
	stats, ok := by[id]
	if !ok {
		return 1
	}
	total, carry := bits.Add64(stats.OK, stats.Fail, 0)
	if carry != 0 {
		total = math.MaxUint64
	}
	score := float32(1)
	if total != 0 {
		score = min(float32(stats.OK)/float32(total), 1)
	}
	if stats.LastErrorEpochMS != nil {
		score *= .85
	}
	return score
}
