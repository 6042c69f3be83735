package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/place"
	"atenia/internal/policy/decide"

	"atenia/tensor"
)

// Place decides where each tensor lives within the budget, or follows the plan
// file. No weight is used; where some stay on the disk and the speed of the
// disk is not known, a file of the model is read for a moment to measure it.
// Its errors are those of package place, and of reading.
func (p *Plan) Place(ctx context.Context) (*place.Placement, error) {
	r, done, err := p.record()
	if err != nil {
		return nil, err
	}
	c := p.placeConfig()
	c.Recorder = r
	pl, err := p.place(ctx, c, toMeasure())
	if e := done(); err == nil && e != nil {
		return nil, e
	}
	return pl, err
}

// record opens the log of decisions, if there is one, and a recorder that tells
// the observer, too.
func (p *Plan) record() (decide.Recorder, func() error, error) {
	return decide.OpenRecorder(p.Config.Decisions, p.Config.Observer.Listeners())
}

// Notes says in lines what follows from a placement: where packed weights will
// live, how many sequences have room, and in which form weights are streamed.
func (p *Plan) Notes(pl *place.Placement) ([]string, error) {
	notes, err := p.footprint.Notes(p.placeConfig(), pl)
	if err == nil && pl.Spills() {
		if c := p.chooseCodec(pl); c.Use || p.Config.Codec != "" { // how fast decoding is, is measured anew each time
			notes = append(notes, "codec    "+c.String())
		}
	}
	if err == nil && (p.draft != nil || p.Config.Early) {
		notes = append(notes, p.draftNote())
	}
	return notes, err
}

// place is Place with a configuration, and with memory to measure in.
func (p *Plan) place(ctx context.Context, c PlaceConfig, memory int64) (*place.Placement, error) {
	if !c.Rules.NoProbe {
		c.Measure = func(path string, pl *place.Placement) (place.Measurement, error) {
			memory = max(1, min(memory, ledger.Process.Free()))
			return place.MeasureRates(ctx, path, p.effort(pl, memory))
		}
	}
	pl, whole, err := p.fitWhole(p.footprint, c)
	if err != nil {
		return nil, err
	}
	if whole > 0 && p.effective != nil { // it is opened, and this is what it has
		_, one := p.footprint.stateBytes(&c)
		p.effective.CacheBytes = one * int64(whole)
		if few := wholeOf(whole, c.sequences()); few != "" {
			p.note("%s: requests that need more wait for others", few)
		}
	}
	return pl, p.revise(pl, p.footprint, c)
}

// effort is what is measured where a user waits, in so much memory: the reads of a placement,
// and products of the model's types and of smaller ones.
func (p *Plan) effort(pl *place.Placement, memory int64, smaller ...tensor.DType) place.MeasureEffort {
	return place.MeasureEffort{
		Threads: cmp.Or(p.Effective().Threads, cpu.Threads()), Window: place.ShortWindow, MemoryBytes: memory,
		Products: p.footprint.typesOf(p.Config.Precise, smaller...), Experts: p.footprint.experts(), Reads: pl.Reads(),
	}
}

// placeConfig is what a placement of the plan's tensors depends on.
func (p *Plan) placeConfig() PlaceConfig {
	c := PlaceConfig{
		Budget: p.Effective().Budget, Rules: p.Effective().Rules, File: p.Effective().PlacementFile,
		Exec: p.Effective().exec(&p.Model.Config), CacheBytes: p.Effective().CacheBytes, Adapters: p.adapterBytes.Load(), Draft: p.draftBytes(),
	}
	c.Exec.Pack = p.packing()
	if c.Budget.Reserve.Runtime == 0 {
		c.Budget.Reserve.Runtime = p.program // 0 = estimated
	}
	return c
}

// cacheBytes bounds keys and values: as configured, or else by the budget.
func (p *Plan) cacheBytes() int64 {
	if p.Effective().CacheBytes == 0 && p.Effective().placed() {
		return p.footprint.CacheBytes(p.placeConfig())
	}
	return p.Effective().CacheBytes
}

// guides are what lead a placement when a model is opened: who writes down what is
// decided, and the checkpoint, nil if there is none.
type guides struct {
	recorder decide.Recorder
	resume   *resume
}

// placeHere is Place for this process, in which no device computes.
func (p *Plan) placeHere(ctx context.Context, by guides) (*place.Placement, error) {
	if p.program == 0 {
		p.MeasureProgram()
	}
	c := p.placeConfig()
	c.Recorder = by.recorder
	by.resume.hint(p, &c)
	room := ledger.Process.Free() / 4
	if ram := c.Budget.RAM; ram > 0 {
		room = max(1, ram-c.Budget.Reserve.Runtime)
	}
	pl, err := p.place(ctx, c, room)
	if low, ok := errors.AsType[*place.FloorError](err); ok && low.Tier == place.RAM {
		p.unattainable(low)
	}
	if err == nil && p.Model.Config.Encoder == nil {
		e := p.Effective()
		e.BatchTokens = min(e.BatchTokens, pl.Input().Chunk)
	}
	if err == nil && (pl.UsesVRAM() || p.Effective().Budget.VRAM > 0) {
		return nil, noDevice(p.Effective().Budget)
	}
	return pl, err
}

// unattainable adds to the error of a budget that is too small what this process can
// have, and whether it would do without a budget.
func (p *Plan) unattainable(e *place.FloorError) {
	asked := &p.Config.Budget
	if e.Most = p.room; e.Budget < asked.RAM {
		e.Asked = asked.RAM
	}
	if e.Auto || !p.mappable(place.Budget{}) {
		return
	}
	c := p.placeConfig()
	c.Budget = place.Budget{Reserve: asked.Reserve}
	c.shortest(p)
	mapped, err := p.footprint.mapped(&c)
	e.Unbound = err == nil && mapped.Floor <= p.room
}

// noDevice is the error for a budget of memory that nothing computes in.
func noDevice(b place.Budget) error {
	return &FieldError{"Budget", b.String(), "vram=0: no device computes yet; a plan file for one is made again without --vram"}
}

// Place decides where each tensor lives, or follows a plan file. Its errors are
// those of package place.
func (f *footprint) Place(c PlaceConfig) (*place.Placement, error) {
	in, err := f.Input(c)
	if err != nil {
		return nil, err
	}
	choose := func(in place.Input, r decide.Recorder) (*place.Placement, error) { return r.Budget(in) }
	if c.File != "" {
		saved, err := place.Read(c.File)
		if err != nil {
			return nil, err
		}
		choose = func(in place.Input, r decide.Recorder) (*place.Placement, error) {
			pl, err := r.Reload(in, saved)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.File, err)
			}
			return pl, nil
		}
	}
	model := f.like
	if model == "" {
		model = place.ModelOf(&in)
	}
	in.Corrections = c.corrections(model)
	// Which weights stay on the disk does not depend on rates, nor does what else is in
	// memory, so a plan without them says whether any do, and whether the others are packed.
	pl, err := choose(in, decide.Recorder{})
	if err != nil {
		return choose(in, c.Recorder) // which writes down why
	}
	if in.Packed, err = f.packs(&c, pl); err != nil {
		return nil, err
	}
	if in.Packed {
		if pl, err = choose(in, decide.Recorder{}); err != nil { // with the correction of runs that were, too
			return nil, err
		}
	}
	if c.Measure != nil && c.Rules.Rates.SSD == 0 && f.largest != "" && (pl.Spills() || c.MeasureAlways && pl.Decode.Runs == 0) {
		now, err := c.Measure(f.largest, pl)
		if err != nil {
			return nil, err
		}
		if dir := c.Rules.ProfileDir; dir != "" { // where it cannot be kept, the next one who needs it measures or assumes
			_ = place.RememberMemory(dir, machineOf(c.Exec.Threads), now.Memory())
		}
		in.Rates = f.rates(&c, now)
	}
	if f.exert(&in, pl, &c); f.like != "" && in.Rates.FewFLOPS > 0 && !pl.Spills() {
		in.Corrections = nil // of products that are others, and were measured
	}
	return choose(in, c.Recorder)
}
