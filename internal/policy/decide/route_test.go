package decide

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/faultfs"
)

// tensors returns a manager with four bytes under each id, in its tier; the
// device is nil for none.
func tensors(t *testing.T, device memory.Adapter, at map[string]memory.Tier) *memory.Manager {
	t.Helper()
	m := memory.New(memory.Config{Dir: t.TempDir(), FS: faultfs.NoSync(), Adapter: device})
	for id, to := range at {
		if _, _, err := m.Place(context.Background(), id, []byte("abcd"), to); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func refuse(c memorytest.Call, ids ...string) *memorytest.FakeVRAM {
	return &memorytest.FakeVRAM{Fail: memorytest.Refuse(map[memorytest.Call][]string{c: ids})}
}

// TestRoute is the table of kernels whose tensors' tiers are given.
func TestRoute(t *testing.T) {
	heavy := Kernel{Name: "k"}
	t.Run("RT-1", func(t *testing.T) {
		tl, lines := newTimeline(lane.TakeTurns)
		b := Route(tl, heavy, []memory.Tier{memory.RAM}, memory.Snapshot{}, Executors{GPU: true})
		tl.Run()
		if want := (Bundle{OnGPU, []uint64{1}, "GPU execution preferred"}); !reflect.DeepEqual(b, want) {
			t.Errorf("got %+v", b)
		}
		wantLines(t, *lines,
			"ENQUEUE stream=Gpu id=1 kind=Compute name=k cost=1",
			"RUN stream=Gpu id=1 kind=Compute name=k cost=1")
	})
	t.Run("RT-2", func(t *testing.T) {
		tl, lines := newTimeline(lane.TakeTurns)
		b := Route(tl, heavy, []memory.Tier{memory.SSD}, memory.Snapshot{}, Executors{GPU: true})
		if want := (Bundle{OnCPU, []uint64{1, 2}, "Tensor resides on SSD"}); !reflect.DeepEqual(b, want) {
			t.Errorf("got %+v", b)
		}
		wantLines(t, *lines,
			"ENQUEUE stream=SsdPrefetch id=1 kind=Io name=prefetch:k cost=1",
			"ENQUEUE stream=Cpu id=2 kind=Compute name=k cost=1")
	})
	t.Run("RT-3", func(t *testing.T) {
		tl, lines := newTimeline(lane.FallBack)
		b := Route(tl, heavy, []memory.Tier{memory.RAM}, memory.Snapshot{}, Executors{GPU: false})
		tl.Run()
		if b.Target != OnCPUFallback {
			t.Errorf("got %+v", b)
		}
		wantLines(t, field(*lines, "RUN", "stream"), "Cpu")
	})
	t.Run("RT-4", func(t *testing.T) {
		tl, lines := newTimeline(lane.FallBack)
		Route(tl, heavy, nil, memory.Snapshot{}, Executors{GPU: true})
		tl.Run()
		wantLines(t, *lines,
			"ENQUEUE stream=Gpu id=1 kind=Compute name=k cost=1",
			"FALLBACK stream=Gpu id=1 -> Cpu",
			"RUN stream=Cpu id=1 kind=Compute name=k cost=1")
	})
}

// TestRouteTensors is the table of kernels whose tensors are moved.
func TestRouteTensors(t *testing.T) {
	type tiers = map[string]memory.Tier
	const preferred = "GPU execution preferred"
	for _, c := range []struct {
		name   string
		device memory.Adapter
		at     tiers
		ids    []string
		kind   KernelKind
		gpu    bool
		target Target
		reason string
		tasks  []string // names of the tasks that are submitted
		queues []string
		after  tiers
	}{
		{
			"RT-5", nil, tiers{"t1": memory.SSD}, []string{"t1"}, computeHeavy, false,
			OnCPUFallback, "GPU not available",
			[]string{"prefetch:t1", "move:ssd->ram:t1", "k"}, []string{"SsdPrefetch", "Cpu", "Cpu"},
			tiers{"t1": memory.RAM},
		},
		{
			"RT-6", &memorytest.FakeVRAM{}, tiers{"t2": memory.RAM}, []string{"t2"}, computeHeavy, true,
			OnGPU, preferred, []string{"move:ram->vram:t2", "k"}, []string{"Gpu", "Gpu"}, tiers{"t2": memory.VRAM},
		},
		{
			"RT-7", nil, tiers{"t3": memory.RAM}, []string{"t3"}, computeHeavy, true,
			OnCPUFallback, preferred + "; degraded to CPU because VRAM is unavailable",
			[]string{"k"}, []string{"Cpu"}, tiers{"t3": memory.RAM},
		},
		{
			"RT-8", nil, tiers{"t1": memory.SSD, "t2": memory.SSD}, []string{"t1", "t2"}, computeHeavy, false,
			OnCPUFallback, "GPU not available",
			[]string{"prefetch:t1", "prefetch:t2", "move:ssd->ram:t1", "move:ssd->ram:t2", "k"},
			[]string{"SsdPrefetch", "SsdPrefetch", "Cpu", "Cpu", "Cpu"},
			tiers{"t1": memory.RAM, "t2": memory.RAM},
		},
		{
			"RT-9", &memorytest.FakeVRAM{}, tiers{"t": memory.VRAM}, []string{"t"}, small, true,
			OnCPU, "Kernel not suitable for GPU execution",
			[]string{"move:vram->ram:t", "k"}, []string{"Cpu", "Cpu"}, tiers{"t": memory.RAM},
		},
		{ // moved tensors, and those in VRAM before, come back
			"late_fallback", refuse(memorytest.Upload, "b"), tiers{"a": memory.RAM, "b": memory.RAM, "c": memory.RAM}, []string{"c", "a", "b"},
			computeHeavy, true, OnCPUFallback, preferred + "; degraded to CPU because memory move failed",
			[]string{"move:ram->vram:c", "move:ram->vram:a", "move:vram->ram:c", "move:vram->ram:a", "k"},
			[]string{"Gpu", "Gpu", "Cpu", "Cpu", "Cpu"},
			tiers{"a": memory.RAM, "b": memory.RAM, "c": memory.RAM},
		},
		{
			"not_registered", &memorytest.FakeVRAM{}, tiers{"a": memory.VRAM}, []string{"a", "ghost"}, computeHeavy, true,
			OnCPUFallback, preferred + "; degraded to CPU because memory move failed",
			[]string{"move:vram->ram:a", "k"}, []string{"Cpu", "Cpu"}, tiers{"a": memory.RAM},
		},
		{
			"named_twice", nil, tiers{"a": memory.SSD}, []string{"a", "a"}, small, true,
			OnCPU, "Kernel not suitable for GPU execution",
			[]string{"prefetch:a", "move:ssd->ram:a", "k"}, []string{"SsdPrefetch", "Cpu", "Cpu"},
			tiers{"a": memory.RAM},
		},
		{
			"of_the_processor", &memorytest.FakeVRAM{}, tiers{"a": memory.CPU}, []string{"a"}, computeHeavy, true,
			OnGPU, preferred, []string{"move:cpu->vram:a", "k"}, []string{"Gpu", "Gpu"}, tiers{"a": memory.VRAM},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := tensors(t, c.device, c.at)
			tl, lines := newTimeline(lane.TakeTurns)
			b, err := RouteTensors(t.Context(), tl, m, Kernel{Name: "k", Kind: c.kind}, c.ids, memory.Snapshot{}, Executors{GPU: c.gpu})
			if err != nil || b.Target != c.target || b.Reason != c.reason || len(b.Tasks) != len(c.tasks) {
				t.Errorf("got %+v, %v", b, err)
			}
			wantLines(t, field(*lines, "ENQUEUE", "name"), c.tasks...)
			wantLines(t, field(*lines, "ENQUEUE", "stream"), c.queues...)
			for id, want := range c.after {
				if at, _ := m.Tier(id); at != want {
					t.Errorf("%s is in %v, want %v", id, at, want)
				}
				if data, err := m.Bytes(id); err != nil || string(data) != "abcd" {
					t.Errorf("%s holds %q, %v", id, data, err)
				}
			}
		})
	}
}

// TestRouteCancelled: no computation is submitted whose tensors were not read.
func TestRouteCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := tensors(t, &memorytest.FakeVRAM{}, map[string]memory.Tier{"a": memory.RAM})
	tl, lines := newTimeline(lane.TakeTurns)
	_, err := RouteTensors(ctx, tl, m, Kernel{Name: "k"}, []string{"a"}, memory.Snapshot{}, Executors{GPU: true})
	if !errors.Is(err, context.Canceled) || len(*lines) != 0 {
		t.Errorf("%v, %q", err, *lines)
	}
}
