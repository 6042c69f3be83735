package engine

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/memory"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/policy/decide"
	"atenia/internal/sched"
	"atenia/internal/spelling"
)

// headroom is the part of a limit that a placement under pressure leaves, so
// that a limit that goes on falling does not move weights at every sample.
const headroom = 32

// batchBytes is what one batch of weights that come back reads from the disk
// between two steps.
const batchBytes = 256 << 20

// target places the weights for a limit. Under pressure, weights that are
// streamed stay so; without it, those that are in memory do. Weights that were
// mapped are all streamed first, as long as there may be less memory soon: to
// read them into memory takes time. They come back in batches.
func (p *pressure) target(limit int64, high bool) (*place.Placement, error) {
	if high && p.e.weights.Held == 0 && p.e.weights.Stream.Ring == nil {
		pl, err := p.place(p.placing(p.allowed(limit) - limit/headroom))
		if err == nil && pl.Spills() {
			return p.smaller(1)
		}
		if err == nil {
			return pl, nil
		}
	}
	c := p.placing(p.allowed(limit))
	stay, tier := memory.RAM, memory.RAM.Lower()
	if high {
		stay, tier = memory.SSD, memory.SSD.Lower()
		c.Budget.RAM -= limit / headroom
	}
	free := c.Rules.Pins
	if names := p.in(stay); len(names) > 0 {
		c.Rules.Pins = append(slices.Clip(free), pinned(names, tier))
	}
	pl, err := p.place(c)
	if err == nil {
		return pl, nil
	}
	// What stays where it is may not leave room for the rest.
	c.Rules.Pins, c.Budget.RAM = free, p.allowed(limit)
	if pl, err = p.place(c); err == nil {
		return pl, nil
	}
	short, ok := errors.AsType[*place.FloorError](err)
	if !ok || !high || short.Tier != place.RAM || short.Floor >= p.need() {
		return nil, err
	}
	if short.Floor > limit && p.mapped() {
		return nil, err
	}
	p.note("the limit is below the least that the model needs", err)
	c.Budget.RAM = short.Floor
	return p.place(c)
}

// mapped reports whether all weights are pages of files, which the system drops where memory is
// short: the ring that they would be streamed through it could not.
func (p *pressure) mapped() bool {
	w := p.e.weights
	return w.placement == nil && !p.e.Plan.Config.NoMap && w.Held == 0 && w.packed(p.e.packing) == 0
}

// place places the weights, and says by which rules.
func (p *pressure) place(c PlaceConfig) (*place.Placement, error) {
	pl, err := p.e.Plan.footprint.Place(c)
	if err == nil {
		p.rename(pl)
	}
	return pl, err
}

// rename gives weights that were placed as they were before, which a pin does, the rule by
// which they are there.
func (p *pressure) rename(pl *place.Placement) {
	spills := pl.Spills()
	for i := range pl.Tensors {
		t := &pl.Tensors[i]
		if t.Rule != place.RulePin {
			continue
		}
		at := (*place.Placed)(nil)
		if p.opened != nil {
			at, _ = p.opened.Tensor(t.Name)
		}
		switch {
		case at != nil && at.Tier == t.Tier && (at.Rule == place.RulePin || at.Rule == place.RuleFile):
			t.Rule = at.Rule
		case !spills:
			t.Rule = place.RuleFits
		default:
			t.Settle()
		}
	}
}

// placing is what a placement in a limit depends on.
func (p *pressure) placing(limit int64) PlaceConfig {
	c := p.e.Plan.placeConfig()
	c.File, c.Rules.NoProbe, c.Recorder, c.Budget.RAM = "", true, p.record, limit
	if len(p.fixed) > 0 {
		c.Rules.Pins = append(slices.Clip(c.Rules.Pins), pinned(p.fixed, memory.SSD.Lower()))
	}
	if old := p.e.weights.placement; old != nil {
		in := old.Input()
		c.Known = &in.Rates
		for _, r := range in.Reserves {
			if r.Name == programReserveName {
				c.Budget.Reserve.Runtime = r.Bytes
			}
		}
	}
	return c
}

// pinned returns a pin of weights to a tier.
func pinned(names []string, tier string) string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = regexp.QuoteMeta(n)
	}
	return "^(?:" + strings.Join(all, "|") + ")$=" + tier
}

// in returns the names of the weights in a tier.
func (p *pressure) in(t memory.Tier) (names []string) {
	for _, id := range p.movable {
		if at, _ := p.loop.Memory.Tier(id); at == t {
			names = append(names, id)
		}
	}
	return names
}

// candidates returns what has to leave memory for a placement, or what may come
// back.
func (p *pressure) candidates(to *place.Placement, high bool) []string {
	from, want := memory.SSD, memory.RAM
	if high {
		from, want = want, from
	}
	p.ids = p.ids[:0]
	left := int64(batchBytes)
	for _, id := range p.movable {
		at, _ := p.loop.Memory.Tier(id)
		t, ok := to.Tensor(id)
		if !ok || at != from || t.Tier != want {
			continue
		}
		if left -= t.Bytes; !high && left < 0 && len(p.ids) > 0 {
			break
		}
		p.ids = append(p.ids, id)
	}
	if r, ok := p.loop.Memory.Residence(packedID); ok && r.Tier == from && (high || len(p.ids) == 0 && !to.Spills() && p.hasRoom(int64(r.Bytes), to.Input().RAM)) {
		p.ids = append(p.ids, packedID)
	}
	return p.ids
}

// hasRoom reports whether n more bytes leave a limit so far away that they will
// not have to go soon.
func (p *pressure) hasRoom(n, limit int64) bool { return p.need()+n <= limit-limit/headroom }

// apply brings the weights to where the manager has them. If they find no room
// there, they are placed in less, and at last in the least that they need: a
// model that does not run is worse than one that exceeds a limit.
func (p *pressure) apply(pause *sched.Pause, to *place.Placement, limit int64) {
	e, began := p.e, time.Now()
	at := p.asManaged(to)
	packed, was := p.loop.Memory.Tier(packedID)
	err := pause.Swap(func() (x *exec.Executor, err error) {
		x, err = e.replace(p.ctx, p.d, at, was && packed == memory.RAM, e.weights.Resize)
		for try := int64(1); err != nil && try <= attempts && p.ctx.Err() == nil; try++ {
			p.note("weights are placed again", err)
			less := limit - limit/8*try
			if try == attempts { // only that is promised, however little there is by now
				less = 1
			}
			if to, err = p.smaller(less); err != nil {
				return nil, err
			}
			if to.Input().RAM > limit || try == attempts {
				e.Plan.account.SetLimit(max(limit, to.RAM()) + int64(len(to.Tensors))*2*place.BlockBytes)
			}
			x, err = e.replace(p.ctx, p.d, to, false, residence.Open)
			p.adopt(to)
		}
		return x, err
	})
	p.away = len(p.in(memory.SSD))
	if was && packed == memory.SSD {
		p.away++
	}
	p.note("the weights could not be moved", err)
	if err == nil {
		p.unready = nil
		w := e.weights
		e.Plan.Config.Logger.Info("weights moved", "streamed", spelling.Size(w.Streamed), "kept", spelling.Size(w.Held),
			"ring", spelling.Size(w.Stats().Bytes), "pack", e.packing.Mode.String(), "limit", spelling.Size(limit), "took", time.Since(began))
	}
}

// attempts is how often weights that have no room are placed again.
const attempts = 3

// asManaged is a placement with the tiers that the manager has.
func (p *pressure) asManaged(to *place.Placement) *place.Placement {
	at := *to
	at.Tensors = slices.Clone(to.Tensors)
	for i := range at.Tensors {
		if tier, ok := p.loop.Memory.Tier(at.Tensors[i].Name); ok {
			at.Tensors[i].Move(tier)
		}
	}
	return &at
}

// adopt tells the manager where a placement has put the weights.
func (p *pressure) adopt(to *place.Placement) {
	for _, id := range p.movable {
		if t, ok := to.Tensor(id); ok {
			_ = p.loop.Memory.RegisterOwned(id, uint64(t.Bytes), t.Tier, p) // it was registered before
		}
	}
	if r, ok := p.loop.Memory.Residence(packedID); ok {
		_ = p.loop.Memory.RegisterOwned(packedID, r.Bytes, memory.SSD, p)
	}
}

// smaller places the weights in a limit, or in the least that they need.
func (p *pressure) smaller(limit int64) (*place.Placement, error) {
	c := p.placing(limit)
	pl, err := p.place(c)
	if short, ok := errors.AsType[*place.FloorError](err); ok && short.Tier == place.RAM {
		c.Budget.RAM = short.Floor
		return p.place(c)
	}
	return pl, err
}

// An opener brings weights where a placement says.
type opener func(context.Context, *compile.Model, *file.Description, *place.Placement, *residence.Config) (*residence.Residence, error)

// replace moves the weights to a placement and binds an executor to them. The
// executor before it must be closed.
func (e *Engine) replace(ctx context.Context, d *file.Description, at *place.Placement, packed bool, open opener) (*exec.Executor, error) {
	p := e.Plan
	old := e.weights
	w := &modelWeights{unlimit: old.unlimit, program: old.program, meter: old.meter, loaded: old.loaded, codec: old.codec, placement: at}
	read, err := p.loaded(at)
	if err != nil {
		return nil, err
	}
	// The codec is not chosen again, which may measure.
	err = p.bring(ctx, w, d, read, old.codec != nil && old.Coded > 0, open)
	if err := errors.Join(err, old.closeLanes()); err != nil { // the old ring is closed
		return nil, err
	}
	switch {
	case at.Spills():
		w.packing.Mode, w.packing.Because = pack.Off, "weights are streamed"
	case read != nil:
		w.packing.Mode, w.packing.Because = pack.Off, held
	case !packed && e.weights.packing.Mode != pack.OnDisk:
		switch w.packing.Mode = pack.Off; {
		case p.Config.Pack == pack.Off: // as asked for
		case e.packing.Mode == pack.Off && old.Stream.Ring == nil: // for the reason of before
			w.packing.Because = e.packing.Because
		default:
			w.packing.Because = "memory became short"
		}
	case p.Config.placed():
		w.packing = p.packingWithin(d, at)
	default:
		w.packing = p.packingOf(d)
	}
	if !at.Spills() && !p.Config.placed() {
		w.placement = nil // as it was opened
	}
	e.mu.Lock()
	e.weights = w
	e.mu.Unlock()
	x, err := e.bind()
	if err != nil {
		return nil, errors.Join(err, w.Residence.Close(), w.closeLanes())
	}
	e.begin()
	e.learnForm()
	e.pace.moved = true
	e.pace.restart()
	return x, nil
}

// launchTime is what starting a kernel takes: less work is small.
const launchTime = 5e3 // ns

// tier is the memory that a placement has a weight in; without one it is mapped.
func (e *Engine) tier(weight string) memory.Tier {
	if pl := e.weights.placement; pl != nil {
		if t, ok := pl.Tensor(weight); ok {
			return t.Tier
		}
	}
	return memory.RAM
}

// graph is the kernels of a decode step that read weights, and which, where they were placed.
func (e *Engine) graph() *decide.RouteGraph {
	f := e.Plan.footprint
	c := e.Plan.placeConfig()
	r := f.rates(&c, place.Measurement{})
	m := decide.RouteMachine{FlopsPerSecond: r.FLOPS, BytesPerSecond: r.RAM, Launch: launchTime}
	sizes := map[string]*place.Tensor{}
	for i := range f.tensors {
		sizes[f.tensors[i].Name] = &f.tensors[i]
	}
	g := &decide.RouteGraph{}
	for _, p := range exec.Products(&e.Plan.Model.Plans.Usual().Plan) {
		k := decide.Product{Rows: 1, ActivationBytes: 4}
		var tiers []memory.Tier
		bits := uint64(0)
		for _, name := range p.Weights {
			tiers = append(tiers, e.tier(name))
			if t, ok := sizes[name]; ok {
				shape := f.headers[name].Shape
				k.Inner = uint64(t.Bytes) // of a vector
				if len(shape) == 2 {
					k.Cols, k.Inner = k.Cols+uint64(shape[0]), uint64(shape[1])
				}
				bits += 8 * uint64(t.Bytes)
			}
		}
		if p.Rows {
			bits, k.Cols = bits/max(k.Cols, 1), 1
		}
		if n := k.Cols * k.Inner; n > 0 {
			k.WeightBits = float64(bits) / float64(n)
		}
		add := g.AddTensors
		if p.Rows {
			add = g.AddLookup
		}
		add(k.Kernel(strings.Join(p.Weights, ","), m), p.Weights, tiers)
	}
	return g
}
