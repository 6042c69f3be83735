package engine

import (
	"context"
	"errors"

	"atenia/internal/memory/coded"
	"atenia/internal/memory/lane"
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
	lanes     *lane.Executor   // nil if nothing is read ahead and no one observes
	meter     *lane.Meter      // of the lanes
	loaded    lane.Report      // when all was open
	codec     *coded.Choice    // of streamed weights
}

// close gives the memory back.
func (w *modelWeights) close() error {
	w.unlimit()
	return errors.Join(w.Residence.Close(), w.closeLanes())
}

// closeLanes stops the lanes, of which nothing may be open.
func (w *modelWeights) closeLanes() error {
	if w.lanes != nil {
		w.lanes.Close()
	}
	return nil
}

// loadWeights places the weights and then materializes them, each once.
func (p *Plan) loadWeights(ctx context.Context, d *file.Description) (w *modelWeights, err error) {
	w = &modelWeights{unlimit: func() {}, meter: new(lane.Meter)}
	var spilled *place.Placement // nil while all weights have room: then they are mapped
	if !p.Config.placed() {
		w.packing = p.packingOf(d)
	} else {
		_ = d.Advise(file.Random) // or reading small weights would prefetch their neighbours
		if w.placement, err = p.placeHere(ctx); err != nil {
			return nil, err
		}
		if w.placement.Spills() {
			spilled, w.packing.Mode = w.placement, pack.Off
		} else {
			w.packing = p.packingWithin(d, w.placement)
		}
	}
	c := &residence.Config{Verify: p.Config.Verify, Account: p.account}
	if spilled != nil {
		if c.Coded, w.codec, err = p.openCodec(ctx, spilled); err != nil {
			return nil, err
		}
		c.Damaged = func(err error) {
			p.Config.Logger.Warn("coded weights are damaged; the model's own file is read instead", "err", err)
		}
	}
	w.lanes = p.lanes(spilled, w.meter, c.Coded != nil)
	c.Lanes = w.lanes
	if w.Residence, err = residence.Open(ctx, p.Model, d, spilled, c); err != nil {
		return nil, errors.Join(err, w.closeLanes())
	}
	if w.lanes != nil {
		w.Stream.Passes = lane.NewPasses(w.lanes, w.Stream.Ring != nil)
		w.loaded = w.meter.Report()
	}
	if err := p.checkDirect(w.Residence); err != nil {
		return nil, errors.Join(err, w.Residence.Close(), w.closeLanes())
	}
	if w.placement != nil {
		w.unlimit = residence.LimitHeap(programGrowth)
	}
	return w, nil
}

// lanes returns the executor of reads and of computing: with readers if weights
// are streamed, else for those who observe alone.
func (p *Plan) lanes(spilled *place.Placement, m *lane.Meter, coded bool) *lane.Executor {
	c := lane.Config{Sink: m, Computers: -1}
	if spilled != nil {
		residence.Lanes(&c, spilled, coded)
	}
	if o := p.Config.Observer; o != nil {
		o.Attach(&c)
	} else if spilled == nil {
		return nil
	}
	return lane.New(c)
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
