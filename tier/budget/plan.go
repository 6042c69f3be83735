package budget

import (
	"slices"

	"atenia/tier"
)

// A Rule is the reason why a tensor is where it is.
type Rule string

// The rules, in the order in which they are asked.
const (
	RulePin    Rule = "pin"    // the user said so
	RuleFile   Rule = "file"   // a plan file says so
	RuleKV     Rule = "kv"     // written and read by every pass: RAM first
	RuleBuffer Rule = "buffer" // scratch of the executor
	RuleVector Rule = "vector" // too small to be worth a read
	RuleHeld   Rule = "held"   // the files do not have these bytes
	RuleVRAM   Rule = "vram"   // a device has room
	RuleFits   Rule = "fits"   // everything that is left fits RAM
	RuleRing   Rule = "ring"   // streaming it would make the ring larger than it is
	RuleValue  Rule = "value"  // saves most reading for the bytes it holds
	RuleStream Rule = "stream" // read from the SSD by every pass, through the ring
	RuleRows   Rule = "rows"   // few rows are read: they come from the SSD
)

// Placed is a tensor with the tier that it got.
type Placed struct {
	Tensor
	Tier   tier.Tier // VRAM, RAM or SSD
	Device string    // id, in VRAM
	Rule   Rule
}

// Streamed reports whether a pass reads all of t from the SSD, through the
// ring.
func (t *Placed) Streamed() bool { return t.Tier == tier.SSD && !t.ByRow }

// A Ring is the memory that streamed tensors are read into.
type Ring struct {
	Slots   int   `json:"slots"`   // units that have room at once
	Size    int64 `json:"bytes"`   // the largest such units together, read in whole blocks
	Largest int64 `json:"largest"` // streamed part of a unit
	Units   int   `json:"units"`   // that have a streamed part
}

// Bytes returns what the ring takes.
func (r Ring) Bytes() int64 { return r.Size }

// BlockBytes is the unit of reads that go past the cache of the file system.
const BlockBytes = 4096

// SlotBytes returns what a tensor of n bytes takes in the ring, wherever in a
// block of its file it begins.
func SlotBytes(n int64) int64 {
	if n == 0 {
		return 0
	}
	return (n+BlockBytes-1)&^(BlockBytes-1) + BlockBytes
}

// A Plan says where everything lives. It is made by [Place] or [Reload] and
// not changed afterwards.
type Plan struct {
	Tensors []Placed // as in the input
	Ring    Ring     // zero when nothing is streamed
	Decode  Prediction
	Prefill Prediction
	Next    []Change // what would make decode faster, best first; may be empty

	in    Input // with defaults
	stage []int // of each tensor: its unit, numbered densely in the order of use
}

// Input returns what the plan was made from, defaults filled in.
func (p *Plan) Input() Input {
	in := p.in
	in.Tensors = slices.Clone(in.Tensors)
	return in
}

// Spills reports whether anything is left on the SSD.
func (p *Plan) Spills() bool {
	for i := range p.Tensors {
		if p.Tensors[i].Tier == tier.SSD {
			return true
		}
	}
	return false
}

// UsesVRAM reports whether anything is in the memory of a device.
func (p *Plan) UsesVRAM() bool {
	for i := range p.Tensors {
		if p.Tensors[i].Tier == tier.VRAM {
			return true
		}
	}
	return false
}

// Bytes returns the bytes of tensors in a tier.
func (p *Plan) Bytes(t tier.Tier) (n int64) {
	for i := range p.Tensors {
		if p.Tensors[i].Tier == t {
			n += p.Tensors[i].Bytes
		}
	}
	return n
}

// RAM returns all that a plan takes of the budget: tensors, ring and reserves.
func (p *Plan) RAM() int64 { return p.Bytes(tier.RAM) + p.Ring.Bytes() + p.in.reserved() }

func (in *Input) reserved() (n int64) {
	for _, r := range in.Reserves {
		n += r.Bytes
	}
	return n
}

// Tensor returns the tensor of that name.
func (p *Plan) Tensor(name string) (*Placed, bool) {
	for i := range p.Tensors {
		if p.Tensors[i].Name == name {
			return &p.Tensors[i], true
		}
	}
	return nil, false
}
