package lane

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
)

// errClosed is returned by a closed executor.
var errClosed = errors.New("the executor is closed")

// Work is what a task does. Do must return soon, within tens of milliseconds,
// after ctx ends. arg is passed through from the task.
type Work interface {
	Do(ctx context.Context, arg int) error
}

// Func is a [Work] without an argument.
type Func func(ctx context.Context) error

// Do calls f.
func (f Func) Do(ctx context.Context, _ int) error { return f(ctx) }

// A Task is work with its description. Its kind selects the lane: Io, Transfer
// or Compute; computations for the queue Gpu go to Device.
type Task struct {
	QueuedTask
	Tensor string // the tensor concerned, if any
	Bytes  uint64 // bytes moved
	Work   Work   // nil: no work
	Arg    int
	Part   bool // of a task that has a line in the timeline: this one has none
	Idle   bool // of a task that [Executor.Enter] began: its worker waits
}

// ErrDropped is returned by work that found itself no longer wanted and did
// nothing. It fails no group.
var ErrDropped = errors.New("no longer wanted")

// A Config sets the number of workers of each lane. Its zero value works.
type Config struct {
	Readers, Movers int // workers of Io and Transfer; 0 means 2 and 1
	// Computers are workers of Compute; 0 means 1. If negative, those who call
	// [Executor.Enter] compute, and movers run what is submitted to Compute.
	Computers int
	Devices   int // workers of Device; if 0, Compute runs its tasks
	Window    int // tasks in flight; 0 means 256
	// Clock returns the times of events and must be safe for concurrent use; nil is
	// the time since New.
	Clock func() time.Duration
	Sink  Sink // nil discards events
	// Timeline, if not nil, receives the submissions as lines, and replaces the
	// workers: tasks run as they are submitted, in that order.
	Timeline *Timeline
	// Workers keeps the workers beside a Timeline.
	Workers bool
}

// workers returns the number of workers of each lane.
func (c *Config) workers() (n [laneCount]int) {
	or := func(n, zero int) int {
		if n == 0 {
			return zero
		}
		return max(n, 0)
	}
	return [laneCount]int{max(1, or(c.Readers, 2)), max(1, or(c.Movers, 1)), or(c.Computers, 1), or(c.Devices, 0)}
}

// An Executor runs tasks on its lanes. It is safe for concurrent use, but its
// tasks must not call it.
type Executor struct {
	inTurn   bool // tasks run as they are submitted
	clock    func() time.Duration
	sink     Sink
	events   sync.Mutex // serializes clock readings and calls of the sink
	timeline *Timeline
	turn     sync.Mutex // with a timeline, admits one Run at a time

	mu     sync.Mutex
	room   sync.Cond     // a slot has become free, or a group has failed
	ended  sync.Cond     // a group has no tasks left, or has ended
	last   uint64        // id of the newest task
	inline atomic.Uint64 // counts tasks that their callers run
	slots  []slot        // task id is in slots[id%len(slots)]
	lanes  [laneCount]queue
	has    [laneCount]bool
	busy   [laneCount]int // workers that run a task
	most   [laneCount]int // of them, at a time
	groups int
	closed bool
	wg     sync.WaitGroup

	readers int // of lane Io
}

// A slot holds a task from submission to completion.
type slot struct {
	id      uint64
	group   *Group // nil: free
	task    Task
	pending int   // unfinished dependencies
	next    []int // slots of dependent tasks
}

// A queue is a FIFO of slots whose tasks are ready.
type queue struct {
	ready   []int
	head, n int
	wake    sync.Cond
}

func (q *queue) push(slot int) {
	q.ready[(q.head+q.n)%len(q.ready)] = slot
	q.n++
	q.wake.Signal()
}

func (q *queue) pop() int {
	s := q.ready[q.head]
	q.head = (q.head + 1) % len(q.ready)
	q.n--
	return s
}

// New starts the workers. The caller must call [Executor.Close].
func New(c Config) *Executor {
	x := &Executor{clock: c.Clock, sink: c.Sink, timeline: c.Timeline, inTurn: c.Timeline != nil && !c.Workers}
	if x.clock == nil {
		start := time.Now()
		x.clock = func() time.Duration { return time.Since(start) }
	}
	x.room.L, x.ended.L = &x.mu, &x.mu
	if x.inTurn {
		x.has = [laneCount]bool{true, true, true, true}
		return x
	}
	if c.Window <= 0 {
		c.Window = 256
	}
	x.slots = make([]slot, c.Window)
	const usual = 2 // tasks that wait for one; more are allocated
	next := make([]int, usual*c.Window)
	for i := range x.slots {
		x.slots[i].next = next[usual*i : usual*i : usual*(i+1)]
	}
	x.readers = c.workers()[IO]
	for l, n := range c.workers() {
		q := &x.lanes[l]
		q.ready, q.wake.L, x.has[l], x.most[l] = make([]int, c.Window), &x.mu, n > 0, n
		for w := range n {
			x.wg.Go(func() { x.work(Lane(l), w) })
		}
	}
	return x
}

// Close waits until every Run has returned and every open group is closed, and
// stops the workers.
func (x *Executor) Close() {
	x.mu.Lock()
	x.closed = true
	for x.groups > 0 {
		x.ended.Wait()
	}
	for l := range x.lanes {
		x.lanes[l].wake.Broadcast()
	}
	if x.timeline != nil {
		x.timeline.Run()
	}
	x.mu.Unlock()
	x.wg.Wait()
}

// work is the loop of a worker. If a task calls [runtime.Goexit], the worker
// ends and another replaces it.
func (x *Executor) work(l Lane, worker int) {
	fault.Trap()
	var s *slot
	defer func() {
		if s != nil {
			x.mu.Lock()
			x.busy[l]--
			x.finish(s, errExited)
			x.mu.Unlock()
			x.wg.Go(func() { x.work(l, worker) })
		}
	}()
	for s = x.next(l, nil, nil); s != nil; {
		s = x.next(l, s, x.do(s.group.ctx, l, worker, s.id, &s.task))
	}
}

// next finishes task done, if not nil, and waits for the next one that is ready;
// nil means that the executor is closed. Tasks of failed groups are skipped.
func (x *Executor) next(l Lane, done *slot, err error) *slot {
	x.mu.Lock()
	defer x.mu.Unlock()
	if done != nil {
		x.busy[l]--
		x.finish(done, err)
	}
	q := &x.lanes[l]
	for {
		for q.n == 0 || x.busy[l] >= x.most[l] {
			if q.n == 0 && x.closed && x.groups == 0 {
				return nil
			}
			q.wake.Wait()
		}
		s := &x.slots[q.pop()]
		if s.group.err == nil {
			x.busy[l]++
			return s
		}
		x.finish(s, nil)
	}
}

// SetReaders bounds the tasks of lane Io that run at a time, from the next one on,
// to n of [Config].Readers, at least 1: what a disk does best with depends on who
// else reads.
func (x *Executor) SetReaders(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.most[IO] = max(1, min(n, x.readers))
	x.lanes[IO].wake.Broadcast()
}

// Readers returns how many tasks of lane Io may run at most.
func (x *Executor) Readers() int { return x.readers }

// errExited is the error of a task that called [runtime.Goexit].
var errExited = errors.New("a task has ended its goroutine")

// do runs a task and emits its two events.
func (x *Executor) do(ctx context.Context, l Lane, worker int, id uint64, t *Task) (err error) {
	e := Event{ID: id, Lane: l, Worker: worker, Name: t.Name, Tensor: t.Tensor, Bytes: t.Bytes, Idle: t.Idle}
	x.emit(e)
	err = errExited
	defer func() {
		e.Err, e.Phase = err, End
		x.emit(e)
	}()
	return call(ctx, t)
}

func (x *Executor) emit(e Event) {
	if x.sink == nil {
		return
	}
	x.events.Lock()
	defer x.events.Unlock()
	e.At = x.clock()
	x.sink.Event(e)
}

// finish frees the slot of a task that ran or was skipped, and releases its
// dependents. The caller holds the lock.
func (x *Executor) finish(s *slot, err error) {
	g := s.group
	if err != nil && !g.lasting && !errors.Is(err, ErrDropped) {
		g.fail(err)
	}
	s.group, s.task = nil, Task{}
	for _, n := range s.next {
		x.count(n, -1)
	}
	s.next = s.next[:0]
	x.room.Broadcast()
	if g.open--; g.open == 0 {
		x.ended.Broadcast()
	}
}

// count changes the number of unfinished dependencies of a slot, and queues it
// when there are none left.
func (x *Executor) count(slot, by int) {
	s := &x.slots[slot]
	s.pending += by
	if s.pending == 0 {
		l := x.laneOf(&s.task)
		if !x.has[l] {
			l = Transfer
		}
		x.lanes[l].push(slot)
	}
}

func (x *Executor) laneOf(t *Task) Lane {
	switch {
	case t.Kind == IOTask:
		return IO
	case t.Kind == TransferTask:
		return Transfer
	case t.Queue == GPU && x.has[Device]:
		return Device
	}
	return Compute
}
