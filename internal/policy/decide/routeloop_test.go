package decide

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory"

	"atenia/internal/memory/lane"
	"atenia/internal/memory/memorytest"
)

// checkTimeline compares a timeline with its file, which begins with a sentence
// that describes it.
func checkTimeline(t *testing.T, about string, lines []string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.Base(t.Name())+".txt")
	got := "# " + about + "\n" + strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s", file, got)
	}
}

// TestLoopRoute is the table of loops; testdata has their timelines.
func TestLoopRoute(t *testing.T) {
	light := Kernel{Name: "k", Kind: small}
	quick := memory.DefaultOffload()
	quick.Cooldown = 0
	two := memory.DefaultOffload()
	two.MaxActions = 2
	for _, c := range []struct {
		name, about string
		device      memory.Adapter
		kernel      Kernel
		tensors     []tensor
		config      memory.OffloadConfig
		snapshots   []memory.Snapshot
		gpu         bool
		targets     []Target // of the first node, by tick
		after       []tensor
	}{
		{
			"BL-1", "A tensor in RAM goes to the SSD when RAM runs full.",
			nil, light, []tensor{{"t1", memory.RAM, 4}}, memory.DefaultOffload(), []memory.Snapshot{at(.1, .1), at(.1, .99)}, false,
			[]Target{OnCPUFallback, OnCPUFallback}, []tensor{{"t1", memory.SSD, 4}},
		},
		{
			"BL-2", "Between the two limits nothing leaves.",
			nil, light, []tensor{{"t1", memory.RAM, 4}}, memory.DefaultOffload(), []memory.Snapshot{at(.1, .9), at(.1, .9)}, false,
			[]Target{OnCPUFallback, OnCPUFallback}, []tensor{{"t1", memory.RAM, 4}},
		},
		{
			"BL-3", "The two largest tensors leave in a tick that may move two.",
			nil, light, []tensor{{"a", memory.RAM, 10}, {"b", memory.RAM, 100}, {"c", memory.RAM, 50}}, two, []memory.Snapshot{at(.1, .99)}, false,
			[]Target{OnCPUFallback}, []tensor{{"a", memory.RAM, 10}, {"b", memory.SSD, 100}, {"c", memory.SSD, 50}},
		},
		{
			"BL-4", "A kernel of the device falls back under pressure and stays on the processor once its tensor is on the SSD.",
			&memorytest.FakeVRAM{}, heavy, []tensor{{"t1", memory.RAM, 4}}, quick, []memory.Snapshot{at(.1, .1), at(.99, .99), at(.1, .1)}, true,
			[]Target{OnGPU, OnCPUFallback, OnCPU}, []tensor{{"t1", memory.RAM, 4}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g RouteGraph
			var ids []string
			for _, x := range c.tensors {
				ids = append(ids, x.id)
			}
			g.AddTensors(c.kernel, ids, make([]memory.Tier, len(ids)))
			m := testMemory(t, c.device, c.tensors...)
			var lines lane.Lines
			l := RouteLoop{&g, lane.NewTimeline(lane.TakeTurns, &lines), m, memory.NewOffload(c.config), Executors{GPU: c.gpu}, nil}
			ticks, err := ticksOf(t, &l, ids, c.snapshots)
			if err != nil {
				t.Fatal(err)
			}
			var targets []Target
			for i, tick := range ticks {
				targets = append(targets, tick.Placements[0].Target)
				if tick.Tick != uint64(i) {
					t.Errorf("tick %d is called %d", i, tick.Tick)
				}
			}
			if !slices.Equal(targets, c.targets) {
				t.Errorf("targets %v, want %v", targets, c.targets)
			}
			checkTimeline(t, c.about, lines)
			checkTensors(t, m, c.after...)
		})
	}
}

// TestLoopFails ends the loop with the tick whose offloading fails.
func TestLoopFails(t *testing.T) {
	t.Run("BL-5", func(t *testing.T) {
		device := &memorytest.FakeVRAM{Fail: func(c memorytest.Call, _ string) error {
			if c == memorytest.Download {
				return errors.New("the bus has fallen off")
			}
			return nil
		}}
		m := testMemory(t, device, tensor{"t1", memory.RAM, 4})
		var g RouteGraph
		g.AddTensors(heavy, []string{"t1"}, []memory.Tier{memory.RAM})
		var lines lane.Lines
		l := RouteLoop{&g, lane.NewTimeline(lane.TakeTurns, &lines), m, memory.NewOffload(memory.OffloadConfig{VRAMHigh: .5, RAMHigh: .9, MaxActions: 1}), Executors{GPU: true}, nil}
		ticks, err := ticksOf(t, &l, []string{"t1"}, []memory.Snapshot{at(.1, .1), at(.6, .1), at(.1, .1)})
		if !errors.Is(err, memory.ErrBackendUnavailable) || len(ticks) != 2 {
			t.Errorf("%d ticks, %v", len(ticks), err)
		}
		checkTimeline(t, "A device that does not give its bytes back ends the loop in that tick.", lines)
	})
}

// ticksOf ticks once for each snapshot, up to an error.
func ticksOf(t *testing.T, l *RouteLoop, ids []string, snapshots []memory.Snapshot) (ticks []RouteTick, err error) {
	for i := 0; i < len(snapshots) && err == nil; i++ {
		var done Ticked
		done, err = l.Tick(t.Context(), uint64(i), snapshots[i], ids)
		ticks = append(ticks, done.Planned)
	}
	return ticks, err
}
