package engine

import (
	"errors"

	"atenia/internal/memory/place"
	"atenia/internal/policy/decide"
	"atenia/internal/sched"
)

// fewTokens are how many tokens a step has, in turn, if buffers for more leave
// too little for weights. Results are the same.
var fewTokens = []int{128, 32}

// muchLess is the part of what a pass reads from the SSD up to which fewer tokens in a
// step are worth it: then 64 tokens are decoded sooner, after prompts of up to 4,096.
const muchLess = 0.75

// fit answers whether a model runs in a memory, and how, for all that ask: "plan",
// "doctor", and whoever opens it. It places with the steps that were asked for, or with
// shorter ones, which the placement's Chunk says, if no others have room or a quarter
// less is streamed with them.
//
// Where the memory is what there is, and the model cannot be streamed in it, it is
// mapped: then the error has Maps set, or says how much that would need.
func (p *Plan) fit(f *footprint, c PlaceConfig) (*place.Placement, error) {
	pl, err := p.placed(f, c)
	low, ok := errors.AsType[*place.FloorError](err)
	if !ok || !c.Budget.Auto || !p.mayMap() && !p.inside() {
		return pl, err
	}
	if p.inside() {
		return nil, p.insideOf(f, c)
	}
	return nil, p.mapsIn(f, c, low)
}

// mapsIn completes what is said of a model that is mapped in a memory, or says that it
// cannot be.
func (p *Plan) mapsIn(f *footprint, c PlaceConfig, e *place.FloorError) error {
	c.shortest(p)
	mapped, err := f.mapped(&c)
	if err != nil {
		return err
	}
	if c.Budget.RAM < mapped.Floor {
		return mapped
	}
	e.Auto, e.Maps = true, true
	_, e.Context = f.room(c, mapped)
	return e
}

// room returns what a budget leaves for keys and values beside what else a mapped model
// takes, and how many tokens of a sequence that is, 0 if all sequences that are asked for
// can have whole contexts.
func (f *footprint) room(c PlaceConfig, mapped *place.FloorError) (left int64, tokens int) {
	left = c.Budget.RAM - mapped.Floor
	for _, part := range mapped.Parts {
		if part.Name == stepStates {
			left += part.Bytes
		}
	}
	asked := f.CacheBytes(c)
	if n := f.inCache(c, min(left, asked)); n > 0 || asked <= left {
		return left, n
	}
	return left, c.Exec.Context
}

// inCache returns how many tokens of a sequence have room for their keys and values in so
// many bytes, 0 if a whole context has.
func (f *footprint) inCache(c PlaceConfig, bytes int64) int {
	n := sched.Capacity(f.model.Plans.Prefill.Plan.States, max(1, bytes), c.Exec.Context, c.Exec.MaxTokens)
	if n == c.Exec.Context {
		return 0
	}
	return max(1, n)
}

// mapWithin lets a model that is mapped, or was read into memory, have so much memory: with
// shorter steps where those that are asked for leave too little to keys and values of a whole
// context. tokens are as of boundCache.
func (p *Plan) mapWithin(ram int64) (tokens int, err error) {
	c := p.placeConfig()
	c.Budget.RAM = ram - p.copied()
	for _, n := range p.steps(&c) {
		mapped, err := p.footprint.mapped(&c)
		if err != nil {
			return 0, err
		}
		if _, tokens := p.footprint.room(c, mapped); mapped.Floor <= c.Budget.RAM && tokens == 0 {
			break
		}
		c.shorten(n)
		p.effective.BatchTokens = n
	}
	return p.boundCache(ram)
}

// boundCache bounds the keys and values of a model that is mapped, or was read into
// memory, without a budget: where a whole context has no room in so many bytes, a longer
// text is refused, where a process that took it would be killed.
func (p *Plan) boundCache(ram int64) (tokens int, err error) {
	c := p.placeConfig()
	if len(p.footprint.model.Plans.Prefill.Plan.States) == 0 || ram <= 0 || c.CacheBytes > 0 {
		return 0, nil
	}
	c.Budget.RAM = ram - p.copied()
	mapped, err := p.footprint.mapped(&c)
	if err != nil {
		return 0, err
	}
	left, tokens := p.footprint.room(c, mapped)
	if tokens > 0 && left > 0 {
		p.effective.CacheBytes = min(left, p.footprint.CacheBytes(c))
	}
	return tokens, nil
}

// stepStates is the part of what a mapped model needs that is keys and values of a step.
const stepStates = "kv"

// revise lets what a placement says of more RAM be what it would be there: steps may be
// longer, or shorter.
func (p *Plan) revise(pl *place.Placement, f *footprint, c PlaceConfig) error {
	if len(pl.Larger) == 0 {
		return nil
	}
	file := c.File != ""
	c.File = "" // which says where weights are whatever there is
	least := c
	if one := f.oneWhole(&c); one > 0 {
		least.CacheBytes = one
	}
	fits, err := p.fits(f, least)
	if err != nil {
		return err
	}
	c.Measure, c.Recorder, c.Budget.Auto, c.Known = nil, decide.Recorder{}, false, new(pl.Input().Rates)
	pl.Revise(fits, file, func(ram int64) (*place.Placement, error) {
		c.Budget.RAM = ram
		pl, _, err := p.fitWhole(f, c)
		return pl, err
	})
	return nil
}

// fits returns the least RAM in which nothing is streamed.
func (p *Plan) fits(f *footprint, c PlaceConfig) (int64, error) {
	c.shortest(p)
	c.Measure, c.Recorder, c.Budget.RAM, c.Budget.Auto = nil, decide.Recorder{}, 1<<50, false
	pl, err := f.Place(c)
	if err != nil {
		return 0, err
	}
	return pl.RAM(), nil
}

// placed is fit without mapping.
func (p *Plan) placed(f *footprint, c PlaceConfig) (*place.Placement, error) {
	pl, err := f.Place(c)
	for _, n := range p.steps(&c) {
		short := c
		short.shorten(n)
		switch {
		case errors.Is(err, place.ErrFloor):
			pl, err = f.Place(short)
		case err != nil || !pl.Spills():
			return pl, err
		default:
			look := short // which does not depend on rates
			look.Measure, look.Recorder = nil, decide.Recorder{}
			if q, e := f.Place(look); e == nil && q.Decode.SSDBytes <= muchLess*pl.Decode.SSDBytes {
				pl, err = f.Place(short)
			}
		}
	}
	return pl, err
}

// pass returns what is predicted for what the model does most, and how many of it a pass
// does: to decode tokens, or of an encoder to compute a text of so many.
func (p *Plan) pass(pl *place.Placement) (d *place.Prediction, n float64, text int) {
	if p.Model.Config.Encoder != nil {
		return &pl.Prefill, 1, pl.Prefill.Tokens
	}
	return &pl.Decode, float64(max(1, pl.Decode.Tokens)), 0
}

// steps are the shorter steps that a configuration may be tried with.
func (p *Plan) steps(c *PlaceConfig) (out []int) {
	if p.Model.Config.Encoder != nil { // a text is computed in one step
		return nil
	}
	for _, n := range fewTokens {
		if n = max(n, p.Config.Slots); n < c.Exec.MaxTokens {
			out = append(out, n)
		}
	}
	return out
}

// shorten lets steps have n tokens at most.
func (c *PlaceConfig) shorten(n int) {
	c.Exec.MaxTokens, c.Exec.MaxLogits = min(c.Exec.MaxTokens, n), min(c.Exec.MaxLogits, n)
}

// shortest lets steps have the fewest tokens that they are tried with.
func (c *PlaceConfig) shortest(p *Plan) {
	if all := p.steps(c); len(all) > 0 {
		c.shorten(all[len(all)-1])
	}
}

// mayMap reports whether the model is mapped where it cannot be streamed: if nobody
// set a budget, or asked for what there is, and for nothing else.
func (p *Plan) mayMap() bool { return len(p.Config.Rules.Pins) == 0 && p.unbounded() }

// unbounded is mayMap of a model of which weights may be pinned: where it does not fit, it is
// opened in what there is, and refused if the pins leave too little.
func (p *Plan) unbounded() bool {
	b := p.Config.Budget
	if b.Auto {
		b.RAM, b.Auto = 0, false
	}
	return p.unplaced(b)
}

// mappable is mayMap with another budget.
func (p *Plan) mappable(b place.Budget) bool { return len(p.Config.Rules.Pins) == 0 && p.unplaced(b) }

// unplaced reports whether nothing but a budget and pins says where weights are.
func (p *Plan) unplaced(b place.Budget) bool {
	c := p.Config
	c.Budget, c.Rules.Pins = b, nil
	return !c.placed() && !c.NoStream && !c.NoMap && p.footprint.streams()
}

// inside reports whether the weights are part of the program and mapped with it, whatever
// memory there is.
func (p *Plan) inside() bool {
	c := p.Config
	c.Budget, c.Rules.Pins = place.Budget{}, nil
	return len(p.Config.Rules.Pins) == 0 && !c.placed() && !c.NoMap && !p.footprint.streams()
}

// insideOf says how a model that is part of the program runs in less than all of it takes,
// or that it does not.
func (p *Plan) insideOf(f *footprint, c PlaceConfig) error {
	need, err := p.fits(f, c)
	if err != nil {
		return err
	}
	return p.mapsIn(f, c, &place.FloorError{Tier: place.RAM, Budget: c.Budget.RAM, Floor: need, Inside: true})
}

// mapped returns what a process takes whose model is mapped, as the error of one that
// has less: all but pages that the system may drop.
func (f *footprint) mapped(c *PlaceConfig) (*place.FloorError, error) {
	need, err := f.Need(c.Exec)
	if err != nil {
		return nil, err
	}
	runtime := c.Budget.Reserve.Runtime
	if runtime == 0 {
		runtime = f.runtime()
	}
	pages := int64(0) // of the keys and values of one step
	for _, d := range f.model.Plans.Prefill.Plan.States {
		n := int64(d.SizeBytes)
		if page := int(d.PageTokens); page > 0 {
			n *= int64((c.Exec.MaxTokens+page-1)/page + 1)
		}
		pages += n
	}
	e := &place.FloorError{Tier: place.RAM, Budget: c.Budget.RAM, Auto: true, Why: "the model is mapped, and nothing else may leave memory"}
	for _, part := range []place.Part{{Name: programReserveName, Bytes: runtime}, {Name: "buffer", Bytes: need.Registers + need.Work}, {Name: stepStates, Bytes: pages}, {Name: adapterReserve, Bytes: c.Adapters}, {Name: draftReserve, Bytes: c.Draft}} {
		if part.Bytes > 0 {
			e.Parts, e.Floor = append(e.Parts, part), e.Floor+part.Bytes
		}
	}
	return e, nil
}
