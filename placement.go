package atenia

import (
	"atenia/internal/engine"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
)

// A Placement says in which memory each tensor of a model lives, and why. It is
// made by [Plan.Place] and does not change afterwards. Use [Placement.WriteText]
// for a table, [Placement.Why] for the reasons of some tensors, and
// [WritePlacement] to open a model with exactly this placement later.
//
// Predictions are computed from Rates, which may be assumptions: Assumed names
// them. [Streaming.Compare] tells how far off they were.
type Placement struct {
	Tensors []PlacedTensor // in the order of first use
	Ring    Ring           // zero when nothing is streamed
	Cache   PlacedExperts  // zero when no experts are left on the SSD
	Decode  Prediction
	Prefill Prediction
	Next    []PlacementChange // what would make decode faster, best first; may be empty
	// Rates are those that were predicted with. Measured names those that were
	// measured just before, Kept those that were measured earlier, Assumed those
	// that never were: "ssd", "ram", "flops". The others were given.
	Rates                   Rates
	Measured, Kept, Assumed []string

	placed *place.Placement
}

// A Tier is a kind of memory.
type Tier uint8

// The tiers, fastest first.
const (
	TierVRAM Tier = iota // of a device
	TierRAM
	TierSSD // the files of the model
)

// String returns Vram, Ram or Ssd.
func (t Tier) String() string { return memory.Tier(t).String() }

// MarshalText writes the name.
func (t Tier) MarshalText() ([]byte, error) { return memory.Tier(t).MarshalText() }

// A TensorClass says what a tensor is for, which decides where it may live.
type TensorClass uint8

// The classes.
const (
	ClassWeight TensorClass = iota // a matrix that every pass reads
	ClassExpert                    // a matrix that some passes read
	ClassTable                     // rows that are looked up
	ClassVector                    // a norm, a bias: small, always in RAM
	ClassKV                        // cached keys and values
	ClassBuffer                    // registers and scratch of the executor
)

// String returns the name, such as "weight".
func (c TensorClass) String() string { return place.Class(c).String() }

// MarshalText writes the name.
func (c TensorClass) MarshalText() ([]byte, error) { return place.Class(c).MarshalText() }

// A PlacedTensor is a tensor with the tier that it got.
type PlacedTensor struct {
	Name  string
	Bytes int64
	Class TensorClass
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

// PlacedExperts is the memory for experts of a mixture that are read when tokens
// choose them.
type PlacedExperts struct {
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
	return (&place.Prediction{Seconds: p.Seconds, Text: p.Text, Start: p.Start}).At(text)
}

// A PlacementChange is something that would make decode faster.
type PlacementChange struct {
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

// A PlacementRow is one line of a placement's table: a tier, or a part of the
// RAM that no tensor has.
type PlacementRow struct {
	What    string `json:"what"`
	Bytes   int64  `json:"bytes"`
	Tensors int    `json:"tensors"`
}

// A TensorDecision says why one tensor is where it is: the rule, the numbers it
// looked at, and what was rejected.
type TensorDecision struct {
	Tensor   string          `json:"tensor"`
	Sources  []string        `json:"sources,omitempty"` // its names in the model's files
	Class    TensorClass     `json:"class"`
	Bytes    int64           `json:"bytes"`
	Unit     int             `json:"unit"`
	Tier     Tier            `json:"tier"`
	Device   string          `json:"device,omitempty"`
	Rule     string          `json:"rule"`
	Reason   string          `json:"reason"`
	Reads    float64         `json:"bytes_read_per_pass"`
	Saves    float64         `json:"ssd_seconds_saved_per_pass"` // by not being on the SSD; 0 without a rate
	Rejected []TierRejection `json:"rejected,omitempty"`

	text string
}

// A TierRejection is a tier that a tensor did not get.
type TierRejection struct {
	Tier Tier   `json:"tier"`
	Why  string `json:"why"`
}

// String is one line: what, where, by which rule, with which numbers.
func (d TensorDecision) String() string { return d.text }

// Place decides where each tensor lives within [Config.Budget], or follows
// [Config.PlacementFile]. [Open] places by the same rules, so calling Place first shows
// what Open will do.
//
// If weights stay on the disk and its speed is not known, Place reads the model's
// files for half a second to measure it; [PlacementRules.NoProbe] prevents that. A
// budget that is too small is a [*FloorError], with the smallest budget that would
// do; pins and requirements that cannot be met match [ErrPin] and [ErrRequire].
func (p *Plan) Place() (*Placement, error) {
	pl, err := p.compiled.Place(context.Background())
	if err != nil {
		return nil, publish(err)
	}
	return newPlacement(pl), nil
}

// PlacementNotes says in lines what follows from a placement: where packed
// weights will live, and how many sequences have room.
func (p *Plan) PlacementNotes(pl *Placement) ([]string, error) { return p.compiled.Notes(pl.placed) }

// Demands on a placement that cannot be met, for [errors.Is].
var (
	// ErrPin matches errors about a pin that matches no tensor, or whose tier has
	// no room for the tensors it matches. See [PlacementRules].Pins.
	ErrPin = place.ErrPin
	// ErrRequire matches errors about a placement that leaves tensors in a slower
	// memory than [PlacementRules] allow with MaxTier or RequireGPU.
	ErrRequire = place.ErrRequire
)

// WritePlacement writes a plan file for [Config.PlacementFile], whole or not at all.
func WritePlacement(path string, pl *Placement) error {
	b, err := pl.placed.File().Append(nil)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func newPlacement(p *place.Placement) *Placement {
	r := p.Input().Rates
	return &Placement{
		Tensors: convertAll(p.Tensors, func(t place.Placed) PlacedTensor {
			return PlacedTensor{t.Name, t.Bytes, TensorClass(t.Class), t.Unit, Tier(t.Tier), t.Device, string(t.Rule), t.Held}
		}),
		Ring: Ring(p.Ring), Cache: PlacedExperts(p.Cache), Decode: newPrediction(&p.Decode), Prefill: newPrediction(&p.Prefill),
		Next:  convertAll(p.Next, newChange),
		Rates: Rates{SSD: r.SSD, RAM: r.RAM, FLOPS: r.FLOPS, SSDBusy: r.SSDBusy, RAMBusy: r.RAMBusy}, Measured: r.Measured, Kept: r.Kept, Assumed: r.Assumed,
		placed: p,
	}
}

func newChange(c place.Change) PlacementChange {
	return PlacementChange{c.What, c.RAM, c.Seconds, c.SecondsThen, c.Range.Low, c.Range.High, c.RangeThen.Low, c.RangeThen.High, c.Fits}
}

func newPrediction(p *place.Prediction) Prediction {
	return Prediction{
		Tokens: p.Tokens, Seconds: p.Seconds, Text: p.Text, Start: p.Start, Low: p.Range.Low, High: p.Range.High, Runs: p.Runs, Correction: p.Correction, Bound: p.Bound, Limit: string(p.Limit),
		SSD: p.SSD, RAM: p.RAM, VRAM: p.VRAM, Compute: p.Compute, SSDBytes: p.SSDBytes, RAMBytes: p.RAMBytes, ExpertBytes: p.ExpertBytes,
	}
}

// Spills reports whether anything is left on the SSD.
func (p *Placement) Spills() bool { return p.placed.Spills() }

// RAM returns the bytes that a placement takes of the budget: tensors, ring and
// reserves.
func (p *Placement) RAM() int64 { return p.placed.RAM() }

// Why explains the tensors that a regular expression matches: by their names in
// the plan, or by those in the files of the model. If it matches none, the error
// suggests names that are near.
func (p *Placement) Why(pattern string) ([]TensorDecision, error) {
	list, err := p.placed.Why(pattern)
	return convertAll(list, newDecision), err
}

func newDecision(d place.Decision) TensorDecision {
	return TensorDecision{
		Tensor: d.Tensor, Sources: d.Sources, Class: TensorClass(d.Class), Bytes: d.Bytes, Unit: d.Unit, Tier: Tier(d.Tier), Device: d.Device,
		Rule: string(d.Rule), Reason: d.Reason, Reads: d.Reads, Saves: d.Saves,
		Rejected: convertAll(d.Rejected, func(r place.Rejection) TierRejection { return TierRejection{Tier(r.Tier), r.Why} }),
		text:     d.String(),
	}
}

// Rows returns the table: each tier's bytes by class, the ring and the
// reserves.
func (p *Placement) Rows() []PlacementRow {
	return convertAll(p.placed.Rows(), func(r place.Row) PlacementRow { return PlacementRow(r) })
}

// MarshalJSON writes what [WritePlacement] does.
func (p *Placement) MarshalJSON() ([]byte, error) { return p.placed.MarshalJSON() }

// WriteText prints the table, the predictions and what would help.
func (p *Placement) WriteText(w io.Writer) error { return p.placed.WriteText(w) }

// A Streaming says how a model's weights lie in memory and on disk, and what
// has been read of them so far. Numbers of the ring are 0 when nothing is
// streamed.
type Streaming struct {
	Placement *Placement    // nil without a budget, and if the model is mapped
	Automatic bool          // nobody set the budget: the model does not fit
	Notes     []string      // what was decided about memory that nobody asked for
	Held      int64         // bytes of weights in memory, as far as they are not mapped
	Streamed  int64         // bytes that each pass reads
	RingBytes int64         // memory of the ring
	Passes    int64         // that were ended well
	Read      int64         // bytes, from files
	Reads     int64         // of files
	Hits      int64         // units that were there when they were wanted
	Late      int64         // units that were waited for
	Stall     time.Duration // that computing waited
	Busy      time.Duration // with at least one read in flight
	Wall      time.Duration // of the passes that were ended well
	First     time.Duration // of the first of them, which has units to wait for
	Overlap   float64       // part of the shorter of moving and computing that the other hid, at most 1
	Experts   ExpertCache   // zero unless experts of a mixture are read when tokens choose them
	Codec     string        // the form in which weights are streamed, and why; "" = none are
	Lanes     []LaneWork    // what the executor of moves and work did, by lane
}

// A LaneWork is what one lane of the executor did.
type LaneWork struct {
	Lane         string // Io reads, Transfer decodes and aligns, Compute computes
	Tasks, Bytes int64  // bytes are those that the tasks read, moved, or computed with
}

// An ExpertCache says what the cache of a mixture's experts holds, and what it has
// read so far. What it reads and waits for is part of a [Streaming]'s numbers.
type ExpertCache struct {
	Bytes     int64 // memory of the cache
	Slots     int   // experts that it holds at once
	Experts   int   // of all layers
	Hits      int64 // experts that were in memory when tokens chose them
	Misses    int64
	Evictions int64
	Read      int64         // bytes, from files
	Wait      time.Duration // that computing waited for reads
}

// HitRate returns the share of chosen experts that were in memory: 1 if none was
// chosen.
func (e *ExpertCache) HitRate() float64 {
	if e.Hits+e.Misses == 0 {
		return 1
	}
	return float64(e.Hits) / float64(e.Hits+e.Misses)
}

// Streaming returns how the weights are brought in. Any goroutine may ask.
func (m *Model) Streaming() Streaming {
	weights := m.engine.Residence()
	r := weights.Stats()
	s := Streaming{
		Automatic: m.engine.Automatic(), Notes: m.engine.Notes(),
		Held: weights.Held, Streamed: weights.Streamed,
		RingBytes: r.Bytes, Passes: r.Passes, Read: r.Read, Reads: r.Reads, Hits: r.Hits,
		Late: r.Late, Stall: r.Stall, Busy: r.Busy, Wall: r.Wall, First: r.First,
		Codec: m.engine.Codec(),
	}
	e := weights.Experts()
	s.Experts = ExpertCache{
		Bytes: e.Bytes, Slots: e.Slots, Experts: e.Experts, Hits: e.Hits, Misses: e.Misses, Evictions: e.Evictions, Read: e.Read, Wait: e.Wait,
	}
	s.Overlap = m.engine.Lanes().Overlap()
	s.Lanes = convertAll(m.engine.ByLane(), func(l engine.LaneWork) LaneWork { return LaneWork(l) })
	if pl := m.engine.Placement(); pl != nil {
		s.Placement = newPlacement(pl)
	}
	return s
}

// WriteText prints what was read in lines: passes, the ring, and experts.
func (s *Streaming) WriteText(w io.Writer) error {
	var b strings.Builder
	if n := s.Passes - 1; n > 0 {
		each := (s.Wall - s.First).Seconds() / float64(n)
		fmt.Fprintf(&b, "%-8s %s, %.3g s each after the first (%.3g a second)\n", "passes", spelling.Count(s.Passes, "pass"), each, 1/each)
	}
	if s.Read > 0 {
		fmt.Fprintf(&b, "%-8s %s read from the ssd, waited %.3g s for it\n", "ssd", spelling.Size(s.Read), s.Stall.Seconds())
	}
	if s.RingBytes > 0 {
		fmt.Fprintf(&b, "%-8s %s; %s ready when wanted, %d late\n", "ring", spelling.Size(s.RingBytes), spelling.Count(s.Hits, "unit"), s.Late)
	}
	if e := &s.Experts; e.Experts > 0 {
		fmt.Fprintf(&b, "%-8s %d of %d in %s; %s and %s, %.1f %% hits; %s read, waited %.3g s\n", "experts", e.Slots, e.Experts, spelling.Size(e.Bytes),
			spelling.Count(e.Hits, "hit"), spelling.Count(e.Misses, "miss"), 100*e.HitRate(), spelling.Size(e.Read), e.Wait.Seconds())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A Comparison is what was predicted beside what was measured.
type Comparison []Difference

// A Difference is one number of a [Comparison].
type Difference struct {
	What    string  `json:"what"`
	Planned float64 `json:"planned"`
	Actual  float64 `json:"actual"`
	Off     float64 `json:"off"` // actual / planned - 1; of the overlap, which is a share, actual - planned
}

// Compare compares the placement with what was measured: the most memory that
// the process had, and what passes after the first, those of the answer, took.
// It returns nil without a placement.
func (s *Streaming) Compare() Comparison {
	if s.Placement == nil {
		return nil
	}
	a := place.Actual{RAM: float64(cpu.PeakResident())}
	if s.Passes > 1 {
		a.SSDBytes = float64(s.Read) / float64(s.Passes)
		a.Seconds = (s.Wall - s.First).Seconds() / float64(s.Passes-1)
		a.Overlap = s.Overlap
	}
	return convertAll(place.Compare(s.Placement.placed, a), func(d place.Difference) Difference { return Difference(d) })
}

// WriteText prints the comparison as a table.
func (c Comparison) WriteText(w io.Writer) error { return c.internal().WriteText(w) }

// Off returns what is worse than planned by more than a twentieth: more bytes,
// more time, less overlap.
func (c Comparison) Off() Comparison {
	return convertAll(c.internal().Off(), func(d place.Difference) Difference { return Difference(d) })
}

func (c Comparison) internal() place.Comparison {
	return convertAll(c, func(d Difference) place.Difference { return place.Difference(d) })
}
