package engine

import (
	"context"
	"errors"

	"atenia/internal/engine/residence"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/internal/model/file"
	"atenia/internal/spelling"
)

// modelWeights are a model's weights where they were placed.
type modelWeights struct {
	*residence.Residence
	packing   pack.Config
	placement *place.Placement // nil without a budget
	unlimit   func()           // ends the limit of the heap
	program   ledger.Reservation
	lanes     *lane.Executor   // nil if nothing is read ahead and no one observes
	meter     *lane.Meter      // of the lanes
	loaded    lane.Report      // when all was open
	codec     *ring.CodeChoice // of streamed weights
}

func newWeights() *modelWeights {
	return &modelWeights{unlimit: func() {}, meter: new(lane.Meter)}
}

// close gives the memory back.
func (w *modelWeights) close() error {
	w.release()
	return errors.Join(w.Residence.Close(), w.closeLanes())
}

// closeLanes stops the lanes, of which nothing may be open.
func (w *modelWeights) closeLanes() error {
	if w.lanes != nil {
		w.lanes.Close()
		w.lanes = nil
	}
	return nil
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
func (p *Plan) loadWeights(ctx context.Context, d *file.Description, by guides) (_ *modelWeights, err error) {
	if err := p.settle(d); err != nil {
		return nil, err
	}
	w := newWeights()
	defer func() {
		if err != nil {
			w.release()
		}
	}()
	if p.Effective().placed() {
		if err := p.placeWeights(ctx, d, w, by); err != nil {
			return nil, err
		}
	} else if err := p.boundUnplaced(); err != nil {
		return nil, err
	}
	read, err := p.loaded(w.placement)
	if err != nil {
		return nil, err
	}
	switch {
	case w.placement == nil:
		w.packing = p.packingOf(d)
		p.choosePacking(&w.packing)
	case w.placement.Spills():
		w.packing.Mode, w.packing.Because = pack.Off, "weights are streamed"
		if asked := p.Config.Pack == pack.InMemory || p.Config.Pack == pack.OnDisk; asked && p.Config.Strict {
			return nil, strictError("pack", "weights that are streamed are not packed")
		} else if asked {
			p.note("weights that are streamed are not packed: continuing with pack off")
		}
	case read != nil:
		w.packing.Mode, w.packing.Because = pack.Off, held
	default:
		w.packing = p.packingWithin(d, w.placement)
	}
	if err := p.bring(ctx, w, d, read, true, residence.Open); err != nil {
		return nil, err
	}
	w.loaded = w.meter.Report()
	if err := p.checkDirect(w.Residence); err != nil {
		return nil, errors.Join(err, w.Residence.Close(), w.closeLanes())
	}
	return w, nil
}

// held is why weights have no packed form of their own where they are packed in place.
const held = "weights are held in memory"

// boundUnplaced bounds the keys and values of a model whose weights nobody places, and says
// so.
func (p *Plan) boundUnplaced() error {
	if p.whole <= p.room {
		return nil
	}
	var short *place.FloorError
	if p.inside() {
		c := p.placeConfig()
		c.Budget.RAM = p.room
		switch short, _ = errors.AsType[*place.FloorError](p.insideOf(p.footprint, c)); {
		case short != nil && !short.Maps:
			return short
		case short != nil && short.Floor <= p.room: // with the shortest steps, in which it all stays
			c.shortest(p)
			p.effective.BatchTokens = c.Exec.MaxTokens
			return nil
		}
	}
	tokens, err := p.mapWithin(p.room)
	switch {
	case short != nil:
		p.note("%s can be allocated, and %s%s", spelling.Size(p.room), short.Paging(), upTo(tokens, p.Context()))
	case tokens > 0:
		p.note("the model needs %s, %s can be allocated%s", spelling.Size(p.whole), spelling.Size(p.room), upTo(tokens, p.Context()))
	}
	return err
}

// placeWeights places them, and bounds what else the process has.
func (p *Plan) placeWeights(ctx context.Context, d *file.Description, w *modelWeights, by guides) (err error) {
	if p.automatic() {
		w.placement, err = p.placeAutomatic(ctx, by)
	} else {
		w.placement, err = p.placeHere(ctx, by)
	}
	if err != nil || w.placement == nil { // it is mapped
		return err
	}
	if w.placement.Spills() {
		_ = d.Advise(file.Random) // or reading small weights would prefetch their neighbours
	}
	w.unlimit = ledger.LimitHeap(programGrowth)
	w.program, err = p.reserveProgram(w.placement)
	return err
}

// bring brings the weights where a placement says, with lanes of their own; nil is
// that they are mapped.
func (p *Plan) bring(ctx context.Context, w *modelWeights, d *file.Description, spilled *place.Placement, choose bool, open opener) (err error) {
	c := &residence.Config{Verify: p.Config.Verify, Account: p.account}
	if spilled != nil && choose {
		if c.Coded, w.codec, err = p.openCodec(ctx, spilled); err != nil {
			return err
		}
		c.Damaged = func(err error) {
			p.Config.Logger.Warn("coded weights are damaged; the model's own file is read instead", "err", err)
		}
	}
	w.lanes = p.lanes(spilled, w.meter, c.Coded != nil)
	c.Lanes = w.lanes
	if w.Residence, err = open(ctx, p.Model, d, spilled, c); err != nil {
		return errors.Join(err, w.closeLanes())
	}
	if w.lanes != nil {
		w.Stream.Passes = lane.NewPasses(w.lanes, w.Stream.Ring != nil)
	}
	if p.Config.Pack == pack.Off {
		w.Stream.Held = nil
	}
	return nil
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
