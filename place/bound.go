package place

import (
	"cmp"
	"fmt"

	"atenia/internal/spelling"
)

// A RunCost is what was measured of the steps of a run that decoded: the mean of
// one, which has several tokens where some were drafted or sequences were decoded
// together, but for what belongs to the model or the machine. What bounded a step,
// and what would help, follow from it alone, see [LastRun.Judge].
type RunCost struct {
	// In seconds: reading with at least one read in flight, computing, waiting for
	// reads or for a processor. Reading is beside computing. Neighbours is the part of
	// Waiting in which threads were ready and had no processor, if it was Told.
	Reading    float64 `json:"reading_seconds"`
	Computing  float64 `json:"computing_seconds"`
	Waiting    float64 `json:"waiting_seconds"`
	Neighbours float64 `json:"neighbours_seconds"`
	Told       bool    `json:"neighbours_known"`
	// Others is for how long other programs had processors, all together.
	Others float64 `json:"others_seconds"`

	// FirstUse is the part of Computing in which weights were packed that were used for the
	// first time, as the experts of a mixture are when tokens choose them.
	FirstUse float64 `json:"packing_seconds,omitempty"`

	ReadBytes float64 `json:"read_bytes"`       // from storage
	Again     float64 `json:"read_again_bytes"` // of these, that the run had read before
	Ahead     float64 `json:"read_ahead_bytes"` // of these, by the ring of weights that were streamed for a part of the time
	Faults    float64 `json:"page_faults"`      // that waited for storage

	Mostly string `json:"form_for_most_time,omitempty"` // how weights lay; "" = as in the end

	WeightBytes float64 `json:"weight_bytes"` // that a step passes through the processor
	// AnyBytes are the weights that steps pass through it, whichever experts they choose: the
	// ones of WeightBytes but for a mixture.
	AnyBytes   float64 `json:"weight_bytes_any,omitempty"`
	Operations float64 `json:"operations"`  // of products: a multiply-add is two
	Integer    bool    `json:"integer"`     // these are of int8, not of float32
	WeightType string  `json:"weight_type"` // of most weights
	WeightBits float64 `json:"weight_bits"` // of one of them

	// Keys and values that a step reads, and the next smaller type of them with how many
	// times smaller they are in it; "" = none.
	KVBytes float64 `json:"kv_bytes"`
	KVType  string  `json:"smaller_kv_type,omitempty"`
	KVTimes float64 `json:"smaller_kv_times,omitempty"`

	CacheBytes int64 `json:"processor_cache_bytes"` // 0 = not known
	Cores      int   `json:"cores"`                 // that the process might use
	Need       int64 `json:"memory_needed"`         // with all weights in memory, by the whole process
	Room       int64 `json:"memory_allowed"`        // that the process may have

	// Of a model that needs more than it may have: the least in which it is streamed, 0 =
	// it cannot be; and what lets it be streamed where that is more, too.
	Streams int64    `json:"memory_to_stream,omitempty"`
	Lesser  *RunLess `json:"lesser,omitempty"`

	// Of weights that have a packed form which was not used, and was not measured to be
	// slower: its bytes, 0 = there is none; and the memory of the process with it, or the
	// budget if the run had one.
	Pack     int64 `json:"pack_bytes,omitempty"`
	PackNeed int64 `json:"memory_to_pack,omitempty"`
	PackAuto bool  `json:"pack_fits,omitempty"` // it is packed unless a flag says not to
	PackHere bool  `json:"pack_here,omitempty"` // likewise, in the memory that the weights have

	// Of weights that are streamed: the bytes that a pass is placed to read of them, once those
	// were read that stay; and what lets fewer be read, what costs least first.
	Steady float64   `json:"read_bytes_steady,omitempty"`
	Fewer  []RunLess `json:"reads_fewer"`
}

// A RunLess is a configuration in which a model needs less memory, or reads less of it.
type RunLess struct {
	What  string    `json:"what"`
	Flags []RunFlag `json:"flags"`                // of the run, in place of its own
	Type  string    `json:"type,omitempty"`       // of weights, in place of Flags: they are quantized to it
	RAM   int64     `json:"ram,omitempty"`        // the least in which it is streamed; or the budget, in place of Flags
	Read  int64     `json:"read_bytes,omitempty"` // from the disk, for each token then, where it is streamed already
}

// RunRoofs are the most that a machine does in a second. 0 = not measured.
type RunRoofs struct {
	Memory  float64 `json:"memory_bytes"`     // read, by all threads together
	Float   float64 `json:"float_operations"` // of float32
	Integer float64 `json:"integer_operations"`
}

const (
	little = 0.05      // of a step's time: a wait of so much is worth a flag that is left out
	much   = 0.2       // of a step's time: from here on something bounds it
	used   = 0.5       // of what the machine can: from here on it is used up, as products never read or compute all the time
	nearly = 0.9       // of what memory can: faster products read no faster
	above  = 1.1       // times what the machine can: no measurement is that far off, so it could more then
	slow   = 0.01      // seconds: no disk lets a page fault wait longer
	turn   = 0.004     // seconds: a thread that is ready, as after a page fault, has a processor after that
	ahead  = 128 << 10 // bytes that a system reads ahead at once, for which threads wait as for one page
)

// waits divides what threads waited for, in seconds of a step: for the disk, for a
// processor with all who waited for a thread without one, and the rest. This is the one
// rule by which the disk and other programs are told apart:
//
//   - A reader of streamed weights that has no processor is no wait for the disk, and
//     computing waits for it no longer than its delay.
//   - Where pages are read, by enough bytes or faults to explain the wait, a thread that
//     waits for one is bound by the disk, and so is the turn that it waits for afterwards.
//   - Else each thread may have waited for the one that had no processor.
func (r *LastRun) waits() (disk, others, rest float64) {
	idle := r.Waiting - r.Neighbours
	if r.FormMostly() == "streamed" {
		return idle, r.Neighbours, 0
	}
	// Pages that are on their way already are waited for without a fault.
	read := r.ReadBytes > 0 && (r.Faults*slow >= idle || r.ReadBytes >= r.WeightBytes/64)
	pages := r.Faults
	if r.FormMostly() == "mapped" && r.ReadBytes >= r.WeightBytes/8 { // read ahead: few waits are told as faults
		pages = max(pages, r.ReadBytes/ahead)
	}
	if after := min(r.Neighbours, pages*turn); read && idle+after > 0 {
		if disk = idle + after; disk > much*r.step() {
			return disk, r.Waiting - disk, 0
		}
	}
	others = min(r.Waiting, r.Neighbours*float64(r.Threads))
	return 0, others, r.Waiting - others
}

// Waits reports whether steps waited for the disk for long enough that this bounds them.
func (r *LastRun) Waits() bool {
	disk, _, _ := r.waits()
	return disk > much*r.step()
}

// FormMostly returns how the weights lay for most of the time.
func (r *LastRun) FormMostly() string { return cmp.Or(r.Mostly, r.Form) }

// step returns the seconds of a step that decoded, the mean, drafting included.
func (r *LastRun) step() float64 { return r.Decode.Seconds / float64(max(1, r.Decode.Steps)) }

// drafting returns how much of a step the draft model took, in seconds.
func (r *LastRun) drafting() float64 { return r.Drafts.Seconds / float64(max(1, r.Decode.Steps)) }

// unit names what figures are of: "token", or "step" where steps had several.
func (r *LastRun) unit() string {
	if r.Decode.Tokens == r.Decode.Steps && r.Drafts.Drafted == 0 {
		return "token"
	}
	return "step"
}

// set says what bounded a step.
func (r *LastRun) set(bound, format string, args ...any) {
	r.Bound, r.BoundWhy = bound, fmt.Sprintf(format, args...)
}

// Judge says what bounded a step, in Bound and BoundWhy, and what would help most,
// in Advice. Both are functions of what the run measured and of what the machine
// can; without its figures neither memory nor arithmetic is found to be the bound.
func (r *LastRun) Judge(roofs RunRoofs) {
	wall, unit := r.step(), r.unit()
	disk, others, rest := r.waits()
	share := func(s float64) float64 { return 100 * s / wall }
	switch {
	case r.Decode.Steps == 0 || wall <= 0:
		r.set("none", "no token was decoded")
	case others > much*wall && others >= disk:
		r.set("neighbours", "threads had no processor, or waited for one that had none, for %.0f %% of the time: other programs or a quota take it", share(others))
	case r.FormMostly() == "streamed" && disk > much*wall:
		r.set("disk", "%s are read for each %s, at %.2f GB/s; computing waited %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), unit, r.ReadBytes/max(r.Reading, 1e-9)/1e9, share(disk))
	case r.FormMostly() == "streamed" && r.Threads == 1 && r.Told && r.Others > wall*(float64(r.Cores-1)+much):
		r.set("neighbours", "other programs had %.1f of %s, and so a part of the one thread's: how long it waited for them is not told where others read for it", r.Others/wall, spelling.Count(r.Cores, "processor"))
	case r.FirstUse > much*wall && r.FirstUse >= disk:
		r.set("packing", "weights that were used for the first time were packed, for %.0f %% of the time: a %s without takes no more than %s", share(r.FirstUse), unit, took(wall-r.FirstUse))
	case r.FormMostly() == "streamed" || r.Waiting <= much*wall:
		r.judgeRates(roofs)
	case disk > much*wall && r.Ahead > r.ReadBytes/2:
		r.set("paging", "weights did not stay in memory, and were streamed for a part of the time: %s were read for each %s, and computing waited %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), unit, share(disk))
	case disk > much*wall && r.Again > r.ReadBytes/2:
		r.set("paging", "weights do not stay in memory: %s are read from the disk again for each %s, and %.1f page faults wait for them, %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), unit, r.Faults, share(disk))
	case disk > much*wall:
		r.set("cold cache", "weights were read from the disk for the first time: %s for each %s, and %.1f page faults waited for them, %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), unit, r.Faults, share(disk))
	case !r.Told:
		r.set("none", "threads waited %.0f %% of the time, and for what is not known: this system does not count it, or it was lost with a thread that ended", share(r.Waiting))
	default:
		r.set("none", "threads waited %.0f %% of the time for one another, and %.0f %% for a processor that other programs had; the disk explains neither", share(rest), share(others))
	}
	r.advise()
}

// judgeRates says which of memory and arithmetic is used up, if one is, while steps of the
// model itself are computed.
func (r *LastRun) judgeRates(roofs RunRoofs) {
	wall := r.step()
	if d := r.drafting(); d > used*wall {
		r.set("drafting", "the draft model takes %.0f %% of a step", 100*d/wall)
		return
	}
	wall -= r.drafting()
	all := r.WeightBytes + r.KVBytes
	bytes, operations := all/wall, r.Operations/wall
	roof := roofs.Float
	if r.Integer {
		roof = roofs.Integer
	}
	part := func(reached, roof float64) float64 { return reached / max(roof, 1) }
	cached := max(r.WeightBytes, r.AnyBytes)+r.KVBytes <= float64(r.CacheBytes) // as the next step chooses other experts
	what := spelling.Size(int64(r.WeightBytes)) + " of weights"
	if r.KVBytes >= r.WeightBytes/64 {
		what += " and " + spelling.Size(int64(r.KVBytes)) + " of keys and values"
	}
	what += " for each " + r.unit()
	switch {
	case roofs.Memory == 0 || roof == 0:
		r.set("none", "%s are %.2f GB/s, and products %.2f GFLOP/s: what this machine can was not measured", what, bytes/1e9, operations/1e9)
	case !cached && part(bytes, roofs.Memory) >= max(used, part(operations, roof)):
		r.full = part(bytes, roofs.Memory) >= nearly
		r.set("memory", "%s are read at %.2f GB/s, of %s", what, bytes/1e9, r.reached("%.2f GB/s", "reads", bytes, roofs.Memory))
	case part(operations, roof) >= used:
		r.set("arithmetic", "products compute %.2f GFLOP/s, of %s", operations/1e9, r.reached("%.2f GFLOP/s", "computes", operations, roof))
	case cached:
		r.set("none", "%s stay in the processor's cache of %s, and products compute %.2f of %.2f GFLOP/s", what, spelling.Size(r.CacheBytes), operations/1e9, roof/1e9)
	default:
		r.set("none", "%s are read at %.2f of %.2f GB/s, and products compute %.2f of %.2f GFLOP/s: nothing is used up", what, bytes/1e9, roofs.Memory/1e9, operations/1e9, roof/1e9)
	}
}

// reached tells the most of the machine that a run shows or that is measured now: another
// program may be there that was not, and a virtual machine has what its host leaves.
func (r *LastRun) reached(format, does string, run, now float64) string {
	s := fmt.Sprintf(format+" that this machine %s with %s", max(run, now)/1e9, does, spelling.Count(r.Threads, "thread"))
	if run > now*above {
		s += fmt.Sprintf(", and now no more than "+format, now/1e9)
	}
	return s
}
