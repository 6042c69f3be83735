package engine

import (
	"context"
	"errors"

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
}

// close gives the memory back.
func (w *modelWeights) close() error {
	w.unlimit()
	return w.Residence.Close()
}

// loadWeights places the weights and then materializes them, each once.
func (p *Plan) loadWeights(ctx context.Context, d *file.Description, r *resume) (w *modelWeights, err error) {
	w = &modelWeights{unlimit: func() {}}
	var spilled *place.Placement // nil while all weights have room: then they are mapped
	if !p.Config.placed() {
		w.packing = p.packingOf(d)
	} else {
		_ = d.Advise(file.Random) // or reading small weights would prefetch their neighbours
		if w.placement, err = p.placeHere(ctx, r); err != nil {
			return nil, err
		}
		if w.placement.Spills() {
			spilled, w.packing.Mode = w.placement, pack.Off
		} else {
			w.packing = p.packingWithin(d, w.placement)
		}
	}
	if w.Residence, err = residence.Open(ctx, p.Model, d, spilled, p.residence()); err != nil {
		return nil, err
	}
	if err := p.checkDirect(w.Residence); err != nil {
		return nil, errors.Join(err, w.Residence.Close())
	}
	if w.placement != nil {
		w.unlimit = residence.LimitHeap(programGrowth)
	}
	return w, nil
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
