package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/place"
)

// A Budget bounds the memory of a model. The zero Budget sets no bound: the
// model is mapped, and the page cache decides which of its pages are in memory.
type Budget struct {
	// RAM bounds the memory of the whole process, in bytes: weights, cached
	// keys and values, buffers, tokenizer and program. A model that needs more
	// is partly streamed from the SSD. 0 = no bound.
	RAM int64
	// Auto says that RAM is what there was: a model that cannot be streamed there is
	// mapped, unless rules ask for more.
	Auto bool
	// VRAM is what may be used of a device's memory, in bytes. It can be planned
	// for, but no device computes yet: to open a model it must be 0.
	VRAM int64
	// SSD bounds the bytes of weights that are left on the disk. 0 = no bound.
	SSD     int64
	Reserve Reserve
}

// Reserve is RAM for everything but weights. 0 = estimated from the model's
// configuration.
type Reserve struct {
	KV          int64 // cached keys and values of all sequences
	Activations int64 // buffers of the executor: not less than they need
	Runtime     int64 // the program itself, tokenizer and heap
}

// Rules constrain the placement of tensors within a [Budget]. The zero value
// sets no constraints.
type Rules struct {
	// Pins put tensors into a tier, each "REGEXP=TIER" or "REGEXP=vram@DEVICE";
	// the first that matches a tensor counts.
	Pins []string
	// MaxTier is the slowest tier that weights may be in: "vram", "ram" or "ssd".
	// "" = ssd. What does not fit is an error when the plan is made.
	MaxTier string
	// RequireGPU rejects placements that leave a weight to the processor.
	RequireGPU bool
	Batch      int // sequences that have room and are predicted for; 0 = 1
	Rates      place.KeptRates
	// NoProbe makes plans without looking how fast the machine reads the model's
	// file. Otherwise that is done for half a second when weights stay on the disk
	// and Rates has no SSD.
	NoProbe bool
	// ProfileDir is the folder with measured rates of this machine's storage, and
	// with what runs measured, which are added when an engine is closed. "" = rates
	// are assumed, and nothing is kept.
	ProfileDir string
}

// BudgetSyntax describes the input of [ParseBudget].
const BudgetSyntax = "tiers and sizes, such as ram=2GiB,vram=0"

// ParseBudget reads "ram=2GiB,vram=0,kv=256MiB,act=64MiB,runtime=80MiB".
func ParseBudget(s string) (b Budget, err error) {
	var seen []string
	for item := range strings.SplitSeq(s, ",") {
		name, size, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return b, fmt.Errorf("%q has no \"=\"", item)
		}
		if slices.Contains(seen, name) {
			return b, fmt.Errorf("%s is there twice", name)
		}
		if err := b.Set(name, size); err != nil {
			return b, err
		}
		seen = append(seen, name)
	}
	if b == (Budget{}) {
		return b, errors.New("nothing is bounded")
	}
	return b, nil
}

// Set sets one of the sizes of [ParseBudget], by name.
func (b *Budget) Set(name, size string) (err error) {
	to := b.sizes(name)
	if to == nil {
		return fmt.Errorf("no memory %q; there are %s", name, strings.Join(budgetNames, ", "))
	}
	if name == "ram" {
		b.Auto = size == "auto"
	}
	if *to, err = parseSize(name, size); err == nil && *to == 0 && name == "ram" {
		return errors.New("no program runs in 0 bytes of ram; leave it out to bound nothing")
	}
	return err
}

// budgetNames are the names that [ParseBudget] accepts, in the order in which
// they are printed.
var budgetNames = []string{"ram", "vram", "ssd", "kv", "act", "runtime"}

// sizes returns the size of a name in [ParseBudget], nil if there is none.
func (b *Budget) sizes(name string) *int64 {
	switch name {
	case "ram":
		return &b.RAM
	case "vram":
		return &b.VRAM
	case "ssd":
		return &b.SSD
	case "kv":
		return &b.Reserve.KV
	case "act":
		return &b.Reserve.Activations
	case "runtime":
		return &b.Reserve.Runtime
	}
	return nil
}

// parseSize reads a size, or "auto": the RAM that this process has and may still
// take, less what others should find free; of VRAM nothing, for no device can
// compute yet.
func parseSize(tier, s string) (int64, error) {
	switch {
	case s != "auto":
		return place.ParseSize(s)
	case tier == "ram":
		room := ledger.Process.Room()
		if room <= 0 {
			return 0, errors.New("auto: how much memory is available is not known, or there is none to spare")
		}
		return room, nil
	case tier == "vram":
		return 0, nil
	}
	return 0, &place.SizeError{Text: s}
}

// String returns what [ParseBudget] reads: the sizes that are set.
func (b Budget) String() string {
	var out []string
	for _, name := range budgetNames {
		if n := *b.sizes(name); n != 0 {
			out = append(out, fmt.Sprintf("%s=%d", name, n))
		}
	}
	return strings.Join(out, ",")
}

// Faults describes the invalid sizes, "" if there are none.
func (b *Budget) Faults() string {
	for _, name := range budgetNames {
		if *b.sizes(name) < 0 {
			return name + " is below 0"
		}
	}
	return ""
}

// Faults returns an error for each rule that cannot be followed.
func (r *Rules) Faults() []error {
	var errs []error
	if _, err := place.ParseMaxTier(r.MaxTier); err != nil {
		errs = append(errs, err)
	}
	for _, s := range r.Pins {
		if _, err := place.ParsePin(s); err != nil {
			errs = append(errs, err)
		}
	}
	if r.Batch < 0 || r.Batch > 1<<16 {
		errs = append(errs, fmt.Errorf("%d sequences, want 1 to 65536", r.Batch))
	}
	return errs
}
