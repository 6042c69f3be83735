package atenia

import (
	"fmt"
	"slices"
	"strconv"

	"atenia/internal/machine/cpu"
	"atenia/internal/policy/observe"
	"atenia/internal/spelling"
	"atenia/tensor"
)

// A RunCost is what was measured of the steps of a run that decoded: the mean of
// one, but for what belongs to the model or the machine. What bounded a token, and
// what would help, follow from it alone, see [LastRun.Judge].
type RunCost struct {
	// In seconds: reading with at least one read in flight, computing, waiting for
	// reads or for a processor. Reading is beside computing. Neighbours is the part of
	// Waiting in which threads were ready and had no processor, if it was Told.
	Reading    float64 `json:"reading_seconds"`
	Computing  float64 `json:"computing_seconds"`
	Waiting    float64 `json:"waiting_seconds"`
	Neighbours float64 `json:"neighbours_seconds"`
	Told       bool    `json:"neighbours_known"`

	ReadBytes float64 `json:"read_bytes"`       // from storage
	Again     float64 `json:"read_again_bytes"` // of these, that the run had read before
	Faults    float64 `json:"page_faults"`      // that waited for storage

	WeightBytes float64 `json:"weight_bytes"` // that a token passes through the processor
	Operations  float64 `json:"operations"`   // of products: a multiply-add is two
	Integer     bool    `json:"integer"`      // these are of int8, not of float32
	WeightType  string  `json:"weight_type"`  // of most weights
	WeightBits  float64 `json:"weight_bits"`  // of one of them

	CacheBytes int64     `json:"processor_cache_bytes"` // 0 = not known
	Cores      int       `json:"cores"`                 // that the process might use
	Need       int64     `json:"memory_needed"`         // with all weights in memory, by the whole process
	Room       int64     `json:"memory_allowed"`        // that the process may have
	Quicker    int       `json:"quicker_threads"`       // number of threads with which tokens were measured to be faster; 0 = none
	Larger     []RunMore `json:"larger_budgets"`        // of a model that is streamed, smallest first
}

// A RunMore is a larger budget that would make a token faster.
type RunMore struct {
	What string `json:"what"` // with the seconds before and after
	RAM  int64  `json:"ram"`
}

// RunRoofs are the most that a machine does in a second. 0 = not measured.
type RunRoofs struct {
	Memory  float64 `json:"memory_bytes"`     // read, by all threads together
	Float   float64 `json:"float_operations"` // of float32
	Integer float64 `json:"integer_operations"`
}

// cost measures a run from the totals of its steps.
func (m *Model) cost(t *observe.Tally, r *LastRun) (c RunCost) {
	p, info := m.plan.compiled, cpu.Detect()
	n := float64(max(1, t.Decode.Steps))
	wall := t.Decode.Took.Seconds() / n
	if c.Told = t.Delays; t.Offered > 0 {
		c.Neighbours = wall * float64(t.Delayed) / float64(t.Offered)
	}
	if r.Form == "streamed" { // a delay may have been counted beside a read
		c.Reading, c.ReadBytes = t.Ring.Busy.Seconds()/n, float64(t.Ring.Read)/n
		c.Waiting = min(wall, max(t.Ring.Stall.Seconds()/n, c.Neighbours))
		c.Computing = wall - c.Waiting
	} else {
		c.ReadBytes, c.Again = float64(t.Read)/n, float64(max(0, t.Read-max(0, p.Totals.Bytes-t.Before)))/n
		if t.Offered > 0 && t.Computed > 0 { // threads that wait for pages or for a processor use no time of one
			c.Computing = wall * min(1, float64(t.Computed)/float64(t.Offered))
			c.Waiting = wall - c.Computing
		}
	}
	c.Neighbours = min(c.Waiting, c.Neighbours)
	c.Faults = float64(t.Faults) / n
	bytes, operations := p.Pass()
	c.WeightBytes, c.Operations = float64(bytes), float64(operations)*float64(max(t.Decode.Steps, t.Decode.Rows))/n
	if types := p.Totals.Types; len(types) > 0 {
		c.WeightType, c.WeightBits = types[0].DType.String(), float64(types[0].Bytes)/float64(max(1, types[0].Parameters))*8
		c.Integer = types[0].DType.Quantized()
	}
	c.CacheBytes, c.Cores = int64(max(info.L3, info.L2*info.Cores)), cpu.Threads()
	c.Need, c.Room = p.Memory()
	if r.Learned != nil {
		for _, k := range r.Learned.Knobs {
			if n, err := strconv.Atoi(k.Option); err == nil && k.Knob == "threads" && n != r.Threads {
				c.Quicker = n
			}
		}
	}
	if pl := m.engine.Placement(); pl != nil && r.Form == "streamed" {
		for _, x := range pl.Next {
			c.Larger = append(c.Larger, RunMore{x.String(), x.RAM})
		}
	}
	return c
}

const (
	much = 0.2  // of a token's time: from here on something bounds it
	used = 0.5  // of what the machine can: from here on it is used up, as products never read or compute all the time
	slow = 0.01 // seconds: no disk lets a page fault wait longer
)

// Judge says what bounded a token, in Bound and BoundWhy, and what would help most,
// in Advice. Both are functions of what the run measured and of what the machine
// can; without its figures neither memory nor arithmetic is found to be the bound.
func (r *LastRun) Judge(roofs RunRoofs) {
	wall := r.Decode.Seconds / float64(max(1, r.Decode.Steps))
	// A thread without a processor is waited for by the others, too; but one that reads, for
	// no longer than its delay.
	taken := r.Neighbours
	if r.Form != "streamed" {
		taken = min(r.Waiting, taken*float64(r.Threads))
	}
	paused := r.Waiting - taken // for pages, or for another thread
	// Pages that are on their way already are waited for without a fault.
	read := r.ReadBytes > 0 && (r.Faults*slow >= paused || r.ReadBytes >= r.WeightBytes/64)
	share := func(s float64) float64 { return 100 * s / wall }
	set := func(bound, format string, args ...any) { r.Bound, r.BoundWhy = bound, fmt.Sprintf(format, args...) }
	switch {
	case r.Decode.Steps == 0 || wall <= 0:
		set("none", "no token was decoded")
	case taken > much*wall && taken >= paused:
		set("neighbours", "threads had no processor, or waited for one that had none, for %.0f %% of the time: other programs or a quota take it", share(taken))
	case r.Form == "streamed" && paused > much*wall:
		set("disk", "%s are read for each token, at %.2f GB/s; computing waited %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), r.ReadBytes/max(r.Reading, 1e-9)/1e9, share(paused))
	case r.Form == "streamed" || r.Waiting <= much*wall:
		r.judgeRates(wall, roofs)
	case read && r.Again > r.ReadBytes/2:
		set("paging", "weights do not stay in memory: %s are read from the disk again for each token, and %.1f page faults wait for them, %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), r.Faults, share(paused))
	case read:
		set("cold cache", "weights were read from the disk for the first time: %s for each token, and %.1f page faults waited for them, %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), r.Faults, share(paused))
	case !r.Told:
		set("none", "threads waited %.0f %% of the time, and this system does not count for what", share(r.Waiting))
	default:
		set("none", "threads waited %.0f %% of the time for one another: neither the disk nor other programs explain it", share(r.Waiting))
	}
	r.advise()
}

// judgeRates says which of memory and arithmetic is used up, if one is.
func (r *LastRun) judgeRates(wall float64, roofs RunRoofs) {
	bytes, operations := r.WeightBytes/wall, r.Operations/wall
	roof := roofs.Float
	if r.Integer {
		roof = roofs.Integer
	}
	part := func(reached, roof float64) float64 { return reached / max(roof, 1) }
	cached := r.WeightBytes <= float64(r.CacheBytes)
	set := func(bound, format string, args ...any) { r.Bound, r.BoundWhy = bound, fmt.Sprintf(format, args...) }
	size := spelling.Size(int64(r.WeightBytes))
	switch {
	case roofs.Memory == 0 || roof == 0:
		set("none", "%s of weights for each token are %.2f GB/s, and products %.2f GFLOP/s: what this machine can was not measured", size, bytes/1e9, operations/1e9)
	case !cached && part(bytes, roofs.Memory) >= max(used, part(operations, roof)):
		set("memory", "%s of weights for each token are read at %.2f GB/s, of %.2f GB/s that this machine reads", size, bytes/1e9, roofs.Memory/1e9)
	case part(operations, roof) >= used:
		set("arithmetic", "products compute %.2f GFLOP/s, of %.2f GFLOP/s that this machine computes", operations/1e9, roof/1e9)
	case cached:
		set("none", "the %s of weights for each token stay in the processor's cache of %s, and products compute %.2f of %.2f GFLOP/s", size, spelling.Size(r.CacheBytes), operations/1e9, roof/1e9)
	default:
		set("none", "weights are read at %.2f of %.2f GB/s, and products compute %.2f of %.2f GFLOP/s: nothing is used up", bytes/1e9, roofs.Memory/1e9, operations/1e9, roof/1e9)
	}
}

// advise chooses the one thing that would help most against what bounds a token.
func (r *LastRun) advise() {
	model := spelling.Shell(r.Model)
	run := "atenia run " + model + r.Files + r.Flags
	set := func(command, format string, args ...any) { r.Advice = RunAdvice{fmt.Sprintf(format, args...), command} }
	switch r.Bound {
	case "disk":
		for _, x := range slices.Backward(r.Larger) {
			if x.RAM <= r.Room {
				set(fmt.Sprintf("%s --budget ram=%d", run, x.RAM), "a larger budget, %s", x.What)
				return
			}
		}
		r.smaller(model)
	case "paging", "cold cache":
		switch {
		case r.Need > r.Room:
			set(run+" --budget ram=auto", "stream what does not fit instead of mapping it: the process needs %s and may have %s", spelling.Size(r.Need), spelling.Size(r.Room))
		case r.Bound == "paging":
			set(run+" --no-mmap", "hold the weights in memory instead of mapping them: the process needs %s and may have %s", spelling.Size(r.Need), spelling.Size(r.Room))
		default:
			set(run, "run it again: what was read stays in memory, as the process needs %s and may have %s", spelling.Size(r.Need), spelling.Size(r.Room))
		}
	case "neighbours":
		if r.Quicker > 0 {
			set(fmt.Sprintf("%s --threads %d", run, r.Quicker), "end programs that use the processors, or compute with %d of %d threads, which were faster", r.Quicker, r.Threads)
			return
		}
		set("", "end programs that use the processors, or allow more of them")
	case "memory":
		r.smaller(model)
	case "arithmetic":
		if r.Threads < r.Cores {
			set(fmt.Sprintf("%s --threads %d", run, r.Cores), "compute with %s in place of %d", spelling.Count(r.Cores, "thread"), r.Threads)
			return
		}
		set("", "nothing: %s compute as fast as this machine does", spelling.Count(r.Threads, "thread"))
	default:
		set("", "nothing: no resource is known to bound a token")
	}
}

// smaller advises a smaller type of weights, if there is one.
func (r *LastRun) smaller(model string) {
	to, bits := "q8_0", 8.5
	switch r.WeightType {
	case tensor.F32.String(), tensor.F16.String(), tensor.BF16.String():
	case tensor.Q8_0.String():
		to, bits = "q4_k_m", 4.85
	default:
		r.Advice = RunAdvice{What: fmt.Sprintf("nothing: weights are %s already, and a token takes what reading them takes", r.WeightType)}
		return
	}
	r.Advice = RunAdvice{
		fmt.Sprintf("weights of type %s are %.1f times smaller than %s, and a token is about as much faster", to, r.WeightBits/bits, r.WeightType),
		fmt.Sprintf("atenia quantize %s smaller.gguf --type %s%s", model, to, r.Files),
	}
}
