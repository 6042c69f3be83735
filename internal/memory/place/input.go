package place

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"atenia/internal/memory"
)

// A Class is the role of a tensor; it limits the tiers in which the tensor may
// live.
type Class uint8

// The classes.
const (
	Weight Class = iota // a matrix that every pass reads in full
	Expert              // a matrix that some passes read
	Table               // rows read by index
	Vector              // a norm or bias: small, always pinned
	KV                  // cached keys and values: written, so RAM comes first
	Buffer              // registers and scratch space of the executor
)

var classNames = [...]string{"weight", "expert", "table", "vector", "kv", "buffer"}

// String returns the name, such as "weight".
func (c Class) String() string { return nameOf(classNames[:], int(c)) }

// MarshalText writes the name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

// A Tensor is anything that occupies memory while a model runs.
type Tensor struct {
	Name    string
	Sources []string // its names in the model's files: several if they are joined
	Bytes   int64
	Class   Class
	// Uses is the share of the tensor that a token reads: 1 for a weight, the
	// chosen share of all experts for an expert, one sequence's share for what is
	// kept of it whatever its length.
	Uses float64
	// PerToken is the bytes of cached keys and values that a token reads for each
	// one before it, of the last Window tokens; 0 = of all.
	PerToken float64
	Window   int
	// Effort is how many times as long reading a byte takes as the rate of RAM says, for
	// what is computed with it; 0 = 1.
	Effort float64
	// ByRow is set if a pass reads only a few rows, RowBytes in total.
	ByRow    bool
	RowBytes int64
	// Experts is the number of experts whose matrices t has, one after another: a
	// pass reads those that its tokens choose, and the tensors of a unit have the
	// same ones. 0 = a pass reads t as a whole or not at all.
	Experts int
	// Unit numbers the tensors that are read together, in the order of first use:
	// the weights of one instruction, or one expert.
	Unit int
	// Held says why the bytes cannot be read from the model's files at run time,
	// such as "made from its source by a transform"; empty if they can.
	Held string
}

// Multiplied reports whether t is a weight that products read: all but vectors, and tables
// of which a pass reads rows.
func (t *Tensor) Multiplied() bool { return t.Class != Vector && !t.ByRow }

// Chosen returns the part of all experts that so many tokens choose, if all are chosen
// equally often.
func (t *Tensor) Chosen(tokens int) float64 { return 1 - math.Pow(1-t.Uses, float64(tokens)) }

// reads returns the bytes of t that one decode pass reads.
func (t *Tensor) reads() float64 {
	if t.ByRow {
		return float64(t.RowBytes)
	}
	return t.Uses * float64(t.Bytes)
}

// cached returns the bytes of cached keys and values that a token reads of one sequence
// after so many.
func (t *Tensor) cached(text float64) float64 {
	if t.Window > 0 {
		text = min(text, float64(t.Window))
	}
	return min(t.reads()+t.PerToken*text, float64(t.Bytes))
}

// A Device is a memory other than RAM that may hold weights.
type Device struct {
	ID    string `json:"id"`
	Bytes int64  `json:"bytes"` // available for weights
}

// A Reserve is RAM kept free of tensors.
type Reserve struct {
	Name  string
	Bytes int64
}

// A Pin forces every tensor with a name that matches, see [Tensor.Matches], into one tier. Of several
// matching pins the first one wins.
type Pin struct {
	Match  *regexp.Regexp
	Tier   memory.Tier // VRAM, RAM or SSD
	Device string      // id, for VRAM; empty: any with room
}

// ParsePin reads "REGEXP=TIER" or "REGEXP=TIER@DEVICE".
func ParsePin(s string) (Pin, error) {
	i := strings.LastIndexByte(s, '=')
	if i < 1 {
		return Pin{}, &pinError{Pin: s, Why: "want REGEXP=TIER or REGEXP=vram@DEVICE"}
	}
	name, device, _ := strings.Cut(s[i+1:], "@")
	t, ok := memory.Parse(name)
	switch {
	case !ok || t == memory.CPU:
		return Pin{}, &pinError{Pin: s, Why: fmt.Sprintf("no tier %q; there are vram, ram and ssd", name)}
	case device != "" && t != memory.VRAM:
		return Pin{}, &pinError{Pin: s, Why: "only vram has devices"}
	}
	re, err := regexp.Compile(s[:i])
	if err != nil {
		return Pin{}, &pinError{Pin: s, Why: "not a regular expression", Err: err}
	}
	return Pin{Match: re, Tier: t, Device: device}, nil
}

// ParseMaxTier reads the slowest tier that may be used: "vram", "ram" or "ssd";
// "" = nil, no bound.
func ParseMaxTier(s string) (*memory.Tier, error) {
	if s == "" {
		return nil, nil
	}
	t, ok := memory.Parse(s)
	if !ok || t == memory.CPU {
		return nil, fmt.Errorf("the slowest tier is %q, want vram, ram or ssd", s)
	}
	return &t, nil
}

// String returns what [ParsePin] reads.
func (p Pin) String() string {
	s := p.Match.String() + "=" + p.Tier.Lower()
	if p.Device != "" {
		s += "@" + p.Device
	}
	return s
}

// Rates are the speeds of the machine. A rate of 0 is unlimited.
type Rates struct {
	SSD   float64 `json:"ssd_bytes_per_s"`  // reading, large blocks
	RAM   float64 `json:"ram_bytes_per_s"`  // reading with all threads
	VRAM  float64 `json:"vram_bytes_per_s"` // reading on the device
	FLOPS float64 `json:"flop_per_s"`       // of matrix products, all threads
	// SSDBusy and RAMBusy are the rates when both are read at once and contend. 0
	// means no slowdown.
	SSDBusy float64 `json:"ssd_busy_bytes_per_s,omitempty"`
	RAMBusy float64 `json:"ram_busy_bytes_per_s,omitempty"`
	// The ranges are what half of the measurements of a rate lay between; zero if
	// there were none.
	SSDRange     Range `json:"ssd_range,omitzero"`
	RAMRange     Range `json:"ram_range,omitzero"`
	SSDBusyRange Range `json:"ssd_busy_range,omitzero"`
	RAMBusyRange Range `json:"ram_busy_range,omitzero"`
	// FewFLOPS is FLOPS with few rows, of sequences that are decoded together; 0 = as many.
	FewFLOPS float64 `json:"few_rows_flop_per_s,omitempty"`
	// Products are what is known beside the rate of memory, by their names.
	Products map[string]ProductRate `json:"products,omitempty"`
	// Chosen is how long experts take that are read when they are chosen; zero = as SSDBusy.
	Chosen ChosenRate `json:"chosen,omitzero"`
	// Measured names the rates measured for this plan, Kept those measured earlier,
	// Assumed those never measured. The others were given by the user.
	Measured []string `json:"measured,omitempty"`
	Kept     []string `json:"kept,omitempty"`
	Assumed  []string `json:"assumed,omitempty"`
}

// An Input is everything that a plan depends on.
type Input struct {
	Tensors  []Tensor // in the order of first use
	Files    []Part   // that hold the weights; they identify the model in a plan file
	RAM      int64    // budget in bytes; 0 = unlimited
	SSD      int64    // most bytes that may be streamed; 0 = unlimited
	Devices  []Device
	Reserves []Reserve
	Pins     []Pin
	// MaxTier is the slowest tier that may be used; nil = SSD.
	MaxTier *memory.Tier
	// RequireGPU rejects plans that leave a weight to the processor.
	RequireGPU bool
	// Slots is the number of units the ring holds: one in use, one ready, one being
	// read. 0 = 3. If three do not fit, two are tried.
	Slots int
	// RingPage is the size of the pages that a ring of a part of one or more consists of: a
	// disk reads into whole ones faster. 0 = blocks.
	RingPage int64
	Rates    Rates
	// Corrections are what runs of the model measured. They change predictions, not
	// where tensors live.
	Corrections []Correction
	Packed      bool    // weights are expected to be packed, for which corrections are others
	Batch       int     // sequences in a decode pass; 0 = 1
	Text        int     // tokens of each of them that a decode pass is predicted after
	Chunk       int     // tokens in a prefill pass; 0 = 512
	FLOP        float64 // operations of one token
}

const (
	usualSlots = 3
	fewSlots   = 2
	usualChunk = 512
	// maxBytes bounds sizes so that their sums cannot overflow.
	maxBytes   = 1 << 56
	maxTensors = 1 << 22
)

// withDefaults returns a copy with defaults filled in, or the first invalid
// field.
func (in Input) withDefaults() (Input, error) {
	if in.Slots == 0 {
		in.Slots = usualSlots
	}
	in.Batch = max(in.Batch, 1)
	if in.Chunk == 0 {
		in.Chunk = usualChunk
	}
	for _, f := range []struct {
		name string
		v    int64
		lo   int64
	}{
		{"RAM", in.RAM, 0}, {"SSD", in.SSD, 0}, {"Slots", int64(in.Slots), fewSlots}, {"RingPage", in.RingPage, 0}, {"Chunk", int64(in.Chunk), 1}, {"Text", int64(in.Text), 0},
	} {
		if f.v < f.lo || f.v > maxBytes {
			return in, &inputError{Field: f.name, Got: fmt.Sprint(f.v), Want: fmt.Sprintf("%d to %d", f.lo, int64(maxBytes))}
		}
	}
	for _, r := range in.Reserves {
		if r.Bytes < 0 || r.Bytes > maxBytes {
			return in, &inputError{Field: "reserve " + r.Name, Got: fmt.Sprint(r.Bytes), Want: "0 bytes or more"}
		}
	}
	for _, d := range in.Devices {
		if d.Bytes < 0 || d.Bytes > maxBytes {
			return in, &inputError{Field: "device " + d.ID, Got: fmt.Sprint(d.Bytes), Want: "0 bytes or more"}
		}
	}
	for _, v := range []float64{in.Rates.SSD, in.Rates.SSDBusy, in.Rates.RAMBusy, in.Rates.RAM, in.Rates.VRAM, in.Rates.FLOPS, in.Rates.Chosen.Wait, in.Rates.Chosen.Each, in.FLOP} {
		if !finite(v) {
			return in, &inputError{Field: "rate", Got: fmt.Sprint(v), Want: "0 or more"}
		}
	}
	for _, c := range in.Corrections {
		if !finite(c.Ratio) || !finite(c.Least) || !finite(c.Most) || c.Runs < 1 {
			return in, &inputError{Field: "correction " + c.Class, Got: fmt.Sprint(c.Ratio), Want: "0 or more, of one run or more"}
		}
	}
	return in, in.checkTensors()
}

func (in *Input) checkTensors() error {
	if len(in.Tensors) > maxTensors {
		return &inputError{Field: "tensors", Got: fmt.Sprint(len(in.Tensors)), Want: fmt.Sprintf("at most %d", maxTensors)}
	}
	names := make([]string, len(in.Tensors))
	total := int64(0)
	for i := range in.Tensors {
		t := &in.Tensors[i]
		names[i] = t.Name
		switch {
		case t.Bytes < 0 || t.Bytes > maxBytes || t.RowBytes < 0 || t.RowBytes > maxBytes:
			return &inputError{Field: "tensor " + t.Name, Got: fmt.Sprintf("%d bytes", t.Bytes), Want: "0 bytes or more"}
		case !finite(t.PerToken) || !finite(t.Effort) || t.Window < 0:
			return &inputError{Field: "tensor " + t.Name, Got: fmt.Sprintf("%g bytes for each token, window %d, effort %g", t.PerToken, t.Window, t.Effort), Want: "0 or more"}
		case !finite(t.Uses) || t.Uses > maxTensors:
			return &inputError{Field: "tensor " + t.Name, Got: fmt.Sprintf("%g uses", t.Uses), Want: "0 uses or more"}
		case t.Experts < 0 || t.Experts > maxTensors || t.Experts > 0 && t.Class != Expert:
			return &inputError{Field: "tensor " + t.Name, Got: fmt.Sprintf("%d experts of a %s", t.Experts, t.Class), Want: "experts of an expert"}
		case int(t.Class) >= len(classNames):
			return &inputError{Field: "tensor " + t.Name, Got: t.Class.String(), Want: "a class"}
		}
		if total += t.Bytes; total > maxBytes {
			return &inputError{Field: "tensors", Got: "more bytes than can be counted", Want: fmt.Sprint(int64(maxBytes))}
		}
	}
	slices.Sort(names)
	for i := range names[:max(0, len(names)-1)] {
		if names[i] == names[i+1] {
			return &inputError{Field: "tensor " + names[i], Got: "two of that name", Want: "one"}
		}
	}
	return nil
}

func finite(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }
