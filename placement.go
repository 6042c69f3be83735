package atenia

import (
	"atenia/internal/engine"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"atenia/internal/machine/cpu"
	core "atenia/internal/memory/place"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/place"
)

// A Placement says in which memory each tensor of a model lives, and why. It is
// made by [Plan.Place] and does not change afterwards. Use [Placement.WriteText]
// for a table, [Placement.Why] for the reasons of some tensors, and
// [WritePlacement] to open a model with exactly this placement later.
//
// Predictions are computed from Rates, which may be assumptions: Assumed names
// them. [Streaming.Compare] tells how far off they were.
type Placement struct {
	Tensors []place.Tensor // in the order of first use
	Ring    place.Ring     // zero when nothing is streamed
	Cache   place.Experts  // zero when no experts are left on the SSD
	Decode  place.Prediction
	Prefill place.Prediction
	Next    []place.Change // what would make decode faster, best first; may be empty
	// Rates are those that were predicted with. Measured names those that were
	// measured just before, Kept those that were measured earlier, Assumed those
	// that never were: "ssd", "ram", "flops". The others were given.
	Rates                   Rates
	Measured, Kept, Assumed []string

	placed *core.Placement
}

// Place decides where each tensor lives within [Config.Budget], or follows
// [Config.PlacementFile]. [Open] places by the same rules, so calling Place first shows
// what Open will do.
//
// If weights stay on the disk and its speed is not known, Place reads the model's
// files for half a second to measure it; [PlacementRules.NoProbe] prevents that. A
// budget that is too small is a [*place.FloorError], with the smallest budget that would
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
	ErrPin = core.ErrPin
	// ErrRequire matches errors about a placement that leaves tensors in a slower
	// memory than [PlacementRules] allow with MaxTier or RequireGPU.
	ErrRequire = core.ErrRequire
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

func newPlacement(p *core.Placement) *Placement {
	r := p.Input().Rates
	return &Placement{
		Tensors: convertAll(p.Tensors, func(t core.Placed) place.Tensor {
			return place.Tensor{Name: t.Name, Bytes: t.Bytes, Class: place.Class(t.Class), Unit: t.Unit, Tier: place.Tier(t.Tier), Device: t.Device, Rule: string(t.Rule), Held: t.Held}
		}),
		Ring: place.Ring(p.Ring), Cache: place.Experts(p.Cache), Decode: newPrediction(&p.Decode), Prefill: newPrediction(&p.Prefill),
		Next:  convertAll(p.Next, newChange),
		Rates: Rates{SSD: r.SSD, RAM: r.RAM, FLOPS: r.FLOPS, SSDBusy: r.SSDBusy, RAMBusy: r.RAMBusy}, Measured: r.Measured, Kept: r.Kept, Assumed: r.Assumed,
		placed: p,
	}
}

func newChange(c core.Change) place.Change {
	return place.Change{
		What: c.What, RAM: c.RAM, Seconds: c.Seconds, SecondsThen: c.SecondsThen, Low: c.Range.Low, High: c.Range.High,
		LowThen: c.RangeThen.Low, HighThen: c.RangeThen.High, Fits: c.Fits,
	}
}

func newPrediction(p *core.Prediction) place.Prediction {
	return place.Prediction{
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
func (p *Placement) Why(pattern string) ([]place.Decision, error) {
	list, err := p.placed.Why(pattern)
	return convertAll(list, newDecision), err
}

func newDecision(d core.Decision) place.Decision {
	return place.Decision{
		Tensor: d.Tensor, Sources: d.Sources, Class: place.Class(d.Class), Bytes: d.Bytes, Unit: d.Unit, Tier: place.Tier(d.Tier), Device: d.Device,
		Rule: string(d.Rule), Reason: d.Reason, Reads: d.Reads, Saves: d.Saves,
		Rejected: convertAll(d.Rejected, func(r core.Rejection) place.Rejection { return place.Rejection{Tier: place.Tier(r.Tier), Why: r.Why} }),
		Line:     d.String(),
	}
}

// Rows returns the table: each tier's bytes by class, the ring and the
// reserves.
func (p *Placement) Rows() []place.Row {
	return convertAll(p.placed.Rows(), func(r core.Row) place.Row { return place.Row(r) })
}

// MarshalJSON writes what [WritePlacement] does.
func (p *Placement) MarshalJSON() ([]byte, error) { return p.placed.MarshalJSON() }

// WriteText prints the table, the predictions and what would help.
func (p *Placement) WriteText(w io.Writer) error { return p.placed.WriteText(w) }

// A Streaming says how a model's weights lie in memory and on disk, and what
// has been read of them so far. Numbers of the ring are 0 when nothing is
// streamed.
type Streaming struct {
	Placement *Placement        // nil without a budget, and if the model is mapped
	Automatic bool              // nobody set the budget: the model does not fit
	Notes     []string          // what was decided about memory that nobody asked for
	Held      int64             // bytes of weights in memory, as far as they are not mapped
	Streamed  int64             // bytes that each pass reads
	RingBytes int64             // memory of the ring
	Passes    int64             // that were ended well
	Read      int64             // bytes, from files
	Reads     int64             // of files
	Hits      int64             // units that were there when they were wanted
	Late      int64             // units that were waited for
	Stall     time.Duration     // that computing waited
	Busy      time.Duration     // with at least one read in flight
	Wall      time.Duration     // of the passes that were ended well
	First     time.Duration     // of the first of them, which has units to wait for
	Overlap   float64           // part of the shorter of moving and computing that the other hid, at most 1
	Experts   place.ExpertCache // zero unless experts of a mixture are read when tokens choose them
	Codec     string            // the form in which weights are streamed, and why; "" = none are
	Lanes     []place.LaneWork  // what the executor of moves and work did, by lane
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
	s.Experts = place.ExpertCache{
		Bytes: e.Bytes, Slots: e.Slots, Experts: e.Experts, Hits: e.Hits, Misses: e.Misses, Evictions: e.Evictions, Read: e.Read, Wait: e.Wait,
	}
	s.Overlap = m.engine.Lanes().Overlap()
	s.Lanes = convertAll(m.engine.ByLane(), func(l engine.LaneWork) place.LaneWork { return place.LaneWork(l) })
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

// Compare compares the placement with what was measured: the most memory that
// the process had, and what passes after the first, those of the answer, took.
// It returns nil without a placement.
func (s *Streaming) Compare() place.Comparison {
	if s.Placement == nil {
		return nil
	}
	a := core.Actual{RAM: float64(cpu.PeakResident())}
	if s.Passes > 1 {
		a.SSDBytes = float64(s.Read) / float64(s.Passes)
		a.Seconds = (s.Wall - s.First).Seconds() / float64(s.Passes-1)
		a.Overlap = s.Overlap
	}
	return core.Compare(s.Placement.placed, a)
}
