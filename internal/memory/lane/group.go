package lane

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"atenia/internal/fault"
)

// A panicError is the panic of a task.
type panicError struct {
	Value any
	Stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// A Group is the set of tasks of one [Executor.Run], or of [Executor.Open].
type Group struct {
	x       *Executor
	ctx     context.Context // of the tasks; ends with Run or Close
	cancel  context.CancelFunc
	open    int   // unfinished tasks
	err     error // the first error
	lasting bool  // errors of tasks are their own
}

var _ Submitter = (*Group)(nil)

// Run calls submit, waits until all tasks it submitted have ended, and returns
// the first error: of a task, of submit, or the cause of ctx's end. After that
// error further tasks are skipped and the context of the running ones is
// cancelled. If Run returns nil, every task has run.
func (x *Executor) Run(ctx context.Context, submit func(*Group) error) error {
	if x.inTurn {
		x.turn.Lock()
		defer x.turn.Unlock()
		defer x.timeline.Run()
	}
	g, err := x.join(ctx)
	if err != nil {
		return err
	}
	defer g.cancel()
	defer x.leave(g)
	stop := context.AfterFunc(ctx, func() { g.stop(context.Cause(ctx)) })
	defer stop()

	if err := submit(g); err != nil {
		g.stop(err)
	}
	err = g.wait()
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx) // a task may have noticed first
	}
	return err
}

// Open returns a group that lasts until [Group.Close], for tasks whose owner
// looks after their errors: an error of one skips none of the others.
func (x *Executor) Open() (*Group, error) {
	g, err := x.join(context.Background())
	if g != nil {
		g.lasting = true
	}
	return g, err
}

// Close skips the tasks that have not begun, cancels the context of the others
// and waits for them.
func (g *Group) Close() {
	g.x.leave(g)
}

// join registers a group.
func (x *Executor) join(ctx context.Context) (*Group, error) {
	g := &Group{x: x}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errClosed
	}
	x.groups++
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g, nil
}

// leave ends a Run, including one whose submit panicked and left tasks behind.
func (x *Executor) leave(g *Group) {
	g.stop(context.Canceled)
	g.wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.groups--
	x.ended.Broadcast()
}

// stop fails the group unless it has failed already.
func (g *Group) stop(err error) {
	g.x.mu.Lock()
	defer g.x.mu.Unlock()
	g.fail(err)
}

// fail records the first error. The caller holds the lock.
func (g *Group) fail(err error) {
	if g.err == nil {
		g.err = err
		g.cancel()
		g.x.room.Broadcast() // wakes submitters that wait in Go
	}
}

// wait returns when every task has ended.
func (g *Group) wait() error {
	g.x.mu.Lock()
	defer g.x.mu.Unlock()
	for g.open > 0 {
		g.x.ended.Wait()
	}
	return g.err
}

// Submit submits a task without work and without dependencies.
func (g *Group) Submit(t QueuedTask) uint64 { return g.Go(Task{QueuedTask: t}) }

// Go submits a task that depends on other tasks of its group, given by their
// ids, and returns its id, counted from 1. It waits while the window is full.
// After the group has failed, the task is skipped and the id is 0; a dependency
// on 0 is ignored.
func (g *Group) Go(t Task, after ...uint64) uint64 {
	x := g.x
	if x.inTurn {
		return g.runNow(t)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var at int
	for {
		if g.err != nil {
			return 0
		}
		if at = int((x.last + 1) % uint64(len(x.slots))); x.slots[at].group == nil {
			break
		}
		x.room.Wait()
	}
	x.line(&t)
	x.last++
	s := &x.slots[at]
	s.id, s.group, s.task, s.pending = x.last, g, t, 1
	for _, id := range after {
		if before := &x.slots[id%uint64(len(x.slots))]; before.id == id && before.group != nil {
			before.next = append(before.next, at)
			s.pending++
		}
	}
	g.open++
	x.count(at, -1)
	return s.id
}

// runNow runs a task immediately and writes it to the timeline.
func (g *Group) runNow(t Task) uint64 {
	if err := g.wait(); err != nil {
		return 0
	}
	id := g.x.last + 1
	if g.x.last = id; !t.Part {
		id = g.x.timeline.Submit(t.QueuedTask)
	}
	if err := g.x.do(g.ctx, g.x.laneOf(&t), 0, id, &t); err != nil && !g.lasting && !errors.Is(err, ErrDropped) {
		g.stop(err)
	}
	return id
}

// line writes a submission. The caller holds the lock.
func (x *Executor) line(t *Task) {
	if x.timeline != nil && !t.Part {
		x.timeline.Submit(t.QueuedTask)
	}
}

// byCaller marks the ids of tasks that their callers run.
const byCaller = 1 << 63

// Enter makes the calling goroutine the worker of a task, which ends with
// [Executor.Leave]: the goroutine of a step computes by itself, with events and
// lines like those of a worker and without handing anything over. What the task
// needs has been submitted, and ended, before: the timeline runs it first.
func (x *Executor) Enter(t *Task) (id uint64) {
	id = x.inline.Add(1) | byCaller
	if x.timeline != nil && !t.Part {
		x.mu.Lock()
		x.timeline.Run()
		x.line(t)
		x.mu.Unlock()
	}
	if x.sink != nil {
		x.emit(Event{ID: id, Lane: x.laneOf(t), Name: t.Name, Tensor: t.Tensor, Bytes: t.Bytes, Idle: t.Idle})
	}
	return id
}

// Leave ends a task that the caller entered.
func (x *Executor) Leave(id uint64, t *Task, err error) {
	if x.sink != nil {
		x.emit(Event{Phase: End, ID: id, Lane: x.laneOf(t), Name: t.Name, Tensor: t.Tensor, Bytes: t.Bytes, Idle: t.Idle, Err: err})
	}
}

// call does the work of a task and turns a panic into an error, so that the
// worker survives.
func call(ctx context.Context, t *Task) (err error) {
	if t.Work == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			if err = fault.Changed(v); err == nil {
				err = &panicError{v, debug.Stack()}
			}
		}
		if err != nil && err != ErrDropped {
			err = fmt.Errorf("%s: %w", t.Name, err)
		}
	}()
	return t.Work.Do(ctx, t.Arg)
}
