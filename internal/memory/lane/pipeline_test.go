package lane

import (
	"context"
	"errors"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"atenia/internal/memory/timeline"
)

// A model is a list of stages that take time and check their inputs.
type model struct {
	t             *testing.T
	io, compute   time.Duration
	mu            sync.Mutex
	held          map[int]int // buffer → position+1 in the order of its item
	most, running int
	computed      []int
}

// wait is work that can be cancelled every 10 ms, as a read of some megabytes.
func wait(ctx context.Context, d time.Duration) error {
	const chunk = 10 * time.Millisecond
	for ; d > 0; d -= chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(min(d, chunk))
	}
	return nil
}

func (m *model) enter() func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running--
	}
}

func (m *model) stages() Stages {
	return Stages{
		Prefetch: func(ctx context.Context, item, buffer int) error {
			defer m.enter()()
			m.mu.Lock()
			if old, ok := m.held[buffer]; ok {
				m.t.Errorf("item %d is read to buffer %d, which has item %d", item, buffer, old)
			}
			m.held[buffer] = item
			m.most = max(m.most, len(m.held))
			m.mu.Unlock()
			return wait(ctx, m.io)
		},
		Compute: func(ctx context.Context, item, buffer int) error {
			defer m.enter()()
			err := wait(ctx, m.compute)
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.held[buffer] != item {
				m.t.Errorf("buffer %d has item %d, not %d", buffer, m.held[buffer], item)
			}
			delete(m.held, buffer)
			m.computed = append(m.computed, item)
			return err
		},
	}
}

func items(n int) (list []Item, order []int) {
	for i := range n {
		list, order = append(list, Item{fmt.Sprint("layer", i), 1 << 20}), append(order, i)
	}
	return list, order
}

// TestPipeline runs layers whose reads and kernels take known times on a clock
// that only they move.
func TestPipeline(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, c := range []struct {
		name        string
		io, compute time.Duration
		readers     int
		buffers     int
		overlap     float64
		depth, most int           // afterwards; buffers in use at once
		wall        time.Duration // of 64 layers
	}{
		{"balanced", 10 * ms, 10 * ms, 2, 4, 1, 2, 4, 650 * ms},
		{"computing", 10 * ms, 40 * ms, 2, 4, 1, 2, 4, (10 + 64*40) * ms},
		{"reading", 40 * ms, 10 * ms, 2, 4, .9, 3, 4, (32*40 + 20) * ms},
		{"one reader", 20 * ms, 20 * ms, 1, 2, 1, 1, 2, 65 * 20 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var meter Meter
				x := New(Config{Readers: c.readers, Sink: &meter})
				defer x.Close()
				m := model{t: t, io: c.io, compute: c.compute, held: map[int]int{}}
				list, order := items(64)
				p := NewPipeline(x, PipelineConfig{Items: list, Stages: m.stages(), Buffers: c.buffers, Readers: c.readers})
				if err := p.Run(t.Context(), order); err != nil {
					t.Fatal(err)
				}
				r := meter.Take()
				if r.Overlap() < c.overlap*.98 || r.Wall > c.wall {
					t.Errorf("overlap %.3f in %v, want %v in %v", r.Overlap(), r.Wall, c.overlap, c.wall)
				}
				if p.Depth() != c.depth || m.most != c.most {
					t.Errorf("depth %d with %d buffers at once, want %d and %d", p.Depth(), m.most, c.depth, c.most)
				}
				if n := r.Lanes[IO]; n != (Count{64, 0, 64 << 20}) {
					t.Errorf("the readers did %+v", n)
				}
				for i, item := range m.computed {
					if i != item {
						t.Fatalf("computed %v", m.computed)
					}
				}
				if err := p.Run(t.Context(), order); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestPipelineInTurns runs the pipeline as a timeline: nothing overlaps.
func TestPipelineInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var meter Meter
		var lines timeline.Lines
		x := New(Config{Timeline: timeline.NewTimeline(timeline.TakeTurns, &lines), Sink: &meter})
		defer x.Close()
		m := model{t: t, io: 10 * time.Millisecond, compute: 20 * time.Millisecond, held: map[int]int{}}
		list, order := items(3)
		p := NewPipeline(x, PipelineConfig{Items: list, Stages: m.stages()})
		if err := p.Run(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		if r := meter.Take(); r.Overlap() != 0 || r.Wall != 90*time.Millisecond {
			t.Errorf("overlap %v in %v", r.Overlap(), r.Wall)
		}
		if want := "ENQUEUE stream=SsdPrefetch id=1 kind=Io name=prefetch:layer0 cost=1"; len(lines) != 12 || lines[0] != want {
			t.Errorf("lines %q", lines)
		}
	})
}

// TestCancel cancels the context at many moments: the pipeline releases its
// buffers within 50 ms and returns the cause.
func TestCancel(t *testing.T) {
	t.Parallel()
	errStop := errors.New("the user has left")
	for at := range 40 {
		synctest.Test(t, func(t *testing.T) {
			x := New(Config{Readers: 3, Window: 8})
			defer x.Close()
			m := model{t: t, io: 300 * time.Millisecond, compute: 200 * time.Millisecond, held: map[int]int{}}
			list, order := items(16)
			p := NewPipeline(x, PipelineConfig{Items: list, Stages: m.stages(), Buffers: 4, Readers: 3})
			ctx, cancel := context.WithCancelCause(t.Context())
			var cancelled time.Time
			time.AfterFunc(time.Duration(at)*33*time.Millisecond, func() {
				cancelled = time.Now()
				cancel(errStop)
			})
			if err := p.Run(ctx, order); err != errStop {
				t.Errorf("got %v", err)
			}
			if took := time.Since(cancelled); took > 50*time.Millisecond {
				t.Errorf("cancelled after %d·33 ms, it took %v", at, took)
			}
			if m.running != 0 {
				t.Errorf("%d stages still run", m.running)
			}
		})
	}
}

// TestPipelineItem: an item that does not exist is an error.
func TestPipelineItem(t *testing.T) {
	t.Parallel()
	x := New(Config{})
	defer x.Close()
	var n atomic.Int32
	list, _ := items(2)
	p := NewPipeline(x, PipelineConfig{Items: list, Stages: Stages{
		Compute: func(context.Context, int, int) error { n.Add(1); return nil },
	}})
	if err := p.Run(t.Context(), []int{0, 1, 1, 0}); err != nil || n.Load() != 4 {
		t.Errorf("%d computed: %v", n.Load(), err)
	}
	for _, bad := range []int{-1, 2} {
		if err := p.Run(t.Context(), []int{0, bad}); err == nil || n.Load() != 4 {
			t.Errorf("item %d: %v", bad, err)
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		io, compute   time.Duration
		readers, most int
		want          int
	}{
		{0, 0, 2, 3, 3},      // nothing is known of the computation
		{10, 100, 2, 8, 2},   // one that is needed next, one to spare
		{100, 100, 2, 8, 2},  // 1 + 1
		{250, 100, 4, 8, 4},  // 3 + 1
		{900, 100, 4, 8, 5},  // readers are the limit
		{900, 100, 16, 8, 8}, // buffers are the limit
		{10, 100, 2, 1, 1},
		{10, 100, 2, 0, 1},
	} {
		if got := Depth(c.io, c.compute, c.readers, c.most); got != c.want {
			t.Errorf("%v of reading, %v of computing, %d readers, at most %d: depth %d, want %d",
				c.io, c.compute, c.readers, c.most, got, c.want)
		}
	}
}

// TestMeter computes the overlap of hand-made events.
func TestMeter(t *testing.T) {
	t.Parallel()
	type e struct {
		lane     Lane
		from, to time.Duration
	}
	for _, c := range []struct {
		name          string
		events        []e
		move, compute time.Duration
		want          float64
	}{
		{"nothing", nil, 0, 0, 0},
		{"only reads", []e{{IO, 0, 10}}, 10, 0, 0},
		{"one after the other", []e{{IO, 0, 10}, {Compute, 10, 30}}, 10, 20, 0},
		{"hidden", []e{{IO, 0, 10}, {Compute, 0, 20}}, 10, 20, 1},
		{"half", []e{{Transfer, 0, 10}, {Device, 5, 15}}, 10, 10, .5},
		{"readers at once count once", []e{{IO, 0, 10}, {IO, 5, 15}, {Compute, 0, 15}}, 15, 15, 1},
		{"a gap", []e{{IO, 0, 10}, {Compute, 20, 30}}, 10, 10, -1},
	} {
		var m Meter
		for at := time.Duration(0); at <= 30; at++ {
			for _, v := range c.events {
				if v.to == at {
					m.Event(Event{Phase: End, Lane: v.lane, At: at})
				}
			}
			for _, v := range c.events {
				if v.from == at {
					m.Event(Event{Phase: Begin, Lane: v.lane, At: at})
				}
			}
		}
		r := m.Take()
		if r.Overlap() != c.want || r.Move != c.move || r.Compute != c.compute {
			t.Errorf("%s: overlap %v of %+v, want %v", c.name, r.Overlap(), r, c.want)
		}
		if r := m.Take(); r != (Report{}) {
			t.Errorf("%s: taken again, %+v", c.name, r)
		}
	}
}

// BenchmarkPipeline reads blocks of a file and sums them up, as streamed
// weights are read and multiplied. It reports how much of the shorter of both
// was hidden behind the longer.
func BenchmarkPipeline(b *testing.B) {
	const blocks, size = 64, 4 << 20
	f, err := os.Create(filepath.Join(b.TempDir(), "weights"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(blocks * size); err != nil {
		b.Fatal(err)
	}
	for _, buffers := range []int{2, 4} {
		b.Run(fmt.Sprintf("buffers=%d", buffers), func(b *testing.B) {
			var meter Meter
			x := New(Config{Sink: &meter})
			defer x.Close()
			data := make([][]byte, buffers)
			for i := range data {
				data[i] = make([]byte, size)
			}
			list, order := items(blocks)
			var sum atomic.Uint32
			p := NewPipeline(x, PipelineConfig{Items: list, Buffers: buffers, Stages: Stages{
				Prefetch: func(_ context.Context, item, buffer int) error {
					_, err := f.ReadAt(data[buffer], int64(item)*size)
					return err
				},
				Compute: func(_ context.Context, _, buffer int) error {
					sum.Add(adler32.Checksum(data[buffer]))
					return nil
				},
			}})
			b.SetBytes(blocks * size)
			var overlap float64
			for b.Loop() {
				if err := p.Run(b.Context(), order); err != nil {
					b.Fatal(err)
				}
				overlap += meter.Take().Overlap()
			}
			b.ReportMetric(overlap/float64(b.N), "overlap")
		})
	}
}
