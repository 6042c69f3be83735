package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory/place"
	"atenia/internal/memory/rates"
	"atenia/internal/memory/residence"
	"atenia/internal/policy/replay"
)

// programGrowth is the memory by which a process grows after a model's text is
// loaded: code that runs for the first time, stacks, garbage.
const programGrowth = 12 << 20

// Place decides where each tensor lives within the budget, or follows the plan
// file. No weight is used; where some stay on the disk and the speed of the
// disk is not known, a file of the model is read for a moment to measure it.
// Its errors are those of package place, and of reading.
func (p *Plan) Place(ctx context.Context) (*place.Placement, error) {
	return p.place(ctx, p.placeConfig(), cpu.AvailableMemory()/4)
}

// Notes says in lines what follows from a placement: where packed weights will
// live, and how many sequences have room.
func (p *Plan) Notes(pl *place.Placement) ([]string, error) {
	return p.footprint.Notes(p.placeConfig(), pl)
}

// place is Place with a configuration, and with memory to measure in.
func (p *Plan) place(ctx context.Context, c PlaceConfig, memory int64) (_ *place.Placement, err error) {
	if !c.Rules.NoProbe {
		c.Measure = func(path string) (rates.Rates, error) {
			return rates.Measure(ctx, path, rates.Effort{Threads: p.Config.Threads, Window: rates.ShortWindow, MemoryBytes: max(0, memory)})
		}
	}
	r, done, err := replay.Open(p.Config.Decisions, p.Config.Observer.Listeners())
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := done(); err == nil {
			err = e
		}
	}()
	c.Recorder = r
	return p.footprint.Place(c)
}

// placeConfig is what a placement of the plan's tensors depends on.
func (p *Plan) placeConfig() PlaceConfig {
	c := PlaceConfig{
		Budget: p.Config.Budget, Rules: p.Config.Rules, File: p.Config.PlacementFile,
		Exec: p.Config.exec(&p.Model.Config), CacheBytes: p.Config.CacheBytes,
	}
	c.Exec.Pack = p.packing()
	return c
}

// cacheBytes bounds keys and values: as configured, or else by the budget.
func (p *Plan) cacheBytes() int64 {
	if p.Config.CacheBytes == 0 && p.Config.placed() {
		return p.footprint.CacheBytes(p.placeConfig())
	}
	return p.Config.CacheBytes
}

// placeHere is Place for this process: memory in use is the program's, and no
// device computes.
func (p *Plan) placeHere(ctx context.Context, r *resume) (*place.Placement, error) {
	c := p.placeConfig()
	if c.Budget.Reserve.Runtime == 0 {
		c.Budget.Reserve.Runtime = residence.Resident() + programGrowth
	}
	r.hint(p, &c)
	memory := cpu.AvailableMemory() / 4
	if ram := c.Budget.RAM; ram > 0 {
		memory = max(1, ram-c.Budget.Reserve.Runtime)
	}
	pl, err := p.place(ctx, c, memory)
	if e, ok := errors.AsType[*place.FloorError](err); ok {
		return nil, &FieldError{"Budget", nil, e.Error()}
	}
	if err == nil && (pl.UsesVRAM() || p.Config.Budget.VRAM > 0) {
		return nil, &FieldError{"Budget", p.Config.Budget.String(), "vram=0: there is no device that this binary can compute on"}
	}
	return pl, err
}

// Place decides where each tensor lives, or follows a plan file. Its errors are
// those of package place.
func (f *Footprint) Place(c PlaceConfig) (*place.Placement, error) {
	in, err := f.Input(c)
	if err != nil {
		return nil, err
	}
	decide := func(in place.Input, r replay.Recorder) (*place.Placement, error) { return r.Budget(in) }
	if c.File != "" {
		b, err := os.ReadFile(c.File)
		if err != nil {
			return nil, err
		}
		saved, err := place.Parse(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
		decide = func(in place.Input, r replay.Recorder) (*place.Placement, error) {
			pl, err := r.Reload(in, saved)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.File, err)
			}
			return pl, nil
		}
	}
	if c.Measure != nil && c.Rules.Rates.SSD == 0 && f.largest != "" {
		// Which weights stay on the disk does not depend on rates, so a plan
		// without them says whether any do.
		if pl, err := decide(in, replay.Recorder{}); err == nil && pl.Spills() {
			now, err := c.Measure(f.largest)
			if err != nil {
				return nil, err
			}
			in.Rates = f.rates(&c, now)
		}
	}
	return decide(in, c.Recorder)
}
