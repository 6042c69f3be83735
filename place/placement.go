package place

import "atenia/internal/spelling"

// A Tier is a kind of memory.
type Tier uint8

// The tiers, fastest first.
const (
	TierVRAM Tier = iota // of a device
	TierRAM
	TierSSD // the files of the model
)

var tierNames = []string{TierVRAM: "Vram", TierRAM: "Ram", TierSSD: "Ssd"}

// String returns Vram, Ram or Ssd.
func (t Tier) String() string { return spelling.Enum(tierNames, "Tier", t) }

// MarshalText writes the name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// A Class says what a tensor is for, which decides where it may live.
type Class uint8

// The classes.
const (
	ClassWeight Class = iota // a matrix that every pass reads
	ClassExpert              // a matrix that some passes read
	ClassTable               // rows that are looked up
	ClassVector              // a norm, a bias: small, always in RAM
	ClassKV                  // cached keys and values
	ClassBuffer              // registers and scratch of the executor
)

var classNames = []string{"weight", "expert", "table", "vector", "kv", "buffer"}

// String returns the name, such as "weight".
func (c Class) String() string { return spelling.Enum(classNames, "Class", c) }

// MarshalText writes the name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// A Tensor is a tensor with the tier that it got.
type Tensor struct {
	Name  string
	Bytes int64
	Class Class
	// Unit numbers what is read together, in the order of first use: the weights
	// of one instruction, or one expert.
	Unit   int
	Tier   Tier
	Device string // of [TierVRAM]
	Rule   string // that decided, such as "fits" or "stream"
	// Held says why the bytes cannot be read from the model's files while it
	// runs; "" if they can.
	Held string
}

// A Ring is the memory that streamed tensors are read into.
type Ring struct {
	Slots   int   // units that have room at once
	Size    int64 // bytes of the largest such units together, read in whole blocks
	Largest int64 // bytes of the largest streamed part of a unit
	Units   int   // that have a streamed part
}

// Experts is the memory for experts of a mixture that are read when tokens
// choose them.
type Experts struct {
	Slots   int   // experts that it holds at once, beside held ones
	Experts int   // that share the slots
	Held    int   // experts that a pin or a plan file keeps in RAM
	Slot    int64 // bytes of one
	Size    int64 // bytes of all, beside those of held experts
}

// A Prediction is how long one pass over the weights takes.
type Prediction struct {
	Tokens  int     // of a pass
	Seconds float64 // of a pass, with the ring's slots
	// Text is the tokens of each sequence that Seconds is after, of a decode pass, and
	// Start what it is at the beginning of a text, where no keys and values are read yet.
	Text  int
	Start float64
	// Low and High are what Seconds is expected to lie between: by how much the
	// rates varied while they were measured, and by how far off predictions of this
	// kind were.
	Low, High float64
	// Runs is how many runs of this kind Seconds was corrected by, and Correction
	// the factor, if there were any. The other times are not corrected.
	Runs       int
	Correction float64
	Bound      float64 // seconds that perfect overlap would give
	Limit      string  // the resource that makes the bound: "ssd", "ram", "vram", "compute" or "none"
	SSD        float64 // seconds that reading the disk alone would take
	RAM        float64 // seconds that reading memory alone would take
	VRAM       float64 // seconds that reading the device's memory alone would take
	Compute    float64 // seconds that computing alone would take
	// SSDBytes are read from the SSD by a pass, RAMBytes from RAM by the
	// processor, streamed weights and cached keys and values included.
	SSDBytes, RAMBytes float64
	// ExpertBytes is the part of SSDBytes that are experts of a mixture which the
	// cache does not have, if all are chosen equally often.
	ExpertBytes float64
}

// At returns the seconds of a decode pass after so many tokens of each sequence: from the
// beginning on it takes longer by as much for each.
func (p *Prediction) At(text float64) float64 {
	if p.Text == 0 {
		return p.Seconds
	}
	return p.Start + (p.Seconds-p.Start)*text/float64(p.Text)
}

// A Change is something that would make decode faster.
type Change struct {
	What        string  `json:"what"` // such as "+2 GiB RAM"
	RAM         int64   `json:"ram"`  // bytes of the budget with it
	Seconds     float64 `json:"seconds"`
	SecondsThen float64 `json:"seconds_then"` // of a decode pass
	// Low to High is the range of Seconds, LowThen to HighThen of SecondsThen. The
	// two do not overlap. All are 0 where rates were assumed, which promises nothing.
	Low      float64 `json:"seconds_low"`
	High     float64 `json:"seconds_high"`
	LowThen  float64 `json:"seconds_then_low"`
	HighThen float64 `json:"seconds_then_high"`
	Fits     bool    `json:"fits"` // nothing is left on the SSD then
}

// A Row is one line of a placement's table: a tier, or a part of the
// RAM that no tensor has.
type Row struct {
	What    string `json:"what"`
	Bytes   int64  `json:"bytes"`
	Tensors int    `json:"tensors"`
}

// A Decision says why one tensor is where it is: the rule, the numbers it
// looked at, and what was rejected.
type Decision struct {
	Tensor   string      `json:"tensor"`
	Sources  []string    `json:"sources,omitempty"` // its names in the model's files
	Class    Class       `json:"class"`
	Bytes    int64       `json:"bytes"`
	Unit     int         `json:"unit"`
	Tier     Tier        `json:"tier"`
	Device   string      `json:"device,omitempty"`
	Rule     string      `json:"rule"`
	Reason   string      `json:"reason"`
	Reads    float64     `json:"bytes_read_per_pass"`
	Saves    float64     `json:"ssd_seconds_saved_per_pass"` // by not being on the SSD; 0 without a rate
	Rejected []Rejection `json:"rejected,omitempty"`

	Line string `json:"-"` // all of it in one: what, where, by which rule, with which numbers
}

// A Rejection is a tier that a tensor did not get.
type Rejection struct {
	Tier Tier   `json:"tier"`
	Why  string `json:"why"`
}

// String is Line.
func (d Decision) String() string { return d.Line }
