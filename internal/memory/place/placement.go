package place

import (
	"slices"

	"atenia/internal/memory"
	"atenia/internal/memory/ring"
)

// A Rule is the reason for a tensor's tier.
type Rule string

// The rules, in the order in which they are tried.
const (
	RulePin    Rule = "pin"    // requested by the user
	RuleFile   Rule = "file"   // set by a plan file
	RuleKV     Rule = "kv"     // written and read by every pass: RAM first
	RuleBuffer Rule = "buffer" // scratch of the executor
	RuleVector Rule = "vector" // too small to be worth a read
	RuleHeld   Rule = "held"   // the model's files do not contain these bytes
	RuleVRAM   Rule = "vram"   // a device has room
	RuleFits   Rule = "fits"   // everything else fits in RAM
	RuleRing   Rule = "ring"   // streaming it would enlarge the ring
	RuleValue  Rule = "value"  // saves the most reading for its size
	RuleStream Rule = "stream" // read from the SSD by every pass, through the ring
	RuleRows   Rule = "rows"   // only a few rows are read, from the SSD
	RuleCache  Rule = "cache"  // experts that tokens choose are read from the SSD, through a cache
)

// Placed is a tensor with its tier.
type Placed struct {
	Tensor
	Tier   memory.Tier // VRAM, RAM or SSD
	Device string      // id, in VRAM
	Rule   Rule
}

// Streamed reports whether every pass reads all of t from the SSD, through the
// ring.
func (t *Placed) Streamed() bool { return t.Tier == memory.SSD && !t.ByRow && t.Experts == 0 }

// Move lets t lie where memory pressure has put it, which no placement chose.
func (t *Placed) Move(to memory.Tier) {
	if to != t.Tier {
		t.Tier = to
		t.Settle()
	}
}

// Settle gives t the rule by which a weight is in its tier that no rule but the room there
// is chose.
func (t *Placed) Settle() {
	switch {
	case t.Tier != memory.SSD:
		t.Rule = RuleValue
	case t.ByRow:
		t.Rule = RuleRows
	case t.Experts > 0:
		t.Rule = RuleCache
	default:
		t.Rule = RuleStream
	}
}

// A Ring is the buffer into which streamed tensors are read ahead.
type Ring struct {
	Slots   int   `json:"slots"`   // units it holds at once
	Size    int64 `json:"bytes"`   // of the largest such units, rounded up to whole blocks
	Largest int64 `json:"largest"` // streamed bytes of the largest unit
	Units   int   `json:"units"`   // units with a streamed part
}

// Bytes returns the size of the ring.
func (r Ring) Bytes() int64 { return r.Size }

// BlockBytes is the alignment of direct I/O reads, which bypass the page cache.
const BlockBytes = 4096

// slotBytes returns the ring space for a tensor of n bytes, at any offset within
// a block of its file.
func slotBytes(n int64) int64 {
	if n == 0 {
		return 0
	}
	return (n+BlockBytes-1)&^(BlockBytes-1) + BlockBytes
}

// A Placement says where every tensor lives. It is made by [Place] or [Reload] and
// immutable.
type Placement struct {
	Tensors []Placed // as in the input
	Ring    Ring     // zero when nothing is streamed
	Cache   Cache    // zero when no experts are on the SSD
	Decode  Prediction
	Prefill Prediction
	Next    []Change // changes that would make decode faster, smallest first; may be empty
	Larger  []Change // changes with which less is read from the SSD, of which Next are some

	in    Input // with defaults
	stage []int // the unit of each tensor, numbered densely in the order of use
	backs []int // of the units of the ring, see [ring.Backs]
}

// Input returns the input of the plan, with defaults filled in.
func (p *Placement) Input() Input {
	in := p.in
	in.Tensors = slices.Clone(in.Tensors)
	return in
}

// Spills reports whether any tensor is on the SSD.
func (p *Placement) Spills() bool {
	for i := range p.Tensors {
		if p.Tensors[i].Tier == memory.SSD {
			return true
		}
	}
	return false
}

// Reads returns how a pass reads what is streamed.
func (p *Placement) Reads() ring.Reads {
	_, _, streamed := p.stages()
	return ring.ReadsOf(p.Ring.Slots, int64(streamed)/int64(max(1, p.Ring.Units)))
}

// UnpackedExperts names among rates the products of experts that are read as their files
// have them.
const UnpackedExperts = "unpacked experts"

// Guessed reports whether times are of rates that were assumed, as where memory became short
// and there was none to measure in, and of so few runs that these may have been of another kind:
// who compares them with a run compares nothing.
func (p *Placement) Guessed() bool { return p.guessed(&p.Decode) }

// Supposed is Guessed whether runs corrected the times or not, which they do of a placement
// like their own alone: who compares with another one compares nothing.
func (p *Placement) Supposed() bool { return p.supposed(&p.Decode) }

func (p *Placement) guessed(r *Prediction) bool { return r.Runs < fewRuns && p.supposed(r) }

// fewRuns is how many runs correct what was assumed before it is told as known.
const fewRuns = 3

// supposed is guessed whether runs corrected the times or not.
func (p *Placement) supposed(r *Prediction) bool {
	assumed := func(rate string) bool { return slices.Contains(p.in.Rates.Assumed, rate) }
	return assumed("ram") || assumed(UnpackedExperts) || r.Limit == limitCompute && assumed("flops") || p.Spills() && assumed("ssd")
}

// UsesVRAM reports whether any tensor is in the memory of a device.
func (p *Placement) UsesVRAM() bool {
	for i := range p.Tensors {
		if p.Tensors[i].Tier == memory.VRAM {
			return true
		}
	}
	return false
}

// Bytes returns the bytes of tensors in a tier.
func (p *Placement) Bytes(t memory.Tier) (n int64) {
	for i := range p.Tensors {
		if p.Tensors[i].Tier == t {
			n += p.Tensors[i].Bytes
		}
	}
	return n
}

// RAM returns the total that a plan takes of the RAM budget: tensors, ring, cache
// of experts and reserves.
func (p *Placement) RAM() int64 {
	return p.Bytes(memory.RAM) + p.Ring.Bytes() + p.Cache.Bytes() + p.in.reserved()
}

func (in *Input) reserved() (n int64) {
	for _, r := range in.Reserves {
		n += r.Bytes
	}
	return n
}

// Tensor returns the tensor of that name.
func (p *Placement) Tensor(name string) (*Placed, bool) {
	for i := range p.Tensors {
		if p.Tensors[i].Name == name {
			return &p.Tensors[i], true
		}
	}
	return nil, false
}
