package engine

import (
	"context"
	"errors"

	"atenia/internal/exec"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/memory/residence"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// modelWeights are a model's weights where they were placed.
type modelWeights struct {
	views     exec.Weights
	stream    exec.Stream
	packing   pack.Config
	placement *place.Placement     // nil without a budget
	residence *residence.Residence // nil when the weights are mapped
	unlimit   func()               // ends the limit of the heap
}

// close gives the memory back.
func (w *modelWeights) close() error {
	w.unlimit()
	if w.residence == nil {
		return nil
	}
	return w.residence.Close()
}

// loadWeights places the weights and then materializes them, each once.
func (p *Plan) loadWeights(ctx context.Context, d *file.Description) (w *modelWeights, err error) {
	w = &modelWeights{unlimit: func() {}}
	if !p.Config.placed() {
		w.packing = p.packingOf(d)
		w.views, err = compile.Materialize(p.Model, d)
		return w, err
	}
	_ = d.Advise(file.Random) // or reading small weights would prefetch their neighbours
	if w.placement, err = p.placeHere(ctx); err != nil {
		return nil, err
	}
	if w.placement.Spills() {
		return w, p.openResidence(ctx, d, w)
	}
	w.packing = p.packingWithin(d, w.placement)
	if w.views, err = compile.Materialize(p.Model, d); err != nil {
		return nil, err
	}
	w.unlimit = residence.LimitHeap(programGrowth)
	return w, nil
}

// openResidence reads the weights that stay in memory and starts the ring for
// the others.
func (p *Plan) openResidence(ctx context.Context, d *file.Description, w *modelWeights) (err error) {
	c := &residence.Config{Verify: p.Config.Verify}
	if p.Config.Observer != nil {
		c.Watch = p.Config.Observer.Watch
	}
	if w.residence, err = residence.Open(ctx, p.Model, d, w.placement, c); err != nil {
		return err
	}
	if f := w.residence.Buffered; f != "" {
		if p.Config.Strict {
			return errors.Join(strictError("storage", f+" cannot be read directly: its bytes go through the system's cache, outside of the budget"), w.residence.Close())
		}
		p.Config.Logger.Warn("reads go through the system's cache", "file", f)
	}
	w.views, w.stream, w.packing.Mode = w.residence.Weights, w.residence.Stream, pack.Off
	w.unlimit = residence.LimitHeap(programGrowth)
	return nil
}
