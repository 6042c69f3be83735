package sched

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/exec"
	"atenia/internal/fault"
)

// A Scheduler serves requests with one executor, which it owns.
type Scheduler struct {
	x       *exec.Executor
	shared  atomic.Pointer[exec.Executor] // x, for other goroutines
	broken  error                         // why there is no executor; nil if there is one
	changed bool                          // broken says that the model's files have changed, and stays
	intact  func() error
	tune    func(rows int, decode bool) (threads int)
	between func(*Pause)
	rest    Pause
	vocab   int
	context int           // tokens that a sequence may have
	steps   atomic.Uint64 // computed

	admission admission
	batch     batch
	drafts    drafts
	storage   storage
	kept      kept
	delivery  delivery

	mu      sync.Mutex    // guards calls
	calls   []func()      // to run between steps
	wake    chan struct{} // capacity one: something changed since the loop last checked
	stopped chan struct{} // closed when the loop has ended
}

// New starts a scheduler on an executor, which [Scheduler.Close] will close. If
// New fails, the caller keeps the executor.
func New(x *exec.Executor, cfg Config) (*Scheduler, error) {
	s, err := newScheduler(x, cfg)
	if err != nil {
		return nil, err
	}
	go s.loop()
	return s, nil
}

func newScheduler(x *exec.Executor, cfg Config) (*Scheduler, error) {
	if cfg.Slots == 0 {
		cfg.Slots = 4
	}
	// Every step must have room for one row of every running sequence.
	ec := x.Config()
	if most := min(ec.MaxTokens, ec.MaxLogits); cfg.Slots < 1 || cfg.Slots > most {
		return nil, fmt.Errorf("sched config: Slots is %d, the executor takes 1 to %d", cfg.Slots, most)
	}
	if cfg.SnapshotTokens < 0 {
		return nil, fmt.Errorf("sched config: SnapshotTokens is %d, want 0 or more", cfg.SnapshotTokens)
	}
	if cfg.CacheBytes < 0 {
		return nil, fmt.Errorf("sched config: CacheBytes is %d, want 0 or more", cfg.CacheBytes)
	}
	s := &Scheduler{
		x: x, vocab: x.Vocab(), between: cfg.Between, tune: cfg.Tune, intact: cfg.Intact,
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
		admission: newAdmission(), batch: newBatch(&cfg), drafts: newDrafts(&cfg, ec), delivery: newDelivery(&cfg),
	}
	s.shared.Store(x)
	s.batch.step.Stop = &s.batch.stop
	if err := s.makeStorage(&cfg); err != nil {
		return nil, err
	}
	s.kept = newKept(&cfg, len(s.storage.pools))
	if cfg.Draft != nil || cfg.Early {
		var err error
		if s.drafts.model, err = newDrafter(&cfg, s.vocab, ec); err != nil {
			return nil, fmt.Errorf("draft model: %w", err)
		}
	}
	for range cfg.Slots {
		s.admission.slots = append(s.admission.slots, s.newSlot())
	}
	return s, nil
}

// Close ends all requests with [ErrClosed], waits for the step in flight and
// closes the executor. It may be called more than once.
func (s *Scheduler) Close() {
	s.admission.close()
	s.kick()
	s.cancelStep()
	<-s.stopped
}

// CacheBytes returns the memory that keys and values take now.
func (s *Scheduler) CacheBytes() int64 { return s.storage.held.Load() }

// Migrations is [exec.Executor.Migrations].
func (s *Scheduler) Migrations() int64 { return s.shared.Load().Migrations() }

// loop owns all state except the queue.
func (s *Scheduler) loop() {
	defer close(s.stopped)
	idle := time.NewTicker(idleTick)
	defer idle.Stop()
	defer s.stopAhead()
	if s.between == nil {
		idle.Stop()
	}
	if err := s.serve(idle.C); err != nil {
		s.crash(err)
		return
	}
	s.shutdown()
}

// serve takes steps until the scheduler is closed; err is a panic of one.
func (s *Scheduler) serve(idle <-chan time.Time) (err error) {
	defer fault.Catch(&err)
	patience := time.NewTimer(idleTick)
	patience.Stop()
	stuck := false
	for due := true; !s.admission.isClosed(); { // a pause: one between two steps, however often readers wake the loop
		s.runCalls()
		if !s.awaitsReaders() {
			if due {
				s.pause()
			}
			if due = s.turn(); due {
				continue
			}
		}
		if now := s.stuck(); now && !stuck {
			patience.Reset(idleTick)
			stuck = true
		} else if !now {
			stuck = false
		}
		select {
		case <-s.delivery.read:
		case <-s.wake:
			due = true
		case <-idle:
			due = true
		case <-patience.C:
			if stuck = false; s.stuck() {
				s.requeue()
			}
		}
	}
	return nil
}

// crash ends every request, those to come included, with the panic of a step. It
// frees nothing: what the step left may be in any condition.
func (s *Scheduler) crash(err error) {
	for _, st := range s.admission.drain(err) {
		st.end("", err)
	}
	for _, sl := range s.admission.slots {
		if st := sl.st; st != nil {
			sl.st = nil
			st.end("", err)
		}
	}
}

// kick wakes the loop.
func (s *Scheduler) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// cancelStep ends the step in flight early if all its requests were cancelled: with
// weights streamed from disk a step may take long. It is safe for concurrent
// use.
func (s *Scheduler) cancelStep() {
	if s.batch.stopUnwanted(&s.admission) {
		s.shared.Load().Wake()
	}
}

// endCancelled ends cancelled requests, running or waiting.
func (s *Scheduler) endCancelled() {
	for _, sl := range s.admission.slots {
		if sl.st == nil {
			continue
		}
		if why := sl.st.cancelled.Load(); why != nil {
			sl.finish("", *why)
		}
	}
	for _, st := range s.admission.takeCancelled() {
		st.end("", *st.cancelled.Load())
	}
}

// ready returns why no request can be computed, nil if it can.
func (s *Scheduler) ready() error {
	if s.broken == nil && s.intact != nil {
		if err := s.intact(); err != nil {
			s.rejectAll(err)
		}
	}
	return s.broken
}

// rejectAll ends every request because the model's files have changed, those to come
// included: what was computed from them, and what could be, is of no model.
func (s *Scheduler) rejectAll(err error) {
	s.broken, s.changed = err, true
	for _, sl := range s.admission.slots {
		if !sl.idle() {
			sl.finish("", err)
		}
	}
}

// rejectIfChanged returns err, after which no request can be computed if it is that the model's
// files have changed.
func (s *Scheduler) rejectIfChanged(err error) error {
	if _, changed := errors.AsType[*fault.ChangedError](err); changed {
		s.rejectAll(err)
	}
	return err
}

// shutdown ends every request and frees everything.
func (s *Scheduler) shutdown() {
	for _, sl := range s.admission.slots {
		if sl.st != nil {
			sl.finish("", ErrClosed)
		}
	}
	s.saveAll()
	for _, sl := range s.admission.slots {
		sl.dropSpill()
		sl.dropSnapshots(0)
		for _, x := range sl.states {
			_ = x.Deinit() // allowed in every lifecycle
		}
	}
	s.kept.memory.clear()
	for _, p := range s.storage.pools {
		p.Close()
	}
	if s.drafts.model != nil {
		for _, sl := range s.admission.slots {
			sl.shadow.empty()
		}
		s.drafts.model.close()
	}
	s.storage.held.Store(0)
	s.x.Close()
	s.delivery.publish(nil)
	for _, st := range s.admission.drain(nil) {
		st.end("", ErrClosed)
	}
}
