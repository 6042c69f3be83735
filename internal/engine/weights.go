package engine

import (
	"context"
	"errors"

	"atenia/internal/memory/ledger"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/memory/residence"
	"atenia/internal/model/file"
)

// modelWeights are a model's weights where they were placed.
type modelWeights struct {
	*residence.Residence
	packing   pack.Config
	placement *place.Placement // nil without a budget
	unlimit   func()           // ends the limit of the heap
	program   ledger.Reservation
}

// close gives the memory back.
func (w *modelWeights) close() error {
	w.release()
	return w.Residence.Close()
}

// release ends what bounds the program.
func (w *modelWeights) release() {
	w.unlimit()
	w.program.Release()
}

// packed returns the bytes of packed weights in memory.
func (w *modelWeights) packed(d pack.Decision) int64 {
	if d.Mode == pack.InMemory {
		return d.Bytes
	}
	return 0
}

// loadWeights places the weights and then materializes them, each once.
func (p *Plan) loadWeights(ctx context.Context, d *file.Description) (_ *modelWeights, err error) {
	if err := p.settle(d); err != nil {
		return nil, err
	}
	w := &modelWeights{unlimit: func() {}}
	defer func() {
		if err != nil {
			w.release()
		}
	}()
	if p.Effective().placed() {
		if err := p.placeWeights(ctx, d, w); err != nil {
			return nil, err
		}
	}
	var spilled *place.Placement // nil while all weights have room: then they are mapped
	switch {
	case w.placement == nil:
		w.packing = p.packingOf(d)
	case w.placement.Spills():
		spilled, w.packing.Mode = w.placement, pack.Off
		if p.Config.Pack == pack.InMemory || p.Config.Pack == pack.OnDisk {
			p.note("weights that are streamed are not packed: continuing with pack off")
		}
	default:
		w.packing = p.packingWithin(d, w.placement)
	}
	if w.Residence, err = residence.Open(ctx, p.Model, d, spilled, p.residence()); err != nil {
		return nil, err
	}
	if p.Config.Pack == pack.Off {
		w.Stream.Held = nil
	}
	if err := p.checkDirect(w.Residence); err != nil {
		return nil, errors.Join(err, w.Residence.Close())
	}
	return w, nil
}

// placeWeights places them, and bounds what else the process has.
func (p *Plan) placeWeights(ctx context.Context, d *file.Description, w *modelWeights) (err error) {
	if p.automatic() {
		w.placement, err = p.placeAutomatic(ctx)
	} else {
		w.placement, err = p.placeHere(ctx)
	}
	if err != nil || w.placement == nil { // it is mapped
		return err
	}
	_ = d.Advise(file.Random) // or reading small weights would prefetch their neighbours
	w.unlimit = ledger.LimitHeap(programGrowth)
	w.program, err = p.reserveProgram(w.placement)
	return err
}

// residence says how weights are brought where they were placed.
func (p *Plan) residence() *residence.Config {
	c := &residence.Config{Verify: p.Config.Verify, Account: p.account}
	if p.Config.Observer != nil {
		c.Watch = p.Config.Observer.Watch
	}
	return c
}

// checkDirect warns of a file whose reads go through the system's cache, which
// a strict configuration refuses.
func (p *Plan) checkDirect(r *residence.Residence) error {
	f := r.Buffered
	switch {
	case f == "":
	case p.Config.Strict:
		return strictError("storage", f+" cannot be read directly: its bytes go through the system's cache, outside of the budget")
	default:
		p.Config.Logger.Warn("reads go through the system's cache", "file", f)
	}
	return nil
}
