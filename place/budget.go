package place

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Budget bounds the memory of a model. The zero Budget bounds nothing: the
// model is mapped, and the system decides what of it is in memory.
// atenia.ParseBudget reads one.
//
// Set RAM to run a model that is larger than the memory, or to leave memory to
// other programs. What does not fit is streamed from the disk in every pass, so
// the speed of the disk then bounds that of the answer: atenia.Plan.Place predicts it,
// and the placement's Next says how much more memory would help.
type Budget struct {
	// RAM is what the whole process may have, in bytes: weights, cached keys and
	// values, buffers, tokenizer and program. A model that needs more is streamed
	// from the disk, in part. 0 = no bound.
	RAM int64
	// Auto says that RAM is what there was, as "ram=auto" sets it: a model that cannot
	// be streamed in that is mapped, unless rules of a placement ask for more.
	Auto bool
	// VRAM is what may be used of a device's memory, in bytes. It can be planned
	// for, but no device computes yet: to open a model it must be 0.
	VRAM int64
	// SSD bounds the bytes of weights that are left on the disk. 0 = no bound.
	SSD int64
	// Reserve is the part of RAM that is not for weights.
	Reserve Reserve
}

// A Reserve is the part of a [Budget] that is not for weights, in bytes. 0 = what
// the configuration needs, which is right unless measuring shows otherwise.
type Reserve struct {
	KV          int64 // cached keys and values of all sequences
	Activations int64 // buffers of the executor: not less than they need
	Runtime     int64 // the program itself, tokenizer and heap
}

// Rules say how tensors are placed within a [Budget]. The zero value leaves it to the
// planner.
type Rules struct {
	// Pins assign tensors to a tier, each "REGEXP=TIER" or "REGEXP=vram@DEVICE".
	// The first that matches a tensor's name counts. One that matches nothing, or
	// whose tier is full, is atenia.ErrPin.
	Pins []string
	// MaxTier is the slowest tier that weights may be in: "vram", "ram" or "ssd".
	// "" = ssd. What does not fit is an error when the placement is made.
	MaxTier string
	// RequireGPU refuses placements that leave a weight to the processor.
	RequireGPU bool
	// Offload says when weights leave memory while the model runs.
	Offload Offload
	// Batch is the number of sequences to make room for and to predict. 0 = 1.
	Batch int
	// Rates are the speeds of the machine, as far as they are known.
	Rates Rates
	// NoProbe does not measure how fast the model's files are read. Otherwise that
	// takes half a second, if weights stay on the disk and Rates has no SSD.
	NoProbe bool
	// ProfileDir is a folder in which the measured speed of this machine's storage
	// is kept, and how much longer runs took than was predicted, which corrects
	// later predictions. "" = the speed is assumed, and nothing is kept.
	ProfileDir string
}

// Rates are how fast the machine is, in bytes and operations a second. 0 = as
// measured now or earlier, or else a cautious guess; a placement says which.
type Rates struct {
	SSD     float64 `json:"ssd_bytes_per_s"`                // reading large blocks of the model's files
	RAM     float64 `json:"ram_bytes_per_s"`                // reading memory with all threads
	FLOPS   float64 `json:"flop_per_s,omitempty"`           // float32, with all threads
	SSDBusy float64 `json:"ssd_busy_bytes_per_s,omitempty"` // SSD while memory is read, too; 0 = as fast as alone
	RAMBusy float64 `json:"ram_busy_bytes_per_s,omitempty"` // RAM while the disk is read, too; 0 = as fast as alone
}

// budgetNames are the sizes of a budget by name, in the order in which they are printed.
var budgetNames = []string{"ram", "vram", "ssd", "kv", "act", "runtime"}

// size returns the size of a name, nil if there is none.
func (b *Budget) size(name string) *int64 {
	k := slices.Index(budgetNames, name)
	if k < 0 {
		return nil
	}
	return []*int64{&b.RAM, &b.VRAM, &b.SSD, &b.Reserve.KV, &b.Reserve.Activations, &b.Reserve.Runtime}[k]
}

// Set sets one size by its name in atenia.ParseBudget, such as "ram" to "2GiB".
func (b *Budget) Set(name, size string) (err error) {
	to := b.size(name)
	if to == nil {
		return fmt.Errorf("no memory %q; there are %s", name, strings.Join(budgetNames, ", "))
	}
	if name == "ram" {
		b.Auto = false
	}
	if *to, err = ParseSize(size); err == nil && *to == 0 && name == "ram" {
		return errors.New("no program runs in 0 bytes of ram; leave it out to bound nothing")
	}
	return err
}

// String returns what atenia.ParseBudget reads: the sizes that are set.
func (b Budget) String() string {
	var out []string
	for _, name := range budgetNames {
		if n := *b.size(name); n != 0 {
			out = append(out, fmt.Sprintf("%s=%d", name, n))
		}
	}
	return strings.Join(out, ",")
}

// Faults describes the invalid sizes, "" if there are none.
func (b *Budget) Faults() string {
	for _, name := range budgetNames {
		if *b.size(name) < 0 {
			return name + " is below 0"
		}
	}
	return ""
}

// sizeUnits lists the units of sizes.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
}

// mostBytes is more than any machine has; sums of sizes do not overflow.
const mostBytes = 1 << 56

// A SizeError is a text that is not a size in bytes.
type SizeError struct {
	Text     string
	TooLarge bool // it is a size, of more than any machine has
}

// Error implements error.
func (e *SizeError) Error() string {
	if e.TooLarge {
		return fmt.Sprintf("%q is too large a size: want at most %d bytes", e.Text, int64(mostBytes))
	}
	return fmt.Sprintf("%q is not a size: want bytes, or a number with KiB, MiB, GiB, TiB, kB, MB, GB or TB", e.Text)
}

// ParseSize reads "4GiB", "1.5 GiB", "512MiB", "2GB" or plain bytes; K, M, G and
// T alone are binary. Fractions of a byte are dropped. Its errors are [*SizeError].
func ParseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= mostBytes {
		return n, nil
	} else if text != "" && strings.Trim(text, "0123456789") == "" {
		return 0, &SizeError{s, true}
	}
	for _, u := range sizeUnits {
		if len(text) <= len(u.name) || !strings.EqualFold(text[len(text)-len(u.name):], u.name) {
			continue
		}
		number := strings.TrimSpace(text[:len(text)-len(u.name)])
		if strings.Trim(number, "0123456789.") != "" {
			break
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			break
		}
		if v *= float64(u.bytes); !(v <= mostBytes) {
			return 0, &SizeError{s, true}
		}
		return int64(v), nil
	}
	return 0, &SizeError{Text: s}
}
