package atenia

import (
	"context"
	"io"
	"time"

	"atenia/internal/cpu"
	"atenia/internal/durable"
	"atenia/internal/passes"
	"atenia/internal/placement"
	"atenia/tier/budget"
	"atenia/tier/decision"
)

// A Placement says in which memory each tensor of a model lives, and why.
type Placement = budget.Plan

// A Budget bounds the memory of a model. The zero Budget bounds nothing: the
// model is mapped, and the system decides what of it is in memory.
type Budget = placement.Budget

// PlacementRules say how tensors are placed within a [Budget].
type PlacementRules = placement.Rules

// Rates are how fast the machine is.
type Rates = placement.Rates

// ErrNoWeights says that a folder has a configuration and no files of weights.
var ErrNoWeights = placement.ErrNoWeights

// ParseBudget reads "ram=2GiB,vram=0,kv=256MiB,act=64MiB,runtime=80MiB".
func ParseBudget(s string) (Budget, error) {
	b, err := placement.ParseBudget(s)
	if err != nil {
		return Budget{}, &ConfigError{"Budget", s, placement.Want + ": " + err.Error()}
	}
	return b, nil
}

// ParseSize reads "4GiB", "512MiB", "2GB" or plain bytes.
func ParseSize(s string) (int64, error) { return budget.ParseSize(s) }

// placed reports whether the configuration asks for a placement.
func (c *Config) placed() bool {
	r := &c.Placement
	return c.Budget != (Budget{}) || c.PlanFile != "" || len(r.Pins) > 0 || r.MaxTier != "" || r.RequireGPU
}

// checkPlacement returns the faults of what a placement is made by.
func (c *Config) checkPlacement() (errs []error) {
	if why := c.Budget.Faults(); why != "" {
		errs = append(errs, &ConfigError{"Budget", c.Budget.String(), "0 bytes or more: " + why})
	}
	for _, err := range c.Placement.Faults() {
		errs = append(errs, &ConfigError{"Placement", nil, err.Error()})
	}
	return errs
}

// Place decides where each tensor lives within the configuration's budget, or
// follows its plan file. No weight is used; but where some stay on the disk, and
// nobody said how fast it is, a file of the model is read for a moment to find
// out. Its errors are those of package budget, and of reading.
func (p *Plan) Place() (pl *Placement, err error) { return p.placeWithin(context.Background(), 0) }

// placeWithin is Place, which takes so much memory to measure with; 0 = a part
// of what is free.
func (p *Plan) placeWithin(ctx context.Context, room int64) (pl *Placement, err error) {
	c := p.placement()
	if free := cpu.AvailableMemory() / 4; room == 0 && free > 0 {
		room = free
	}
	if !c.Rules.NoProbe {
		c.Measure = func(path string) (Rates, error) {
			return passes.MeasureRates(ctx, path, passes.Effort{Threads: p.cfg.Threads, Window: passes.Moment, Memory: room})
		}
	}
	now := func() int64 { return time.Now().UnixNano() }
	if p.cfg.Decisions == "" {
		if len(p.listeners) > 0 {
			c.Recorder.Journal = decision.NewJournal(decision.Config{Listeners: p.listeners, Now: now})
		}
		return p.place.Place(c)
	}
	w, last, err := decision.Open(decision.WriterConfig{Path: p.cfg.Decisions})
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	c.Recorder.Journal = decision.NewJournal(decision.Config{After: last, Listeners: append([]decision.Listener{w}, p.listeners...), Now: now})
	return p.place.Place(c)
}

// PlacementNotes says in lines what follows from a placement: where packed
// weights will live, and how many sequences have room.
func (p *Plan) PlacementNotes(pl *Placement) ([]string, error) {
	return p.place.Notes(p.placement(), pl)
}

// placement is how the model will run.
func (p *Plan) placement() placement.Config {
	c := placement.Config{Budget: p.cfg.Budget, Rules: p.cfg.Placement, File: p.cfg.PlanFile, Exec: p.execConfig(), CacheBytes: p.cfg.CacheBytes}
	c.Exec.Pack = p.packConfig()
	return c
}

// What was asked of a placement and cannot be done, for [errors.Is]: a pin that
// fits no tensor or whose tier has no room, and a requirement that is not met.
var (
	ErrPin     = budget.ErrPin
	ErrRequire = budget.ErrRequire
)

// A FloorError says that a budget is less than a model needs at least, and
// what makes that up.
type FloorError = budget.FloorError

// WritePlacement writes a plan file, whole or not at all.
func WritePlacement(path string, pl *Placement) error {
	b, err := pl.File().Append(nil)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
