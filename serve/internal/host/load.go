package host

// Loading a model within what is left of the budget.

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atenia"
	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
	"atenia/internal/spelling"
	"atenia/place"
)

// embeddedName is what the embedded model is called and where its path is shown.
const embeddedName = "atenia-story"

// describe reads a model's header.
func describe(s Source, c *atenia.Config, whole bool) (*entry, error) {
	if s.Path == embeddedName {
		s.Path = ""
	}
	i := Info{Name: s.Name, Path: s.Path, Base: filepath.Base(s.Path), Created: started}
	if s.Path == "" {
		i.Base = embeddedName
	} else if fi, err := os.Stat(s.Path); err == nil {
		i.Created = fi.ModTime()
	}
	i.Name = cmp.Or(i.Name, strings.TrimSuffix(i.Base, filepath.Ext(i.Base)))
	h := headerConfig(c)
	h.Adapters, h.Draft = s.Adapters, cmp.Or(s.Draft, c.Draft)
	plan, err := atenia.OpenPlan(s.Path, h)
	if err != nil {
		return nil, err
	}
	context := 0
	if verb := plan.Command(); c.Context == 0 && verb != "embed" && verb != "rerank" { // which compute a text in one step
		if context, err = longest(plan, s.Path, h, c.Budget, whole); err != nil {
			return nil, err
		}
	}
	i.Family, i.Context, i.Totals = plan.Family, cmp.Or(context, plan.Context()), plan.Totals()
	return &entry{info: i, draft: h.Draft, context: context}, nil
}

// usualContext is how many tokens a sequence may have, if nobody says it and the model and the
// memory have as many: what agents say first has 15 to 30 thousand.
const usualContext = 32 << 10

// longest returns how long a context is if nobody says it: the model's own if that is wanted
// whole, or else at most the usual one, as far as keys and values of one sequence take a quarter of
// the memory at most, or leave all weights in the budget. 0 = the context of a model that is opened without one.
func longest(plan *atenia.Plan, path string, h *atenia.Config, b place.Budget, whole bool) (int, error) {
	n := plan.Trained()
	if whole && n > 0 {
		return n, nil
	}
	fixed, each := plan.StateBytes()
	for n = min(n, usualContext); n > plan.Context(); n /= 2 {
		if b.RAM == 0 {
			if int64(fixed)+int64(each)*int64(n) <= ledger.Process.Most()/4 {
				return n, nil
			}
			continue
		}
		c := *h
		c.Context, c.Budget, c.Placement.NoProbe = n, b, true
		longer, err := atenia.OpenPlan(path, &c)
		if err != nil {
			return 0, err
		}
		if pl, err := longer.Place(); err == nil && !pl.Spills() {
			return n, nil
		}
	}
	return 0, nil
}

// started is when models were created whose files do not say: the program's start.
var started = time.Now()

// headerConfig is c without what only an open model needs.
func headerConfig(c *atenia.Config) *atenia.Config {
	h := *c
	h.Budget, h.Observe, h.Decisions, h.Checkpoint = place.Budget{}, atenia.Observation{}, "", ""
	return &h
}

// load loads a model and tells those that wait for it.
func (p *Pool) load(e *entry) {
	start := time.Now()
	var i *instance
	err := fault.Call(func() (err error) {
		i, err = p.open(e)
		return err
	})
	took := time.Since(start)
	p.mu.Lock()
	e.model, e.failed = i, err
	close(e.loading)
	e.loading = nil
	if err == nil {
		if i.keep = p.idle(e); i.keep > 0 {
			p.expire(e, i.keep)
		}
	}
	p.mu.Unlock()
	if err != nil {
		p.c.Logger.Error("model not loaded", "model", e.info.Name, "err", err)
	} else {
		p.c.Logger.Info("model loaded", "model", e.info.Name, "context", i.Context(), "took", took, "share", slog.Int64Value(i.share))
	}
	if err == nil {
		p.changed(e)
	}
	if p.c.Loaded != nil {
		p.c.Loaded(e.info.Name, took, err)
	}
}

// open opens a model. One at a time: the budget is divided between those that are open.
func (p *Pool) open(e *entry) (*instance, error) {
	p.one.Lock()
	defer p.one.Unlock()
	c := p.c.Open
	c.Logger = cmp.Or(c.Logger, p.c.Logger)
	c.Adapters, c.Draft, c.Context = p.adapters(e), e.draft, cmp.Or(c.Context, e.context)
	c.Placement.Batch = p.together()
	share := int64(0)
	if c.Budget.RAM > 0 {
		r, err := p.makeRoom(e)
		if err != nil {
			return nil, err
		}
		share = r.share
		if c.Budget.RAM, c.Budget.Auto = share, false; r.mapped {
			c.Budget.RAM = 0 // the model looks itself at what there is
		}
	}
	m, err := atenia.Open(p.ctx, e.info.Path, &c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.info.Name, err)
	}
	return &instance{Model: m, share: share, used: time.Now()}, nil
}

// usualSlots is the default of [atenia.Config].Slots.
const usualSlots = 4

// Slots returns how many sequences of a model are computed at once.
func (p *Pool) Slots() int { return cmp.Or(p.c.Open.Slots, usualSlots) }

// together is for how many sequences of a model there is to be room within the budget, as
// "doctor --batch" and "plan --batch" count them: the slots of a model that is alone. Those
// of several models share the room of one each, so that more models stay loaded.
func (p *Pool) together() int {
	c := &p.c.Open
	if c.Budget.RAM == 0 || len(p.entries) > 1 || c.Placement.Batch > 0 {
		return c.Placement.Batch
	}
	return cmp.Or(c.Slots, usualSlots)
}

// A room is what a model would have of the budget.
type room struct {
	share  int64
	whole  bool // all its weights have room in memory
	mapped bool // not even streaming has, and the budget is what there is: it is mapped
}

// makeRoom returns what a model is loaded within. It unloads models that nobody uses, the
// one idle for longest first, until the model's weights have room in memory. If all others
// are in use, the model gets what is left and is streamed in part, or is mapped or refused
// where that is less than it can be streamed with.
func (p *Pool) makeRoom(e *entry) (room, error) {
	for {
		left := p.left()
		r, err := p.place(e, left)
		if err == nil && r.whole {
			return r, nil
		}
		if p.evict(e) {
			continue
		}
		if floor, ok := errors.AsType[*place.FloorError](err); ok {
			return room{}, p.refuse(e, floor, left)
		}
		return r, err
	}
}

// left is what loaded models leave of the budget.
func (p *Pool) left() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.c.Open.Budget.RAM
	for _, o := range p.entries {
		if o.model != nil {
			left -= o.model.share
		}
	}
	return left
}

// place asks the planner what a model needs within so many bytes.
func (p *Pool) place(e *entry, left int64) (room, error) {
	c := *headerConfig(&p.c.Open)
	c.Adapters, c.Draft, c.Context = p.adapters(e), e.draft, cmp.Or(c.Context, e.context)
	c.Budget, c.Placement.Batch = p.c.Open.Budget, p.together()
	c.Budget.RAM, c.Placement.NoProbe = max(left, 1), true
	plan, err := atenia.OpenPlan(e.info.Path, &c)
	if err != nil {
		return room{}, err
	}
	pl, err := plan.Place()
	if floor, ok := errors.AsType[*place.FloorError](err); ok && floor.Maps {
		return room{share: left, mapped: true}, nil
	}
	if err != nil {
		return room{}, err
	}
	r := room{share: left}
	if r.whole = !pl.Spills(); r.whole && len(p.entries) > 1 { // alone it has room for the packed form, too
		r.share = min(left, pl.RAM()+pl.RAM()/loadSlack)
	}
	return r, nil
}

// loadSlack is the share of a model beside others that is added to what the planner estimates from a header, since
// it measures the program when the model is open: an eighth.
const loadSlack = 8

// evict unloads the model that has been idle for longest, and reports whether there was
// one.
func (p *Pool) evict(but *entry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var oldest *entry
	for _, o := range p.entries {
		if o != but && o.model != nil && o.model.users == 0 && (oldest == nil || o.model.used.Before(oldest.model.used)) {
			oldest = o
		}
	}
	if oldest == nil {
		return false
	}
	p.close(oldest, oldest.model, "its memory is wanted for "+but.info.Name)
	return true
}

func (p *Pool) refuse(e *entry, floor *place.FloorError, left int64) *Problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	why := spelling.Sprintf("The model %q needs at least %s (%d bytes) of memory, and %s of the budget of %s are left.",
		e.info.Name, spelling.Size(floor.Floor), floor.Floor, spelling.Size(max(left, 0)), spelling.Size(p.c.Open.Budget.RAM))
	for _, o := range p.entries {
		if o.model != nil {
			why += spelling.Sprintf(" %q has %s and %s.", o.info.Name, spelling.Size(o.model.share), spelling.Count(o.model.users, "request"))
		}
	}
	return &Problem{Status: http.StatusServiceUnavailable, Code: "out_of_memory", Param: "model", Message: why, Retry: 5 * time.Second, Err: floor}
}

// cacheBytes returns the bytes of keys and values that loaded models hold.
func (p *Pool) cacheBytes() (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.model != nil {
			_, cache, _ := e.model.Memory()
			n += cache
		}
	}
	return n
}

// cached returns what all models' prompts began with, those that are not loaded any more
// included, and what the folder of the disk has.
func (p *Pool) cached() place.CacheStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.past
	for _, e := range p.entries {
		if e.model != nil {
			sum = plus(sum, e.model.CacheStats())
		}
	}
	return sum
}

// steps returns what steps of all models did, those that are not loaded any more included.
func (p *Pool) steps() place.StepCounts {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.pastSteps
	for _, e := range p.entries {
		if e.model != nil {
			sum = plusSteps(sum, e.model.StepCounts())
		}
	}
	return sum
}

func plusSteps(a, b place.StepCounts) place.StepCounts {
	return place.StepCounts{Dispatches: a.Dispatches + b.Dispatches, Launches: a.Launches + b.Launches}
}

// plus adds what one model counted. All share a folder, so its size is that of the one
// that saw it last.
func plus(a, b place.CacheStats) place.CacheStats {
	return place.CacheStats{
		MemoryPrompts: a.MemoryPrompts + b.MemoryPrompts, MemoryTokens: a.MemoryTokens + b.MemoryTokens,
		DiskPrompts: a.DiskPrompts + b.DiskPrompts, DiskTokens: a.DiskTokens + b.DiskTokens,
		DiskFiles: b.DiskFiles, DiskBytes: b.DiskBytes,
		ReadBytes: a.ReadBytes + b.ReadBytes, WrittenBytes: a.WrittenBytes + b.WrittenBytes,
		Damaged: a.Damaged + b.Damaged, Failed: a.Failed + b.Failed,
	}
}

// check discards the model if err says that its files changed.
func (l *Lease) check(err error) {
	if _, changed := errors.AsType[*atenia.ChangedError](err); changed {
		l.discard()
	}
}
