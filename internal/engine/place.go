package engine

import (
	"context"
	"errors"
	"time"

	"atenia/internal/machine/cpu"

	"atenia/internal/memory/place"
	"atenia/internal/memory/rates"
	"atenia/internal/memory/residence"
	"atenia/internal/policy/record"
)

// programGrowth is the memory by which a process grows after a model's text is
// loaded: code that runs for the first time, stacks, garbage.
const programGrowth = 12 << 20

// Place decides where each tensor lives within the budget, or follows the plan
// file. No weight is used; where some stay on the disk and the speed of the
// disk is not known, a file of the model is read for a moment to measure it.
// Its errors are those of package place, and of reading.
func (p *Plan) Place(ctx context.Context) (*place.Placement, error) {
	return p.place(ctx, p.placement(), cpu.AvailableMemory()/4)
}

// Notes says in lines what follows from a placement: where packed weights will
// live, and how many sequences have room.
func (p *Plan) Notes(pl *place.Placement) ([]string, error) {
	return p.tensors.Notes(p.placement(), pl)
}

// place is Place with a configuration, and with memory to measure in.
func (p *Plan) place(ctx context.Context, c PlacementConfig, memory int64) (_ *place.Placement, err error) {
	if !c.Rules.NoProbe {
		c.Measure = func(path string) (rates.Rates, error) {
			return rates.Measure(ctx, path, rates.Effort{Threads: p.Config.Threads, Window: rates.ShortWindow, MemoryBytes: max(0, memory)})
		}
	}
	listeners := p.Config.Observer.Listeners()
	now := func() int64 { return time.Now().UnixNano() }
	if p.Config.Decisions == "" {
		if len(listeners) > 0 {
			c.Recorder.Journal = record.NewJournal(record.Config{Listeners: listeners, Now: now})
		}
		return p.tensors.Place(c)
	}
	w, last, err := record.Open(record.WriterConfig{Path: p.Config.Decisions})
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	c.Recorder.Journal = record.NewJournal(record.Config{After: last, Listeners: append([]record.Listener{w}, listeners...), Now: now})
	return p.tensors.Place(c)
}

// placement is the configuration of a placement of the plan's tensors.
func (p *Plan) placement() PlacementConfig {
	c := PlacementConfig{
		Budget: p.Config.Budget, Rules: p.Config.Rules, File: p.Config.PlacementFile,
		Exec: p.Config.exec(&p.Model.Config), CacheBytes: p.Config.CacheBytes,
	}
	c.Exec.Pack = p.packing()
	return c
}

// cacheBytes bounds keys and values: as configured, or else by the budget.
func (p *Plan) cacheBytes() int64 {
	if p.Config.CacheBytes == 0 && p.Config.placed() {
		return p.tensors.CacheBytes(p.placement())
	}
	return p.Config.CacheBytes
}

// placeHere is Place for this process: memory in use is the program's, and no
// device computes.
func (p *Plan) placeHere(ctx context.Context) (*place.Placement, error) {
	c := p.placement()
	if c.Budget.Reserve.Runtime == 0 {
		c.Budget.Reserve.Runtime = residence.Resident() + programGrowth
	}
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
