package lane

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"atenia/internal/golden/await"
)

func task(kind TaskKind, name string, f func(context.Context) error) Task {
	return Task{QueuedTask: QueuedTask{Kind: kind, Name: name, Cost: 1}, Work: Func(f)}
}

// TestOrder runs random graphs of tasks through lanes of random widths and a
// window smaller than they are: every task runs once, after all it names.
func TestOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := New(Config{Readers: 1 + r.IntN(4), Movers: 1 + r.IntN(2), Computers: 1 + r.IntN(3), Devices: r.IntN(2), Window: 1 + r.IntN(40)})
		var groups sync.WaitGroup
		for range 1 + r.IntN(3) {
			seed := r.Uint64()
			groups.Go(func() { randomGroup(t, x, rand.New(rand.NewPCG(seed, 2))) })
		}
		groups.Wait()
		x.Close()
		if err := x.Run(t.Context(), func(*Group) error { return nil }); !errors.Is(err, errClosed) {
			t.Errorf("a closed executor says %v", err)
		}
	}
}

func randomGroup(t *testing.T, x *Executor, r *rand.Rand) {
	n := r.IntN(200)
	runs := make([]atomic.Int32, n)
	err := x.Run(t.Context(), func(g *Group) error {
		ids := make([]uint64, n)
		for i := range n {
			var after []int
			var afterIDs []uint64
			for range min(i, r.IntN(4)) {
				before := i - 1 - r.IntN(min(i, 30))
				after, afterIDs = append(after, before), append(afterIDs, ids[before])
			}
			k := task(TaskKind(r.IntN(3)), "t", func(context.Context) error {
				for _, b := range after {
					if runs[b].Load() != 1 {
						t.Errorf("task %d runs before %d", i, b)
					}
				}
				runs[i].Add(1)
				return nil
			})
			k.Queue = Queue(r.IntN(3))
			ids[i] = g.Go(k, afterIDs...)
			if i > 0 && ids[i] <= ids[i-1] {
				t.Errorf("id %d comes after %d", ids[i], ids[i-1])
			}
		}
		return nil
	})
	for i := range runs {
		if runs[i].Load() != 1 {
			t.Errorf("task %d ran %d times", i, runs[i].Load())
		}
	}
	if err != nil {
		t.Error(err)
	}
}

var errDisk = errors.New("read error at sector 7")

// TestFailure checks that the first error ends only its group, that later tasks
// of the group are skipped, and that workers survive.
func TestFailure(t *testing.T) {
	t.Parallel()
	x := New(Config{Window: 4})
	defer x.Close()
	var after atomic.Int32
	run := func(f func(context.Context) error) error {
		return x.Run(t.Context(), func(g *Group) error {
			id := g.Go(task(IOTask, "prefetch:w", f))
			for range 20 {
				id = g.Go(task(ComputeTask, "k", func(context.Context) error { after.Add(1); return nil }), id)
			}
			return nil
		})
	}
	err := run(func(context.Context) error { return errDisk })
	if !errors.Is(err, errDisk) || err.Error() != "prefetch:w: read error at sector 7" {
		t.Errorf("got %v", err)
	}
	err = run(func(context.Context) error { panic("index out of range") })
	p, ok := errors.AsType[*panicError](err)
	if !ok || err.Error() != "prefetch:w: panic: index out of range" || !strings.Contains(string(p.Stack), "TestFailure") {
		t.Errorf("got %v", err)
	}
	if err = run(func(context.Context) error { runtime.Goexit(); return nil }); err != errExited {
		t.Errorf("got %v", err)
	}
	if after.Load() != 0 {
		t.Errorf("%d tasks ran after one that failed", after.Load())
	}
	if err = run(func(context.Context) error { return nil }); err != nil || after.Load() != 20 {
		t.Errorf("after failures %d tasks ran: %v", after.Load(), err)
	}
	if err := x.Run(t.Context(), func(*Group) error { return errDisk }); err != errDisk {
		t.Errorf("submit failed with %v", err)
	}
}

// TestSubmitPanics checks that tasks have ended when a panic leaves Run.
func TestSubmitPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := New(Config{})
		defer x.Close()
		var running atomic.Int32
		defer func() {
			if v := recover(); v != "mistake" || running.Load() != 0 {
				t.Errorf("%v, %d tasks still run", v, running.Load())
			}
		}()
		x.Run(t.Context(), func(g *Group) error {
			g.Go(task(IOTask, "read", func(ctx context.Context) error {
				running.Add(1)
				defer running.Add(-1)
				<-ctx.Done()
				time.Sleep(time.Millisecond)
				return ctx.Err()
			}))
			synctest.Wait()
			panic("mistake")
		})
	})
}

// TestLaneOfTask checks the lane of each kind of task, with and without a device.
func TestLaneOfTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		devices int
		queue   Queue
		kind    TaskKind
		want    Lane
	}{
		{0, SSDPrefetch, IOTask, IO},
		{0, GPU, TransferTask, Transfer},
		{0, CPU, ComputeTask, Compute},
		{0, GPU, ComputeTask, Compute},
		{1, GPU, ComputeTask, Device},
		{1, CPU, ComputeTask, Compute},
	} {
		var events recorder
		x := New(Config{Devices: c.devices, Sink: &events})
		x.Run(t.Context(), func(g *Group) error { g.Submit(QueuedTask{Queue: c.queue, Kind: c.kind}); return nil })
		x.Close()
		if len(events) != 2 || events[1].Lane != c.want {
			t.Errorf("%v in %v with %d devices: %v, want %v", c.kind, c.queue, c.devices, events, c.want)
		}
	}
}

type recorder []Event

func (r *recorder) Event(e Event) { *r = append(*r, e) }

// TestTimelineMode runs the same submissions with a timeline: tasks run in order,
// at once, and the lines are those of a timeline without lanes.
func TestTimelineMode(t *testing.T) {
	t.Parallel()
	submit := func(g Submitter) {
		g.Submit(QueuedTask{Queue: SSDPrefetch, Kind: IOTask, Name: "prefetch:w", Cost: 1})
		g.Submit(QueuedTask{Queue: CPU, Kind: TransferTask, Name: "move:ssd->ram:w", Cost: 1})
		g.Submit(QueuedTask{Queue: GPU, Kind: ComputeTask, Name: "k", Cost: 1})
	}
	var want, got Lines
	alone := NewTimeline(TakeTurns, &want)
	submit(alone)
	alone.Run()

	var events recorder
	clock := func() time.Duration { return time.Duration(len(events)) }
	x := New(Config{Timeline: NewTimeline(TakeTurns, &got), Sink: &events, Clock: clock})
	defer x.Close()
	if err := x.Run(t.Context(), func(g *Group) error { submit(g); return nil }); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(events) != 6 || events[5].Lane != Device || events[5].At != 5 {
		t.Errorf("events %v", events)
	}

	var done string
	err := x.Run(t.Context(), func(g *Group) error {
		g.Go(task(IOTask, "a", func(context.Context) error { done += "a"; return nil }))
		g.Go(task(ComputeTask, "b", func(context.Context) error { done += "b"; return errDisk }))
		g.Go(task(ComputeTask, "c", func(context.Context) error { done += "c"; return nil }))
		return nil
	})
	if !errors.Is(err, errDisk) || done != "ab" {
		t.Errorf("did %q: %v", done, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errDisk)
	if err := x.Run(ctx, func(g *Group) error { <-g.ctx.Done(); return g.ctx.Err() }); err != errDisk {
		t.Errorf("a cancelled run says %v", err)
	}
}

// TestSteadyState checks that tasks start no goroutine and do not allocate.
func TestSteadyState(t *testing.T) {
	x := New(Config{Readers: 3, Window: 32, Computers: -1, Sink: new(Meter)})
	defer x.Close()
	g, err := x.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	gone := await.Goroutines(t)
	var done atomic.Int64
	nothing := Func(func(context.Context) error { done.Add(1); return nil })
	read, move := Task{QueuedTask: QueuedTask{Kind: IOTask}, Work: nothing}, Task{QueuedTask: QueuedTask{Kind: TransferTask}, Work: nothing}
	p := NewPasses(x, false)
	var last uint64
	step := func() {
		p.Begin(true, 1)
		for range 50 {
			last = g.Go(move, g.Go(read, last))
		}
		p.End(nil)
	}
	step()
	if n := await.Allocs(20, step); n != 0 {
		t.Errorf("%g allocations a step", n)
	}
	gone()
}

func BenchmarkTask(b *testing.B) {
	x := New(Config{})
	defer x.Close()
	b.ReportAllocs()
	x.Run(b.Context(), func(g *Group) error {
		var id uint64
		for b.Loop() {
			id = g.Go(Task{}, id)
		}
		return nil
	})
}

// TestRandomFailures runs random graphs in which tasks fail, panic or are
// cancelled: no task runs after one it names has failed, Run returns one of the
// failures, and the executor serves the next graph.
func TestRandomFailures(t *testing.T) {
	t.Parallel()
	x := New(Config{Readers: 3, Movers: 2, Window: 16})
	defer x.Close()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		n, bad := 1+r.IntN(60), r.IntN(60)
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make([]atomic.Bool, n)
		var failed atomic.Bool
		err := x.Run(ctx, func(g *Group) error {
			ids := make([]uint64, n)
			for i := range n {
				var after []uint64
				var before []int
				for range min(i, r.IntN(3)) {
					b := r.IntN(i)
					before, after = append(before, b), append(after, ids[b])
				}
				ids[i] = g.Go(task(TaskKind(r.IntN(3)), "t", func(ctx context.Context) error {
					for _, b := range before {
						if !done[b].Load() {
							t.Errorf("seed %d: task %d runs although %d has not", seed, i, b)
						}
					}
					if i == bad {
						failed.Store(true)
						switch seed % 3 {
						case 0:
							return errDisk
						case 1:
							panic("mistake")
						}
						cancel(errDisk)
						<-ctx.Done()
						return ctx.Err()
					}
					done[i].Store(true)
					return nil
				}), after...)
			}
			return nil
		})
		cancel(nil)
		if failed.Load() != (err != nil) {
			t.Errorf("seed %d: %v, a task failed: %v", seed, err, failed.Load())
		}
		if p, ok := errors.AsType[*panicError](err); err != nil && !errors.Is(err, errDisk) && (!ok || p.Value != "mistake") {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
