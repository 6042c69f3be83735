package atenia_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/internal/train/fit"
	"atenia/train"
)

// A decided is a record of a log of decisions, as far as tests of runs read it.
type decided struct {
	Tick      uint64
	Component string
	Rule      string
	Evaluated []string
	Target    string
	Reason    string
	Inputs    struct {
		Kernel    struct{ Kind string }
		Tiers     []string
		Now       bool
		Pressures struct{ VRAM, RAM *float32 }
		Config    struct {
			Max      int    `json:"max_actions_per_tick"`
			Cooldown uint64 `json:"cooldown_ticks"`
		}
		Tensors []struct {
			ID, Tier string
			Bytes    uint64
			Moved    *uint64 `json:"last_moved"`
		}
		Node  int `json:"node_id"`
		Grads []struct{ ID, Tier string }
	}
}

// decisionsOf reads a log's records of a component.
func decisionsOf(t *testing.T, file, component string) (out []decided) {
	t.Helper()
	for _, l := range linesOf(t, file) {
		var d decided
		if !strings.Contains(l, `"component":"`+component+`"`) {
			continue
		}
		if err := json.Unmarshal([]byte(l), &d); err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	if len(out) == 0 {
		t.Fatalf("the run did not log a decision of %s", component)
	}
	return out
}

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// A run is a model's run under limits that change.
type run struct{ decisions, timeline string }

// plenty is a limit that nothing reaches, and little one that all weights exceed.
const (
	plenty = 1 << 40
	little = 1 << 20
)

// runWithin feeds a model tokens one by one, each with the memory that limit
// says; limit(-1) is what there is when it is opened.
func runWithin(t *testing.T, path string, tokens int, limit func(row int) int64) run {
	t.Helper()
	dir := t.TempDir()
	r := run{filepath.Join(dir, "decisions"), filepath.Join(dir, "timeline")}
	c := &atenia.Config{BatchTokens: 4, Slots: 1, Context: 128, Threads: 1, Pack: "off", Decisions: r.decisions}
	c.Observe.Timeline, c.Budget.Reserve.Runtime = r.timeline, 1<<16
	var now atomic.Int64
	now.Store(limit(-1))
	c.SetLimit(now.Load)
	m, err := atenia.Open(t.Context(), path, c)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ids := make([]int32, tokens)
	for i := range ids {
		ids[i] = int32(3 + i%50)
	}
	err = m.EachLogits(t.Context(), ids, atenia.LogitsOptions{All: true, Step: 1}, func(row int, _ []float32) { now.Store(limit(row)) })
	if err != nil {
		t.Fatal(err)
	}
	now.Store(plenty)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

// trained trains a model of ten layers, more weights than a tick moves.
func trained(t *testing.T, budget string, o train.Options) (path string) {
	t.Helper()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("the quick brown fox jumps over the lazy dog, and again: ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	recipe := filepath.Join(dir, "recipe.toml")
	path = filepath.Join(dir, "out")
	s := fmt.Sprintf("[model]\nhidden = 128\nlayers = 10\nuntied = true\n[data]\nfiles = ['text.txt']\nrow = 16\nrows = 2\n[train]\nsteps = 1\naccumulate = 2\nthreads = 1\nout = '%s'\n", path)
	if budget != "" {
		s += "budget = '" + budget + "'\n"
	}
	if err := os.WriteFile(recipe, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := train.ReadRecipe(recipe)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		_, err = train.Run(t.Context(), r, o)
		floor, short := errors.AsType[*fit.FloorError](err)
		if !short || budget == "" {
			break
		}
		// Little more than it needs. The floor has what this process has in memory, which
		// a share of it would make more than the model.
		r.Train.Budget = fmt.Sprint(floor.Floor + 3<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRunPlans: what the planner and the graph decide in a run on a machine
// without a device.
func TestRunPlans(t *testing.T) {
	r := runWithin(t, filepath.Join(golden.Family(t, "parity"), "llama3"), 20, func(row int) int64 {
		if row >= 5 && row < 10 {
			return 1
		}
		return plenty
	})
	t.Run("PL-1", func(t *testing.T) {
		for _, d := range decisionsOf(t, r.decisions, "placement") {
			if d.Target != "Cpu" || d.Reason != "No GPU detected" {
				t.Errorf("%s: %s", d.Target, d.Reason)
			}
		}
	})
	t.Run("EP-1", func(t *testing.T) {
		heavy := 0
		for _, d := range decisionsOf(t, r.decisions, "planner") {
			if d.Inputs.Kernel.Kind != "Small" && !slices.Contains(d.Inputs.Tiers, "Ssd") {
				heavy++
			}
			if d.Rule != "GpuNotAvailable" || d.Target != "CpuFallback" || d.Reason != "GPU not available" || !slices.Equal(d.Evaluated, []string{d.Rule}) {
				t.Errorf("%+v", d)
			}
		}
		if heavy == 0 {
			t.Error("no kernel is one for a device")
		}
	})
	t.Run("GR-2", func(t *testing.T) {
		seen := map[string]bool{}
		for _, d := range decisionsOf(t, r.decisions, "graph") {
			if want := fmt.Sprintf("Snapshot pressures: vram=0.0000, ram=%.4f", *d.Inputs.Pressures.RAM); d.Reason != want {
				t.Errorf("%q, want %q", d.Reason, want)
			}
			seen[d.Reason] = true
		}
		if len(seen) < 2 {
			t.Errorf("the pressure did not change: %v", seen)
		}
	})
}

// A ticked is what a timeline has of a tick.
type ticked struct {
	tick           string
	enqueued, runs []task
	lines          []string // of offloading
}

type task struct {
	stream, kind, name string
	id                 int
}

// ticksOf splits the part of a timeline that is of ticks.
func ticksOf(t *testing.T, file string) (out []ticked) {
	t.Helper()
	in := false
	for _, l := range linesOf(t, file) {
		n, started := strings.CutPrefix(l, "TICK_START tick=")
		if started {
			out, in = append(out, ticked{tick: n}), true
			continue
		}
		if !in {
			continue
		}
		at := &out[len(out)-1]
		if l == "TICK_END tick="+at.tick {
			in = false
			continue
		}
		var verb string
		var x task
		var cost int
		if n, _ := fmt.Sscanf(strings.ReplaceAll(l, "=", " "), "%s stream %s id %d kind %s name %s cost %d", &verb, &x.stream, &x.id, &x.kind, &x.name, &cost); n != 6 {
			at.lines = append(at.lines, l)
			continue
		}
		if want := fmt.Sprintf("%s stream=%s id=%d kind=%s name=%s cost=1", verb, x.stream, x.id, x.kind, x.name); l != want {
			t.Errorf("%q, want %q", l, want)
		}
		if verb == "ENQUEUE" {
			at.enqueued = append(at.enqueued, x)
		} else {
			at.runs = append(at.runs, x)
		}
	}
	if len(out) == 0 || in {
		t.Fatal("the timeline has no whole tick")
	}
	return out
}

// takeTurns is the order in which streams run what was enqueued.
func takeTurns(tasks []task) (out []task) {
	tasks = slices.Clone(tasks)
	for i := 0; len(tasks) > 0; i++ {
		stream := []string{"Cpu", "Gpu", "SsdPrefetch"}[i%3]
		if k := slices.IndexFunc(tasks, func(x task) bool { return x.stream == stream }); k >= 0 {
			out, tasks = append(out, tasks[k]), slices.Delete(tasks, k, k+1)
		}
	}
	return out
}

func names(tasks []task) (out []string) {
	for _, x := range tasks {
		out = append(out, x.name)
	}
	return out
}

// TestRunStreams: the streams of a run whose weights go to the disk, in two
// ticks, and come back.
func TestRunStreams(t *testing.T) {
	r := runWithin(t, trained(t, "", train.Options{}), 30, func(row int) int64 {
		if row >= 5 && row < 15 {
			return little
		}
		return plenty
	})
	ticks := ticksOf(t, r.timeline)
	before, after := ticks[0], -1 // after: all is on the disk
	for i, k := range ticks {
		if len(k.enqueued) > len(before.enqueued) && k.enqueued[0].stream == "SsdPrefetch" {
			if after < 0 || len(k.enqueued) > len(ticks[after].enqueued) {
				after = i
			}
		}
	}
	if after < 0 {
		t.Fatal("no tick has everything on the disk")
	}
	t.Run("EX-1", func(t *testing.T) {
		first := linesOf(t, r.timeline)
		k := slices.Index(first, "TICK_START tick="+before.tick)
		if want := "ENQUEUE stream=Cpu id=1 kind=Compute name=token_embd cost=1"; first[k+1] != want {
			t.Errorf("%q, want %q", first[k+1], want)
		}
		for _, k := range ticks {
			if want := takeTurns(k.enqueued); !slices.Equal(k.runs, want) {
				t.Errorf("tick %s ran %v, want %v", k.tick, k.runs, want)
			}
		}
	})
	t.Run("EX-3", func(t *testing.T) {
		last := 0
		for _, k := range ticks {
			for _, x := range k.enqueued {
				if x.id <= last {
					t.Errorf("tick %s: id %d after %d", k.tick, x.id, last)
				}
				last = x.id
			}
		}
	})
	t.Run("EX-4", func(t *testing.T) {
		k := ticks[after]
		at := func(name string) int { return slices.Index(names(k.runs), name) }
		// Turns are those of streams: a move has its turn before the prefetch that was enqueued first.
		if p, m, c := at("prefetch:blk.0.attn_q"), at("move:ssd->ram:blk.0.attn_q"), at("blk.0.attn_q,blk.0.attn_k,blk.0.attn_v"); m < 0 || p < m || c < p {
			t.Errorf("prefetch ran at %d, move at %d, kernel at %d", p, m, c)
		}
		if got := k.runs[:2]; got[0].stream != "Cpu" || got[1].stream != "SsdPrefetch" || got[0].id < got[1].id {
			t.Errorf("%v: the processor's stream has the first turn, whatever was enqueued first", got)
		}
	})
	t.Run("RT-3", func(t *testing.T) {
		for _, d := range decisionsOf(t, r.decisions, "router") {
			if d.Target != "CpuFallback" {
				t.Errorf("%+v", d)
			}
		}
		for _, x := range before.runs {
			if x.stream != "Cpu" || x.kind != "Compute" {
				t.Errorf("%+v of a model in memory", x)
			}
		}
	})
	routed := func(t *testing.T, want ...string) {
		t.Helper()
		k := ticks[after].enqueued
		i := slices.Index(names(k), want[0])
		if i < 0 || i+len(want) > len(k) || !slices.Equal(names(k[i:i+len(want)]), want) {
			t.Fatalf("%v does not have %v", names(k), want)
		}
		for n, x := range k[i : i+len(want)] {
			stream, kind := "Cpu", "Compute"
			switch {
			case strings.HasPrefix(x.name, "prefetch:"):
				stream, kind = "SsdPrefetch", "Io"
			case strings.HasPrefix(x.name, "move:"):
				kind = "Transfer"
			}
			if x.id != k[i].id+n || x.stream != stream || x.kind != kind {
				t.Errorf("%+v", x)
			}
		}
	}
	t.Run("RT-5", func(t *testing.T) {
		routed(t, "prefetch:blk.0.attn_o", "move:ssd->ram:blk.0.attn_o", "blk.0.attn_o")
	})
	t.Run("RT-8", func(t *testing.T) {
		routed(t, "prefetch:blk.0.ffn_gate", "prefetch:blk.0.ffn_up", "move:ssd->ram:blk.0.ffn_gate", "move:ssd->ram:blk.0.ffn_up", "blk.0.ffn_gate,blk.0.ffn_up")
	})
	t.Run("GR-3", func(t *testing.T) {
		// A kernel's lines end with its own; all of the next follow.
		routed(t, "prefetch:blk.0.attn_o", "move:ssd->ram:blk.0.attn_o", "blk.0.attn_o",
			"prefetch:blk.0.ffn_gate", "prefetch:blk.0.ffn_up", "move:ssd->ram:blk.0.ffn_gate", "move:ssd->ram:blk.0.ffn_up", "blk.0.ffn_gate,blk.0.ffn_up")
	})
}
