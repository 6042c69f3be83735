package graph

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/tier"
	"atenia/tier/stream"
	"atenia/tier/tiertest"
	"atenia/tier/timeline"
)

var update = flag.Bool("update", false, "rewrite the timelines in testdata")

// checkTimeline compares a timeline with its file, which begins with a sentence
// about what happens.
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

// TestLoop is the table of loops; testdata has their timelines.
func TestLoop(t *testing.T) {
	light := stream.Kernel{Name: "k", Kind: stream.Small}
	quick := tier.DefaultOffload()
	quick.Cooldown = 0
	two := tier.DefaultOffload()
	two.MaxActions = 2
	for _, c := range []struct {
		name, about string
		device      tier.Adapter
		kernel      stream.Kernel
		tensors     []tensor
		config      tier.OffloadConfig
		snapshots   []tier.Snapshot
		gpu         bool
		targets     []stream.Target // of the first node, by tick
		after       []tensor
	}{
		{
			"BL-1", "A tensor in RAM goes to the SSD when RAM runs full.",
			nil, light, []tensor{{"t1", tier.RAM, 4}}, tier.DefaultOffload(), []tier.Snapshot{at(.1, .1), at(.1, .99)}, false,
			[]stream.Target{stream.OnCPUFallback, stream.OnCPUFallback}, []tensor{{"t1", tier.SSD, 4}},
		},
		{
			"BL-2", "Between the two limits nothing leaves.",
			nil, light, []tensor{{"t1", tier.RAM, 4}}, tier.DefaultOffload(), []tier.Snapshot{at(.1, .9), at(.1, .9)}, false,
			[]stream.Target{stream.OnCPUFallback, stream.OnCPUFallback}, []tensor{{"t1", tier.RAM, 4}},
		},
		{
			"BL-3", "The two largest tensors leave in a tick that may move two.",
			nil, light, []tensor{{"a", tier.RAM, 10}, {"b", tier.RAM, 100}, {"c", tier.RAM, 50}}, two, []tier.Snapshot{at(.1, .99)}, false,
			[]stream.Target{stream.OnCPUFallback}, []tensor{{"a", tier.RAM, 10}, {"b", tier.SSD, 100}, {"c", tier.SSD, 50}},
		},
		{
			"BL-4", "A kernel of the device falls back under pressure and stays on the processor once its tensor is on the SSD.",
			&tiertest.FakeVRAM{}, heavy, []tensor{{"t1", tier.RAM, 4}}, quick, []tier.Snapshot{at(.1, .1), at(.99, .99), at(.1, .1)}, true,
			[]stream.Target{stream.OnGPU, stream.OnCPUFallback, stream.OnCPU}, []tensor{{"t1", tier.RAM, 4}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g Graph
			var ids []string
			for _, x := range c.tensors {
				ids = append(ids, x.id)
			}
			g.AddTensors(c.kernel, ids, make([]tier.Tier, len(ids)))
			m := memory(t, c.device, c.tensors...)
			var lines timeline.Lines
			l := Loop{&g, timeline.NewTimeline(timeline.TakeTurns, &lines), m, tier.NewOffload(c.config), c.gpu}
			ticks, err := l.Run(t.Context(), c.snapshots)
			if err != nil {
				t.Fatal(err)
			}
			var targets []stream.Target
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
		device := &tiertest.FakeVRAM{Fail: func(c tiertest.Call, _ string) error {
			if c == tiertest.Download {
				return errors.New("the bus has fallen off")
			}
			return nil
		}}
		m := memory(t, device, tensor{"t1", tier.RAM, 4})
		var g Graph
		g.AddTensors(heavy, []string{"t1"}, []tier.Tier{tier.RAM})
		var lines timeline.Lines
		l := Loop{&g, timeline.NewTimeline(timeline.TakeTurns, &lines), m, tier.NewOffload(tier.OffloadConfig{VRAMHigh: .5, RAMHigh: .9, MaxActions: 1}), true}
		ticks, err := l.Run(t.Context(), []tier.Snapshot{at(.1, .1), at(.6, .1), at(.1, .1)})
		if !errors.Is(err, tier.ErrBackendUnavailable) || !strings.HasPrefix(err.Error(), "tick 1: ") || len(ticks) != 2 {
			t.Errorf("%d ticks, %v", len(ticks), err)
		}
		checkTimeline(t, "A device that does not give its bytes back ends the loop in that tick.", lines)
	})
}
