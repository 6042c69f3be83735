package atenia

import (
	"context"
	"errors"
	"io"
	"strings"

	"atenia/internal/engine"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/hw"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/cuda"
	core "atenia/internal/memory/place"
	"atenia/internal/policy/decide"
	"atenia/internal/store/durable"
	"atenia/place"
)

// A Placement says in which memory each tensor of a model lives, and why. It is
// made by [Plan.Place] and does not change afterwards. Use [Placement.WriteText]
// for a table, [Placement.Why] for the reasons of some tensors, and
// [WritePlacement] to open a model with exactly this placement later.
//
// Predictions are computed from Rates, which may be assumptions: Assumed names
// them. [Model.ComparePlacement] tells how far off they were.
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
	Rates                   place.Rates
	Measured, Kept, Assumed []string

	placed *core.Placement
}

// Place decides where each tensor lives within [Config.Budget], or follows
// [Config.PlacementFile]. [Open] places by the same rules, so calling Place first shows
// what Open will do.
//
// If weights stay on the disk and its speed is not known, Place reads the model's
// files for half a second to measure it; [place.Rules].NoProbe prevents that. A
// budget that is too small is a [*place.FloorError], with the smallest budget that would
// do; pins and requirements that cannot be met match [ErrPin] and [ErrRequire].
func (p *Plan) Place() (*Placement, error) {
	pl, err := p.compiled.Place(context.Background())
	if err != nil {
		return nil, publish(engine.Named(p.compiled.Path(), err))
	}
	return newPlacement(pl), nil
}

// PlacementNotes says in lines what follows from a placement: where packed
// weights will live, and how many sequences have room.
func (p *Plan) PlacementNotes(pl *Placement) ([]string, error) { return p.compiled.Notes(pl.placed) }

// Demands on a placement that cannot be met, for [errors.Is].
var (
	// ErrPin matches errors about a pin that matches no tensor, or whose tier has
	// no room for the tensors it matches. See [place.Rules].Pins.
	ErrPin = core.ErrPin
	// ErrRequire matches errors about a placement that leaves tensors in a slower
	// memory than [place.Rules] allow with MaxTier or RequireGPU.
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
		Rates: place.Rates{SSD: r.SSD, RAM: r.RAM, FLOPS: r.FLOPS, SSDBusy: r.SSDBusy, RAMBusy: r.RAMBusy}, Measured: r.Measured, Kept: r.Kept, Assumed: r.Assumed,
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

// Streaming returns how the weights are brought in. Any goroutine may ask.
func (m *Model) Streaming() place.Streaming {
	weights := m.engine.Residence()
	r := weights.Stats()
	s := place.Streaming{
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
	return s
}

// Placement returns where the weights are, nil without a budget, and if the model is mapped.
func (m *Model) Placement() *Placement {
	if pl := m.engine.Placement(); pl != nil {
		return newPlacement(pl)
	}
	return nil
}

// ComparePlacement compares the placement with what was measured: the most memory that
// the process had, and what passes after the first, those of the answer, took.
// It returns nil without a placement.
func (m *Model) ComparePlacement() place.Comparison {
	pl := m.engine.Placement()
	if pl == nil {
		return nil
	}
	s, a := m.Streaming(), core.Actual{RAM: float64(cpu.PeakResident())}
	if s.Passes > 1 {
		a.SSDBytes = float64(s.Read) / float64(s.Passes)
		a.Seconds = (s.Wall - s.First).Seconds() / float64(s.Passes-1)
		a.Overlap = s.Overlap
	}
	return core.Compare(pl, a)
}

// Advise says how a model runs in the memory of [Config.Budget], or without one in
// what is free now: how long a token takes, what limits it, and what would help.
// Headers are read, and for half a second a file of the model, to measure how
// fast that is; [place.Rules].NoProbe prevents it.
func Advise(ctx context.Context, path string, c *Config) (*place.Advice, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := guarded(func() (*engine.Advice, error) {
		return engine.Advise(ctx, path, cfg.ConfigFile, cfg.engine(), loadText)
	})
	if err != nil {
		return nil, publish(err)
	}
	return &place.Advice{Model: a.Path, RAM: a.RAM, Outcome: newOutcome(a.Now), Fit: a.Fit,
		Remedies: convertAll(a.Remedies, func(r engine.Remedy) place.Remedy {
			return place.Remedy{What: r.What, Command: r.Command, Then: newOutcome(r.Then)}
		}), Notes: a.Notes}, nil
}

func newOutcome(o engine.Outcome) place.Outcome {
	return place.Outcome{
		Verdict: place.Verdict(o.Verdict), Seconds: o.Seconds, After: o.After, Start: o.Start, Low: o.Range.Low, High: o.Range.High, Text: o.Text, Assumed: o.Assumed,
		Runs: o.Runs, Limit: o.Limit, SSD: o.SSD, RAM: o.RAM, Why: o.Why, Whole: o.Whole, Context: o.Context,
	}
}

// Explain reports what was learned about backends from the latencies of earlier
// runs, which [Observation].Learning recorded: which backend is preferred in
// which situation, how sure that is, and why.
//
// A file that is missing, or of another version, is no error: File says so, and
// nothing is learned. learning is the file, "" an empty one; without buckets all of it are
// explained. Then a row that has more successes than runs is damaged,
// and skipped as others are that cannot be read. A file that cannot be read is an
// error.
func Explain(learning string, of ...place.Bucket) (*place.Explanations, error) {
	var t decide.Trainer
	r := decide.Report{Status: decide.StatusMissing}
	if learning != "" {
		t, r = decide.Load(learning)
	}
	if r.Status == decide.StatusUnreadable {
		return nil, r.Err
	}
	e := &place.Explanations{File: place.LearningFile{Status: string(r.Status), Skipped: r.Skipped, Err: r.Err}}
	if len(of) == 0 { // what is said of one bucket is the seed's, whose rows may be of any kind
		e.File.Skipped += r.Damaged
		t = t.Sound()
	}
	if r.First.Line > 0 && e.File.Skipped > 0 {
		e.File.First = r.First
	}
	buckets := t.Buckets()
	if len(of) > 0 {
		buckets = convertAll(of, func(b place.Bucket) decide.Bucket {
			return decide.Bucket{GPU: b.GPU, VRAM: decide.Band(b.VRAM), RAM: decide.Band(b.RAM)}
		})
	}
	for _, b := range buckets {
		e.Buckets = append(e.Buckets, explainBucket(&t, b))
	}
	return e, nil
}

func explainBucket(t *decide.Trainer, b decide.Bucket) place.BucketExplanation {
	x := place.BucketExplanation{Bucket: place.Bucket{GPU: b.GPU, VRAM: int(b.VRAM), RAM: int(b.RAM)}}
	e, learned := t.Explain(b)
	if !learned {
		return x
	}
	s, _ := t.Factors(b)
	x.Learned = true
	x.Explanation = place.Explanation{RecommendedBackend: e.RecommendedBackend.String(), Confidence: e.Confidence, Text: e.Text}
	x.Factors = place.Factors{RecommendedBackend: s.RecommendedBackend.String(), Confidence: s.Confidence, Factors: convertAll(s.Factors, func(f decide.Factor) place.Factor {
		return place.Factor{Kind: string(f.Kind), Weight: f.Weight, Description: f.Description}
	})}
	x.Narrative, _ = t.Narrative(b)
	for _, row := range t.Snapshot().Entries {
		if row.Context != b {
			continue
		}
		e := place.LearnedEntry{Backend: row.Backend.String(), Recommended: row.RecommendedBackend.String()}
		e.Stats.Episodes, e.Stats.Successes, e.Stats.DriftEvents, e.Stats.AverageScore = row.Stats.Episodes, row.Stats.Successes, row.Stats.DriftEvents, row.Stats.AverageScore
		x.Entries = append(x.Entries, e)
	}
	return x
}

// Replay makes every decision of a log again, from its recorded inputs and with
// the functions that made it, and reports the records that do not come out the
// same, byte for byte. With a policy, a name of [ReplayPolicies] or assignments
// such as "budget.ram=8000000000", it reports what would have been decided
// differently. A log that is damaged is an error.
func Replay(log io.Reader, policy string) (*place.ReplayReport, error) {
	if policy == "" {
		return newReplayReport(decide.CheckLog(log))
	}
	r, err := decide.WhatIf(log, policy)
	if errors.Is(err, decide.ErrPolicy) {
		names := []string{}
		for _, p := range ReplayPolicies() {
			names = append(names, p[0])
		}
		err = &ConfigError{"policy", policy, "one of " + strings.Join(names, ", ") + ", or COMPONENT.INPUT=VALUE with a value that the input can have"}
	}
	return newReplayReport(r, err)
}

func newReplayReport(r *decide.ReplayReport, err error) (*place.ReplayReport, error) {
	if r == nil {
		return nil, err
	}
	out := &place.ReplayReport{Records: r.Records, Differences: convertAll(r.Differences, func(d decide.Difference) place.ReplayDifference {
		fields := convertAll(d.Fields, func(f decide.Field) place.ReplayField { return place.ReplayField(f) })
		return place.ReplayDifference{Line: d.Line, Seq: d.Seq, Component: d.Component, Fields: fields}
	})}
	if out.Whole = err == nil && r.Cut == nil; r.Cut != nil {
		out.Cut = r.Cut
	}
	return out, err
}

// ReplayPolicies lists the policies that [Replay] knows by name, each with what
// it changes.
func ReplayPolicies() [][2]string { return decide.Policies() }

// Map returns where the bytes of a run with a placement will live.
func (p *Plan) Map(pl *Placement) (*place.MemoryMap, error) {
	parts, err := p.compiled.Map(pl.placed)
	if err != nil {
		return nil, err
	}
	return newMap(parts, 0), nil
}

// Map returns where the bytes of the process are now.
func (m *Model) Map() *place.MemoryMap {
	x := newMap(m.engine.Map())
	x.Peak = ledger.Process.Peak()
	return x
}

func newMap(parts []ledger.Part, resident int64) *place.MemoryMap {
	return &place.MemoryMap{Parts: convertAll(parts, func(p ledger.Part) place.MemoryPart { return place.MemoryPart(p) }), Resident: resident}
}

// Hardware examines the machine as it is now. Use it to choose a [place.Budget], or to
// show a user what Warnings says: each is something that costs speed or will fail,
// and what to do about it.
//
// MemoryBytes respects the limits of control groups, so in a container it is what
// the container may use. Only measuring and the end of ctx cause errors; the
// place.Machine is then returned as well, as far as it is known.
//
// dir is a folder whose storage is examined, such as that of the models; "" = none. measure
// says how long the storage, and with "full" the links to devices, may be measured: "none" or
// ""; "quick", as measured within the last 30 days or else for about a second; "full", for
// some seconds.
func Hardware(ctx context.Context, dir, measure string) (*place.Machine, error) {
	o := hw.Options{CacheDir: dir, GPUs: cuda.Prober{}}
	if measure != "" {
		if err := o.Depth.UnmarshalText([]byte(measure)); err != nil {
			return nil, &ConfigError{"measure", measure, "none, quick or full"}
		}
	}
	s, d, err := hw.Probe(ctx, o)
	m := &place.Machine{
		ID: d.Machine(), Processor: d.Processor.Name, Arch: d.Processor.Arch, Cores: d.Processor.Cores, Threads: d.Processor.Threads,
		MemoryBytes: known(d.Memory.LimitBytes), AvailableBytes: known(d.Memory.AvailableBytes), Pressure: known(s.Pressure.RAM),
	}
	for i := range d.Devices {
		m.Devices = append(m.Devices, newDevice(&d.Devices[i]))
	}
	for _, u := range d.Unused {
		m.Unused = append(m.Unused, u.Name)
	}
	if d.Storage != nil {
		m.Storage = newStorage(d.Storage)
	}
	for _, w := range d.Warnings {
		m.Warnings = append(m.Warnings, w.Text)
	}
	return m, err
}

func newDevice(d *hw.Device) place.Device {
	v := place.Device{ID: d.ID, Name: d.Name, Driver: d.Driver, MemoryBytes: known(d.VRAMTotalBytes), FreeBytes: known(d.VRAMFreeBytes)}
	if v.MemoryBytes > 0 && d.VRAMFreeBytes != nil {
		v.Pressure = 1 - float32(float64(v.FreeBytes)/float64(v.MemoryBytes))
	}
	return v
}

func newStorage(d *hw.Storage) *place.Storage {
	s := &place.Storage{Dir: d.Dir, Filesystem: d.Filesystem, Kind: string(d.Kind), FreeBytes: known(d.FreeBytes)}
	if p := d.Profile; p != nil {
		s.ReadBytes, s.WriteBytes, s.Latency = p.ReadBytes, p.WriteBytes, p.LatencySeconds
	}
	return s
}

// known returns a value, or 0 where it is not known.
func known[T any](v *T) (known T) {
	if v != nil {
		known = *v
	}
	return known
}
