package sched

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/exec"
	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/kv"
	"atenia/internal/sched/states"
	"atenia/internal/store/sequence"
)

// A Config sizes a scheduler. The zero value works.
type Config struct {
	Slots      int   // concurrent sequences; 0 = 4
	CacheBytes int64 // memory for keys and values of all states; 0 = no limit
	// KeepBytes is how much of it ended requests may keep whose slots were given to
	// others; 0 = 256 MiB, at most half of CacheBytes; negative = nothing.
	KeepBytes int64
	// Account is what keys and values are reserved in.
	Account *ledger.Account
	// Watch, if not nil, is called after every step, before the next one.
	Watch func(StepInfo)
	// Between, if not nil, is called between two steps, and about every
	// [IdleTick] while there are none, with what it may do. It must be quick.
	Between func(*Pause)
	// PromptRows is the most rows of prompts in a step that also has rows of answers;
	// 0 = so many that the step takes at most about twice as long as without them.
	PromptRows int
	// Tune, if not nil, is called before every step with its rows and whether it
	// only decodes, and returns how many threads compute it; 0 = all.
	Tune func(rows int, decode bool) (threads int)
	// SnapshotTokens is after how many tokens the states of a sequence are copied
	// that keep no positions apart (recurrent layers), so that another request may
	// continue there; 0 = 256. Snapshots is how many copies a sequence keeps; 0 =
	// 4, negative = none. A copy is also taken before the last token of a prompt.
	SnapshotTokens, Snapshots int
	// Intact, if not nil, is asked when a request begins and when it ends. Its error is
	// that the model's files are not those any more that were opened: all requests end
	// with it, those to come included.
	Intact func() error
	// Speculate is that of requests which leave it to the scheduler; [SpeculateUsual]
	// is [SpeculateOff].
	Speculate Speculation
	// Drafts is how many tokens are drafted for a request and step, if there are so
	// many; 0 = as many as are measured to pay.
	Drafts int
	// Draft, if not nil, drafts tokens where that is measured to pay: a model with the
	// same tokens, whose steps have a row for each slot. The scheduler closes it.
	Draft *exec.Executor
	// Early drafts with the first layers of the model itself, if the executor has a program
	// of them: [exec.Executor.Early]. It excludes Draft.
	Early bool
	// DraftBytes is the memory for its keys and values, beside CacheBytes; 0 = no limit.
	DraftBytes int64
	// Remembered are sequences that were computed before, by another process.
	Remembered []Remembered
	// Disk, if not nil, is where sequences that left their slots are written, and read
	// from when a prompt begins like one. The scheduler does not close it.
	Disk *sequence.Folder
	// Key returns what keys and values depend on beside the tokens. Files of sequences
	// have it, and those with another are refused. It is called when it is needed, from
	// any goroutine. nil = a key of zeros.
	Key func() sequence.Key
	// Warn, if not nil, is told what is wrong with files.
	Warn func(what string, err error)
}

// IdleTick is how often [Config.Between] is called while nothing is computed.
const IdleTick = 200 * time.Millisecond

// SlabBytes is the least that is reserved at a time for keys and values.
const SlabBytes = kv.SlabBytes

// A StepInfo describes a computed step.
type StepInfo struct {
	Start  time.Time
	Took   time.Duration
	Rows   int  // tokens of all sequences
	Decode bool // every sequence had one row, beside those of drafted tokens

	Drafted, Accepted int           // rows of drafted tokens, and how many of them were accepted
	Drafting          time.Duration // of the draft model, before the step

	Threads int // that computed it
	Past    int // tokens of its sequences, each counted once: those whose keys and values it reads
	Err     error
}

// A Scheduler serves requests with one executor, which it owns.
type Scheduler struct {
	x       *exec.Executor
	shared  atomic.Pointer[exec.Executor] // x, for other goroutines
	broken  error                         // why there is no executor; nil if there is one
	lost    bool                          // broken says that the model's files have changed, and stays
	intact  func() error
	vocab   int
	context int
	pools   []*states.Pool
	marking bool    // a state keeps no positions apart: snapshots are taken
	scoped  bool    // a state belongs to its request, and with it what follows from it: sequences are not shared
	every   int     // tokens between two of them
	most    int     // snapshots of a sequence
	slots   []*slot // in the order of their last admission
	clock   uint64  // admission counter
	ended   bool    // a request ended since the last step was filled
	step    exec.Step
	answers int           // rows of the step that were set aside for decoding
	prompts int           // rows of prompts that it may still have
	owners  []*slot       // owner of each run of the step
	rows    []rowOwner    // owner of each requested row of logits
	steps   atomic.Uint64 // computed
	named   atomic.Uint64 // requests that were given an id
	held    atomic.Int64  // bytes of all caches, read by other goroutines
	gap     gap
	wait    wait // for what may come next

	speculation Speculation // of requests that leave it open
	propose     func(sl *slot, ids []int32) (draft []int32, kind int)
	gain        gain
	drafter     *drafter // nil = no draft model
	drafting    []*slot  // that have drafts in the step, or a guess
	extra       int      // rows of drafts in the step
	info        StepInfo

	kept    kept
	plain   bool // every state is addressed by position and has no window: a sequence serves every prompt that its beginnings do
	watch   func(StepInfo)
	between func(*Pause)
	rest    Pause
	tune    func(rows int, decode bool) int
	known   []Remembered
	disk    disk

	stop      atomic.Bool // tells the step in flight to stop because all its requests were cancelled
	mu        sync.Mutex
	running   []*slot // with rows in the step in flight; nil between steps
	arrivals  uint64
	clients   map[string]*client
	queue     []*Stream // oldest first
	calls     []func()  // to run between steps
	closed    bool
	view      []Status   // of the slots
	decisions []Decision // a ring once it is full, which begins at oldest
	oldest    int
	crashed   error         // the panic of a step, which has closed the scheduler
	wake      chan struct{} // capacity one: something changed since the loop last checked
	read      chan struct{} // capacity one: a reader may have caught up
	stopped   chan struct{} // closed when the loop has ended
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
		x: x, vocab: x.Vocab(), watch: cfg.Watch, between: cfg.Between, tune: cfg.Tune, known: cfg.Remembered, intact: cfg.Intact,
		wake: make(chan struct{}, 1), read: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	s.every, s.most = cmp.Or(cfg.SnapshotTokens, 256), max(0, cmp.Or(cfg.Snapshots, 4))
	s.gap = gap{fixed: cfg.PromptRows, plain: make([]time.Duration, cfg.Slots+1), rows: gapRows}
	s.speculation, s.propose, s.drafting = cfg.Speculate, lookUp, make([]*slot, 0, cfg.Slots)
	s.gain = gain{fixed: cfg.Drafts, times: times{took: make([]timed, min(ec.MaxTokens, ec.MaxLogits)+1)}}
	s.clients = map[string]*client{}
	s.shared.Store(x)
	s.step.Stop = &s.stop
	if err := s.makeCaches(cfg.CacheBytes, cfg.Account); err != nil {
		return nil, err
	}
	s.context = s.capacity()
	s.kept = newKept(cfg.KeepBytes, cfg.CacheBytes, len(s.pools))
	s.disk = newDisk(&cfg)
	if cfg.Draft != nil || cfg.Early {
		var err error
		if s.drafter, err = newDrafter(&cfg, s.vocab, ec); err != nil {
			return nil, fmt.Errorf("draft model: %w", err)
		}
	}
	for range cfg.Slots {
		s.slots = append(s.slots, s.newSlot())
	}
	return s, nil
}

// Close ends all requests with [ErrClosed], waits for the step in flight and
// closes the executor. It may be called more than once.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.kick()
	s.cancelStep()
	<-s.stopped
}

// CacheBytes returns the memory that keys and values take now.
func (s *Scheduler) CacheBytes() int64 { return s.held.Load() }

// Migrations is [exec.Executor.Migrations].
func (s *Scheduler) Migrations() int64 { return s.shared.Load().Migrations() }

// loop owns all state except the queue.
func (s *Scheduler) loop() {
	defer close(s.stopped)
	idle := time.NewTicker(IdleTick)
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
	patience := time.NewTimer(IdleTick)
	patience.Stop()
	stuck := false
	for due := true; !s.isClosed(); { // a pause: one between two steps, however often readers wake the loop
		s.runCalls()
		if !s.readersFirst() {
			if due {
				s.pause()
			}
			if due = s.turn(); due {
				continue
			}
		}
		if now := s.stuck(); now && !stuck {
			patience.Reset(IdleTick)
			stuck = true
		} else if !now {
			stuck = false
		}
		select {
		case <-s.read:
		case <-s.wake:
			due = true
		case <-idle:
			due = true
		case <-patience.C:
			if stuck = false; s.stuck() {
				s.giveUp()
			}
		}
	}
	return nil
}

// crash ends every request, those to come included, with the panic of a step. It
// frees nothing: what the step left may be in any condition.
func (s *Scheduler) crash(err error) {
	s.mu.Lock()
	s.closed, s.crashed = true, err
	waiting := s.queue
	s.queue = nil
	s.mu.Unlock()
	for _, st := range waiting {
		st.end("", err)
	}
	for _, sl := range s.slots {
		if st := sl.st; st != nil {
			sl.st = nil
			st.end("", err)
		}
	}
}

// ending returns why the scheduler takes no requests any more.
func (s *Scheduler) ending() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.crashed, ErrClosed)
}

// kick wakes the loop.
func (s *Scheduler) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Scheduler) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Scheduler) enqueue(st *Stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.arrivals++
	st.number, st.came, st.client = s.arrivals, s.steps.Load(), s.client(st.req.Client)
	s.queue = append(s.queue, st)
	s.kick()
	return true
}

// start records whose step is about to run and whether all of them have been
// cancelled; over records that the step has ended.
func (s *Scheduler) start() {
	s.publish()
	s.mu.Lock()
	s.running = s.owners
	s.stop.Store(s.allCancelled())
	s.mu.Unlock()
}

func (s *Scheduler) over() {
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
}

// allCancelled reports whether all requests of the running step have been cancelled.
func (s *Scheduler) allCancelled() bool {
	return s.closed || !slices.ContainsFunc(s.running, func(sl *slot) bool { return sl.st.dropped.Load() == nil })
}

// cancelStep ends the step in flight early if all its requests were cancelled: with
// weights streamed from disk a step may take long. It is safe for concurrent
// use.
func (s *Scheduler) cancelStep() {
	s.mu.Lock()
	end := s.running != nil && s.allCancelled()
	if end {
		s.stop.Store(true)
	}
	s.mu.Unlock()
	if end {
		s.shared.Load().Wake()
	}
}

// dropCancelled ends cancelled requests, running or waiting.
func (s *Scheduler) dropCancelled() {
	for _, sl := range s.slots {
		if sl.st == nil {
			continue
		}
		if why := sl.st.dropped.Load(); why != nil {
			sl.finish("", *why)
		}
	}
	var gone []*Stream
	s.mu.Lock()
	s.queue = slices.DeleteFunc(s.queue, func(st *Stream) bool {
		drop := st.dropped.Load() != nil
		if drop {
			gone = append(gone, st)
		}
		return drop
	})
	s.mu.Unlock()
	for _, st := range gone {
		st.end("", *st.dropped.Load())
	}
}

// ready returns why no request can be computed, nil if it can.
func (s *Scheduler) ready() error {
	if s.broken == nil && s.intact != nil {
		if err := s.intact(); err != nil {
			s.lose(err)
		}
	}
	return s.broken
}

// lose ends every request because the model's files have changed, those to come
// included: what was computed from them, and what could be, is of no model.
func (s *Scheduler) lose(err error) {
	s.broken, s.lost = err, true
	for _, sl := range s.slots {
		if !sl.idle() {
			sl.finish("", err)
		}
	}
}

// borne returns err, after which no request can be computed if it is that the model's
// files have changed.
func (s *Scheduler) borne(err error) error {
	if _, changed := errors.AsType[*fault.ChangedError](err); changed {
		s.lose(err)
	}
	return err
}

// shutdown ends every request and frees everything.
func (s *Scheduler) shutdown() {
	for _, sl := range s.slots {
		if sl.st != nil {
			sl.finish("", ErrClosed)
		}
	}
	s.saveAll()
	for _, sl := range s.slots {
		sl.dropSpill()
		sl.unmark(0)
		for _, x := range sl.states {
			_ = x.Deinit() // allowed in every lifecycle
		}
	}
	s.dropKept()
	for _, p := range s.pools {
		p.Close()
	}
	if s.drafter != nil {
		for _, sl := range s.slots {
			sl.shadow.empty()
		}
		s.drafter.close()
	}
	s.held.Store(0)
	s.x.Close()
	s.mu.Lock()
	waiting := s.queue
	s.queue, s.view = nil, nil
	s.mu.Unlock()
	for _, st := range waiting {
		st.end("", ErrClosed)
	}
}
