package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/model/file"
	"atenia/internal/spelling"
)

// What a process takes beside tensors, in addition to what is live in its heap.
// Sums of constants and rounded numbers are the same in all processes that load
// the same text, so "plan" and "run" have one floor; what a process has by the
// system's count differs each time.
const (
	programFixed  = 8 << 20  // besides its file: libraries of the system, stacks, what Go needs for itself
	programFile   = 37 << 20 // where the system does not tell
	programStep   = 2 << 20  // that live bytes are rounded up to
	programGrowth = 10 << 20 // after text is loaded: code that runs for the first time, garbage
)

// programBytes is what the program takes before anything is loaded: all of its file,
// which is in memory if the page cache has it, and what Go needs.
var programBytes = sync.OnceValue(func() int64 {
	if n := cpu.Image(); n > 0 {
		return programFixed + n
	}
	return programFixed + programFile
})

// GuardMemory calls full before the process is killed for its memory, as far as
// that can be seen coming, and bounds Go's heap by what is left, until the
// returned function is called.
func GuardMemory(full func(error)) (stop func()) {
	return ledger.Guard(func(e *ledger.Error) { full(e) })
}

// LimitHeap bounds Go's heap while a model is loaded within so much RAM, 0 = any,
// until the returned function is called: parsers of tokenizers leave garbage.
func LimitHeap(ram int64) (undo func()) {
	if ram == 0 {
		return func() {}
	}
	return ledger.LimitHeap(max(programGrowth, ram-ledger.Process.Of(ledger.Program)-programBytes()))
}

// FreeMemory returns the bytes that can still be reserved.
func FreeMemory() int64 { return ledger.Process.Free() }

// MeasureProgram measures what the process takes beside the tensors of the model,
// and reserves it in all placements of the plan. It is called when all is loaded
// that stays, in particular the tokenizer. A plan that is not measured estimates.
func (p *Plan) MeasureProgram() {
	up := func(n int64) int64 { return (n + programStep - 1) / programStep * programStep }
	resident, live := ledger.MeasureProgram()
	adapters := p.adapterBytes.Load() // which are told apart, as are weights
	resident, live = max(0, resident-adapters-p.copied()), max(0, live-adapters)
	p.program = max(programBytes()+up(live+live/4), up(resident)) + programGrowth // a heap has gaps
}

// reread lets a budget of what there is be what there is now that text is loaded, when
// whoever opens the model asks: of a limit of data, memory that Go has given back is gone.
func (p *Plan) reread() {
	b := &p.Config.Budget
	if room := ledger.Process.Room(); b.Auto && room > 0 && room < b.RAM {
		b.RAM = room
		p.account.SetLimit(room)
	}
}

// copied returns the bytes of files that were read into memory before the plan was made.
func (p *Plan) copied() (n int64) {
	if p.Config.NoMap {
		for _, f := range p.footprint.files {
			n += f.Bytes
		}
	}
	return n
}

// Effective returns the configuration that the model was opened with: what was
// asked for, within the memory that there was.
func (p *Plan) Effective() *Config {
	if p.effective != nil {
		return p.effective
	}
	return &p.Config
}

// settle decides within which memory the model is opened: what was asked for, no
// more than there is; and if nothing was asked for and the model does not fit,
// what there is.
func (p *Plan) settle(d *file.Description) error {
	p.effective = new(Config)
	*p.effective = p.Config
	c := p.effective
	_ = d.Advise(file.DontNeed) // headers were read, and their pages would count as the program's
	need, err := p.takes()
	if err != nil {
		return err
	}
	p.whole, p.room, p.spare = need, ledger.Process.Most()+p.copied(), ledger.Process.Room()
	if p.unbounded() {
		if room := p.spare; room > 0 && need > room {
			p.Config.Budget.RAM, p.Config.Budget.Auto = 0, false // as if nobody had set one
			p.needed, c.Budget.RAM, c.Budget.Auto = need, room, true
		}
	}
	if p.Config.noSSD() && c.Budget.RAM == 0 && p.spare > 0 && need > p.spare { // which would be mapped, and read again
		c.Budget.RAM = p.spare
	}
	if p.inside() && c.Budget.Auto && need > p.spare { // which has nothing to stream
		c.Budget.RAM, c.Budget.Auto = 0, false
	}
	if ram := c.Budget.RAM; ram > 0 {
		if most := ledger.Process.Most(); ram > most {
			if !c.Budget.Auto { // else it was read a moment ago
				p.note("%s of RAM are allowed, %s can be allocated: continuing with ram=%d", spelling.Size(ram), spelling.Size(most), most)
			}
			c.Budget.RAM = most
		}
	}
	p.account.SetLimit(c.Budget.RAM)
	return nil
}

// automatic reports whether the budget is one that nobody asked for.
func (p *Plan) automatic() bool { return p.needed > 0 }

// Memory returns what the whole process would have if all weights were in memory, 0
// if that is not known, and the most that it could have when the model was opened: since
// then pages of its files count as used.
func (p *Plan) Memory() (need, room int64) { return p.whole, p.room }

// takes returns what the whole process would have if all weights were in memory.
func (p *Plan) takes() (int64, error) {
	if p.program == 0 {
		p.MeasureProgram()
	}
	n := p.program + p.adapterBytes.Load() + p.draftBytes() + p.footprint.bytes()
	c := p.placeConfig()
	kept, err := p.footprint.keptTensors(&c)
	for i := range kept {
		n += kept[i].Bytes
	}
	tower, towerErr := p.footprint.towerBytes(&c)
	return n + tower, errors.Join(err, towerErr)
}

// streams reports whether weights of the model can be read while it runs: those
// of the embedded model, and of none, cannot.
func (f *footprint) streams() bool {
	for i := range f.tensors {
		if f.tensors[i].Held == "" {
			return true
		}
	}
	return false
}

// placeAutomatic is placeHere within what can be allocated. A model that cannot
// be streamed there is mapped: then the placement is nil.
func (p *Plan) placeAutomatic(ctx context.Context, by guides) (*place.Placement, error) {
	c := p.effective
	pl, err := p.placeHere(ctx, by)
	floor, low := errors.AsType[*place.FloorError](err)
	switch {
	case low && floor.Maps:
		room := c.Budget.RAM
		*c = p.Config
		p.account.SetLimit(0)
		tokens, err := p.mapWithin(room)
		if err != nil {
			return nil, err
		}
		p.note("the model needs %s, %s can be allocated, and to stream it %s: it is mapped, and once memory runs short its weights are read from the disk for each token, which is slow%s",
			spelling.Size(p.least()), spelling.Size(room), spelling.Size(floor.Floor), upTo(tokens, p.Context()))
		return nil, nil
	case err != nil:
		return nil, err
	}
	if !pl.Spills() { // in shorter steps it fits, and is mapped
		return pl, nil
	}
	d, n, text := p.pass(pl)
	p.note("the model needs %s, %s can be allocated: %s, about %.2g s a %s%s%s",
		spelling.Size(p.least()), spelling.Size(c.Budget.RAM), fromDisk(pl), d.Seconds/n, spelling.Unit(text), d.Where(int(n)), spelling.Assumed(pl.Guessed() || text > 0))
	return pl, nil
}

// least returns the least memory in which nothing is read while the model runs: with the
// shortest steps, where takes counts those of the configuration.
func (p *Plan) least() int64 {
	if n, err := p.fits(p.footprint, p.placeConfig()); err == nil {
		return n
	}
	return p.needed
}

// upTo says that a mapped model has no room for its whole context; "" = it has, for one
// sequence at least.
func upTo(tokens, context int) string {
	if tokens == 0 || tokens >= context {
		return ""
	}
	return fmt.Sprintf("; keys and values have room for %d of %s: longer texts are refused", tokens, spelling.Count(context, "token"))
}

// fromDisk says which weights of a placement are not in memory.
func fromDisk(pl *place.Placement) string {
	streamed, chosen := int64(0), int64(0)
	for i := range pl.Tensors {
		switch t := &pl.Tensors[i]; {
		case t.Streamed():
			streamed += t.Bytes
		case t.Tier == memory.SSD && t.Experts > 0:
			chosen += t.Bytes
		}
	}
	say := fmt.Sprintf("%s of its weights are streamed from disk", spelling.Size(streamed))
	if streamed == 0 {
		say = "rows of a table that tokens look up are streamed from disk"
	}
	if chosen == 0 {
		return say
	}
	experts := fmt.Sprintf("of %s of experts, what tokens choose is read from disk and kept in %s", spelling.Size(chosen), spelling.Size(pl.Cache.Bytes()))
	if streamed == 0 {
		return experts
	}
	return say + "; " + experts
}

// note keeps a line for the user.
func (p *Plan) note(format string, args ...any) { p.Note(fmt.Sprintf(format, args...)) }

// Note keeps a line for the user, which is logged, too.
func (p *Plan) Note(line string) {
	p.Config.Logger.Warn("model", "note", line)
	p.noting.Lock()
	defer p.noting.Unlock()
	p.notes = append(p.notes, line)
}

// reserveProgram reserves what a placement has for the program, less the rounding
// of other reservations to pages.
func (p *Plan) reserveProgram(pl *place.Placement) (r ledger.Reservation, err error) {
	const pages = 2 * place.BlockBytes // of each tensor
	n := int64(0)
	for _, s := range pl.Input().Reserves {
		if s.Name != towerReserve && s.Name != adapterReserve && s.Name != draftReserve { // which reserve their own memory when they are loaded
			n += s.Bytes
		}
	}
	n = max(0, n-programGrowth/4-int64(len(pl.Tensors))*pages)
	if r, err = p.account.Reserve(ledger.Program, n); err != nil {
		return r, fmt.Errorf("the program itself: %w", err)
	}
	return r, nil
}
