package lane

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"atenia/internal/memory/timeline"
)

// A PanicError is the panic of a task.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// A Group is the set of tasks of one [Executor.Run].
type Group struct {
	x      *Executor
	ctx    context.Context // of the tasks; ends with Run
	cancel context.CancelFunc
	open   int   // unfinished tasks
	err    error // the first error
}

var _ timeline.Submitter = (*Group)(nil)

// Run calls submit, waits until all tasks it submitted have ended, and returns
// the first error: of a task, of submit, or the cause of ctx's end. After that
// error further tasks are skipped and the context of the running ones is
// cancelled. If Run returns nil, every task has run.
func (x *Executor) Run(ctx context.Context, submit func(*Group) error) error {
	if x.timeline != nil {
		x.turn.Lock()
		defer x.turn.Unlock()
		defer x.timeline.Run()
	}
	g := &Group{x: x}
	g.ctx, g.cancel = context.WithCancel(ctx)
	defer g.cancel()
	if err := x.join(); err != nil {
		return err
	}
	defer x.leave(g)
	stop := context.AfterFunc(ctx, func() { g.stop(context.Cause(ctx)) })
	defer stop()

	if err := submit(g); err != nil {
		g.stop(err)
	}
	err := g.wait()
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx) // a task may have noticed first
	}
	return err
}

// join registers a Run.
func (x *Executor) join() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return ErrClosed
	}
	x.groups++
	return nil
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
func (g *Group) Submit(t timeline.Task) uint64 { return g.Go(Task{Task: t}) }

// Go submits a task that depends on other tasks of its group, given by their
// ids, and returns its id, counted from 1. It waits while the window is full.
// After the group has failed, the task is skipped and the id is 0; a dependency
// on 0 is ignored.
func (g *Group) Go(t Task, after ...uint64) uint64 {
	x := g.x
	if x.timeline != nil {
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
	id := g.x.timeline.Submit(t.Task)
	if err := g.x.do(g.ctx, g.x.laneOf(&t), 0, id, &t); err != nil {
		g.stop(err)
	}
	return id
}

// call does the work of a task and turns a panic into an error, so that the
// worker survives.
func call(ctx context.Context, t *Task) (err error) {
	if t.Work == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", t.Name, err)
		}
	}()
	return t.Work.Do(ctx, t.Arg)
}
