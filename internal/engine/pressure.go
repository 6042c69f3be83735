package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/model/file"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/observe"
	"atenia/internal/sched"
	"atenia/internal/spelling"
)

// A pressure moves what a model keeps in memory while it runs. Between two steps
// it reads how much the process may have; when that is less than what the model
// needs, or much more, it does a tick of the loop of package route: the graph is
// routed, offloading chooses what moves, and the weights are where it says
// before the next step. It is used by the scheduler's goroutine alone.
type pressure struct {
	e       *Engine
	d       *file.Description
	ctx     context.Context                    // ends when the engine is closed
	opened  *place.Placement                   // nil if the model has none
	when    place.Offload                      // weights leave memory and come back
	real    bool                               // the limit is that of the process, not one of a test
	read    func() (limit int64, stalled bool) // how much the process may have
	loop    decide.RouteLoop
	record  decide.Recorder
	next    time.Time     // of the next sample
	alarm   atomic.Int64  // a limit below this one interrupts a step; 0 = none does
	guarded chan struct{} // closed when nobody waits for the alarm any more
	tick    uint64        // samples so far
	away    int           // things that were put out of memory
	futile  int64         // the limit in which there was not enough to move
	samples uint64
	retry   uint64   // the sample before which nothing is placed again after that
	settled int64    // the limit for which there was nothing to bring back
	movable []string // ids of weights that may leave memory, in the order of use
	fixed   []string // those that the plan file has on the disk, where they stay
	idle    idle     // sequences
	ids     []string // scratch
	moved   bool     // an owner moved something since the weights were brought there
	unready error    // of the last attempt to move
	over    uint64   // samples in turn at which more was held than the limit
	ruled   ruled
	routed  []decide.Bundle // of the kernels, in the last tick
	event   observe.Event   // what moves now
	began   time.Time
}

// tickEvery is the least time between two samples. A sample takes some ten
// microseconds.
const tickEvery = 50 * time.Millisecond

// alarmEvery is the time between two looks while a step runs: others may take
// gigabytes in a second.
const alarmEvery = 10 * time.Millisecond

// urgent is how many ticks may follow each other without a step between them
// while more is needed than there is.
const urgent = 16

// respite is how many samples pass before weights that could not be moved are
// placed again: a limit below the least that a model needs may change at every
// sample, and placing takes longer than a step.
const respite = 8

// offloading is when weights are moved. Pressure 1 is that all the memory that
// the process may have is needed.
func offloading(o place.Offload) memory.OffloadConfig {
	c := memory.DefaultOffload()
	c.RAMHigh, c.RAMLow, c.Cooldown, c.MaxActions, c.Promote = float32(o.High), float32(o.Low), uint64(o.Cooldown), 64, true
	return c
}

// allowed is the part of a limit that may be used before weights leave.
func (p *pressure) allowed(limit int64) int64 { return int64(float64(limit) * p.when.High) }

// watch starts to watch the memory that an open engine may have.
func (e *Engine) watch(d *file.Description) (*pressure, error) {
	p := &pressure{e: e, d: d, opened: e.weights.placement, when: e.Plan.Config.Rules.Offload.Or(), read: e.Plan.Config.Limit, record: e.record, began: time.Now()}
	if p.read == nil {
		p.real, p.read = true, e.Plan.account.Share
	}
	p.ctx = e.running
	p.idle.p = p
	p.ruled.devices = e.devices()
	p.ruled.on = p.ruled.devices.Executors()
	p.loop = decide.RouteLoop{
		Graph: e.graph(), Memory: memory.New(memory.Config{Account: e.Plan.account}), On: p.executors(),
		Offload: memory.NewOffload(offloading(p.when)), Decider: &p.record,
		Timeline: e.Plan.Config.Observer.Ticks(),
	}
	if err := p.register(); err != nil {
		return nil, err
	}
	p.promise()
	return p, p.first()
}

// promise keeps for this model what it cannot run without, one unit of the ring
// among it: an answer that has begun goes on in it although others have taken the
// memory since.
func (p *pressure) promise() {
	c := p.placing(1)
	_, err := p.e.Plan.footprint.Place(c)
	short, ok := errors.AsType[*place.FloorError](err)
	if !ok || short.Tier != place.RAM {
		return
	}
	f := p.e.Plan.footprint
	n := short.Floor + int64(len(short.Parts)+len(f.tensors))*2*place.BlockBytes // rounded to pages,
	n += int64(len(f.model.Plans.Prefill.Plan.States)) * sched.SlabBytes         // and keys and values to slabs
	for _, x := range short.Parts {
		if x.Name == programReserveName {
			n -= x.Bytes
		}
	}
	p.e.Plan.account.Promise(n)
}

// first is the tick before the first step: it routes the kernels, and moves
// nothing, since the weights were placed just now.
func (p *pressure) first() error {
	limit, _ := p.read()
	if asked := p.e.Plan.Config.Budget.RAM; asked > 0 {
		limit = asked
	}
	s := memory.Snapshot{}
	if limit > 0 {
		s = p.snapshot(limit, p.pressed(limit, false))
	}
	written := p.loop.Timeline
	p.loop.Timeline = (*observe.Observer)(nil).Ticks() // a timeline begins with the first step
	p.rule(p.opened, s.RAM.Pressure)
	done, err := p.loop.Tick(p.ctx, 0, s, nil)
	p.loop.Timeline, p.routed = written, done.Routed
	return err
}

// guard interrupts steps during which memory becomes short: a step may take
// longer than others need to take the memory that it is computed in.
func (p *pressure) guard() {
	defer close(p.guarded)
	defer ledger.Relieve()()
	t := time.NewTicker(alarmEvery)
	defer t.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-t.C:
		}
		if limit, _ := p.read(); limit > 0 && limit < p.alarm.Load() {
			p.e.Sched.Interrupt()
		}
	}
}

// close ends the watch; the scheduler must have stopped.
func (p *pressure) close() {
	if p.guarded != nil {
		<-p.guarded
	}
}

// packedID names the packed form of the weights.
const packedID = "packed weights"

// register tells the manager what may move.
func (p *pressure) register() error {
	home, streamed := memory.RAM, p.e.weights.placement
	for i := range p.e.Plan.footprint.tensors {
		t := &p.e.Plan.footprint.tensors[i]
		if t.Class == place.Vector || t.Held != "" || p.e.Plan.Config.NoMap {
			continue
		}
		tier := memory.RAM
		if streamed != nil {
			if at, ok := streamed.Tensor(t.Name); ok {
				tier = at.Tier
			}
		}
		if tier == memory.SSD && p.e.Plan.Config.PlacementFile != "" {
			p.fixed = append(p.fixed, t.Name)
			continue
		}
		if err := p.loop.Memory.RegisterOwned(t.Name, uint64(t.Bytes), tier, p); err != nil {
			return err
		}
		if tier == memory.SSD {
			p.away++
			p.loop.Offload.SetMark(t.Name, memory.OffloadMark{From: &home})
		}
		p.movable = append(p.movable, t.Name)
	}
	if n := p.e.weights.packed(p.e.packing); n > 0 {
		return p.loop.Memory.RegisterOwned(packedID, uint64(n), memory.RAM, p)
	}
	return nil
}

// MoveOwned implements [memory.Owner]: the weights are moved together, before
// the next step.
func (p *pressure) MoveOwned(context.Context, string, memory.Tier, memory.Tier) error {
	p.moved = true
	return nil
}

// Lends implements [memory.Owner]: the ring has a weight while its kernel runs.
func (p *pressure) Lends(id string) bool { return id != packedID }

// between is called between two steps.
func (p *pressure) between(pause *sched.Pause) {
	now := time.Now()
	if now.Before(p.next) && p.real && !pause.Interrupted {
		return
	}
	p.next = now.Add(tickEvery)
	p.tick++
	p.samples++
	p.alarm.Store(0)
	limit, stalled := p.read()
	if asked := p.e.Plan.Config.Budget.RAM; asked > 0 && limit > 0 {
		limit = min(limit, asked)
	}
	if limit > 0 {
		p.e.Plan.account.SetLimit(limit)
		p.turn(p.pressed(limit, stalled), limit, pause)
		p.warn(limit)
		alarm := int64(float64(p.need()) / p.when.High)
		if p.futile > 0 { // less would not be moved at once, so it need not interrupt
			alarm = min(alarm, min(p.futile, limit)*(headroom-1)/headroom)
		}
		p.alarm.Store(alarm)
	}
}

// warn says once that what the model cannot run without is more than the limit: when
// weights have had time to leave.
func (p *pressure) warn(limit int64) {
	over := max(p.e.Plan.account.Over(), ledger.Process.Over())
	if over == 0 {
		p.over = 0
		return
	}
	if p.over++; p.over == respite {
		p.e.Plan.note("memory fell to %s while the model ran, which is %s less than it needs: it went on with what it needs", spelling.Size(limit), spelling.Size(over))
	}
}

// pressed is the pressure when need is compared with a limit.
func (p *pressure) pressed(limit int64, stalled bool) float32 {
	need := p.need()
	v := min(float32(float64(need)/float64(limit)), 1)
	switch over := p.e.Plan.account.Over() > 0; {
	case need > limit || over || stalled:
		v = 1
	case v == 1: // by rounding
		v = fullPressure
	}
	return v
}

// snapshot is what a tick is told of a pressure. Only a sample that moves
// something has ticks, so that others allocate nothing.
func (p *pressure) snapshot(limit int64, v float32) memory.Snapshot {
	total, free := uint64(limit), uint64(max(0, limit-p.need()))
	return memory.Snapshot{RAM: memory.Status{Total: &total, Free: &free, Pressure: &v}}
}

// fullPressure is that of a memory in which everything has just room.
const fullPressure = 0.999

// need is the memory that the process needs with the weights where they are.
func (p *pressure) need() int64 {
	w := p.e.weights
	packed := w.packed(p.e.packing)
	if w.placement != nil {
		n := w.placement.RAM() + packed
		if packed > 0 && !p.e.Plan.Config.NoMap { // in place of what is mapped
			n -= p.e.packing.Source
		}
		return n
	}
	account := p.e.Plan.account // of which a placement has reserved the program, if there was one
	n := p.e.Plan.footprint.runtime() + account.Held() - account.Of(ledger.Program)
	if packed == 0 {
		n += p.e.Plan.footprint.bytes()
	}
	if d := p.e.draft; d != nil {
		n += d.mapped
	}
	return n
}

// turn does ticks if something should move, and moves it.
func (p *pressure) turn(v float32, limit int64, pause *sched.Pause) {
	high, low := v >= float32(p.when.High), v <= float32(p.when.Low)
	if !high && (!low || p.away+p.idle.away == 0 || limit-limit/headroom <= p.settled) {
		return
	}
	if high {
		if ids := p.idle.update(pause, memory.RAM, p.ids[:0]); len(ids) > 0 {
			began := p.begin()
			done, err := p.loop.Tick(p.ctx, p.tick, p.snapshot(limit, v), ids)
			p.note("idle sequences stay in memory", err)
			p.count(done.Done.Done)
			p.report(observe.Left, limit, began)
			p.tick++
		}
		if v = p.pressed(limit, false); v < float32(p.when.High) {
			return // weights do not move because programs wait: there is room for them
		}
		if limit <= p.futile && limit > p.futile-p.futile/headroom || p.samples < p.retry {
			return
		}
		p.retry = p.samples + respite
	}
	s := p.snapshot(limit, v)
	p.loop.On = p.executors()
	p.record.At(p.tick)
	kind, began := observe.Back, p.begin()
	if high {
		kind = observe.Left
	}
	to, err := p.target(limit, high)
	if err != nil {
		p.futile = limit
		p.note("memory is short, and the weights stay where they are", err)
		p.stays(limit, fmt.Sprintf("%v, with steps of up to %s as the model was opened", err, spelling.Count(p.e.Plan.Effective().BatchTokens, "token")))
		return
	}
	for range urgent {
		ids := p.candidates(to, high)
		if len(ids) == 0 && low {
			ids = p.idle.update(pause, memory.SSD, ids)
		}
		if len(ids) == 0 {
			p.settled = limit
			break
		}
		ticked, err := p.loop.Tick(p.ctx, p.tick, s, ids)
		if err != nil {
			p.note("moving weights", err)
			break
		}
		done := ticked.Done.Done
		p.routed = ticked.Routed
		p.count(done)
		if len(done) == 0 {
			if high && !p.when.Wait { // all that could move has moved just now: memory does not wait
				p.now(s, ids)
			}
			break
		}
		if low {
			break // the next step waits for no more than was read for this batch
		}
		p.tick++
	}
	if !p.moved {
		if high {
			p.futile = limit
			p.stays(limit, "nothing that is left in memory may move")
		}
		p.report(kind, limit, began) // of sequences
		return
	}
	p.rule(p.asManaged(to), &v)
	p.moved, p.settled, p.futile, p.retry = false, 0, 0, 0
	p.apply(pause, to, limit)
	p.report(kind, limit, began)
}

// now moves weights out of memory whenever they moved last, and marks them as
// having moved: they come back later, like others.
func (p *pressure) now(s memory.Snapshot, ids []string) {
	done, err := p.loop.Offload.Apply(p.ctx, p.record.OffloadNow(p.loop.Offload, s, ids, p.loop.Memory), p.loop.Memory)
	p.count(done.Done)
	p.note("moving weights", err)
	home, tick := memory.RAM, p.tick
	for _, a := range done.Done {
		p.loop.Offload.SetMark(a.ID, memory.OffloadMark{Last: &tick, From: &home})
	}
}

// note logs a fault once.
func (p *pressure) note(what string, err error) {
	if err == nil || p.ctx.Err() != nil {
		return
	}
	if p.unready == nil || p.unready.Error() != err.Error() {
		p.e.Plan.Config.Logger.Warn(what, "err", err, "held_bytes", p.e.Plan.account.Held(), "cache_bytes", p.e.Plan.account.Of(ledger.Cache))
	}
	p.unready = err
}
