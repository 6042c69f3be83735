package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"atenia/internal/engine"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/memory"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/observe"
	"atenia/internal/policy/record"
	"atenia/internal/sched"
)

// A squeezed run is one whose limit a test changes.
type squeezed struct {
	rows  [][]float32
	kinds map[string]bool // of residences
}

// decode runs a model of the golden files and returns the logits of every row.
// before, if not nil, returns the limit before a step.
func decode(t *testing.T, name string, c engine.Config, before func(e *engine.Engine) int64) (r squeezed) {
	t.Helper()
	d, err := engine.OpenFiles(filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(name)), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var e *engine.Engine
	if before != nil {
		c.SetLimit(func() (int64, bool) {
			if e == nil {
				return 0, false
			}
			return before(e), false
		})
	}
	p, err := engine.Compile(d, c)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := engine.Open(t.Context(), p, d)
	if err != nil {
		t.Fatal(err)
	}
	r.kinds = map[string]bool{}
	forced := make([]int32, 100)
	for i := range forced {
		forced[i] = int32(3 + i%60)
	}
	st, err := opened.Sched.Submit(t.Context(), sched.Request{
		Prompt: []int32{1, 2, 3, 4, 5}, Forced: forced, All: true,
		OnLogits: func(_ int, l []float32) {
			e = opened
			r.rows = append(r.rows, slices.Clone(l))
			switch w := e.Residence(); {
			case w.Stream.Ring == nil:
				r.kinds["mapped"] = true
			case w.Held > w.Streamed:
				r.kinds["mostly kept"] = true
			default:
				r.kinds["mostly streamed"] = true
			}
			r.kinds[e.Packing().Mode.String()] = true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	st.Next()
	if err := st.Err(); err != nil {
		t.Error(err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	return r
}

// sameRows: two runs have the same bits.
func sameRows(t *testing.T, got, want [][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows of logits, want %d", len(got), len(want))
	}
	for i := range want {
		for k := range want[i] {
			if math.Float32bits(got[i][k]) != math.Float32bits(want[i][k]) {
				t.Fatalf("row %d, value %d: %v, want %v", i, k, got[i][k], want[i][k])
			}
		}
	}
}

// TestPackedStays: packed weights are needed in place of the mapped ones and not beside
// them, so they stay in a limit that has room for one of the two.
func TestPackedStays(t *testing.T) {
	name := cases[0]
	c := config()
	c.Pack, c.Budget.Reserve.Runtime, c.Context = pack.InMemory, 1<<16, 128
	c.Budget.RAM = 1 << 30
	for _, slack := range []int64{1 << 16, -1 << 17} {
		got := decode(t, name, c, func(e *engine.Engine) int64 {
			d := e.Packing()
			return e.Placement().RAM() + d.Bytes - d.Source + slack
		})
		if off := got.kinds[pack.Off.String()]; off != (slack < 0) {
			t.Errorf("a limit of %d bytes more than is needed: %v", slack, got.kinds)
		}
	}
}

// However the limit changes while a model runs, it gives the same bits, and the
// log of what was decided replays byte for byte.
func TestLimitChanges(t *testing.T) {
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			c := config()
			c.Pack, c.Budget.Reserve.Runtime, c.Context = pack.InMemory, 1<<16, 128
			want := decode(t, name, c, nil)
			small := placeConfig(1)
			small.Exec.Context = c.Context
			_, err := describe(t, name).Place(small)
			short, ok := errors.AsType[*place.FloorError](err)
			if !ok {
				t.Fatal(err)
			}
			floor := short.Floor
			small.Budget.RAM = 0
			pl, err := describe(t, name).Place(small)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(5, 6))
			c.Decisions = filepath.Join(t.TempDir(), "decisions.jsonl")
			var log bytes.Buffer
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			limit, steps, paced, restarts := int64(1<<40), 0, 0, 0
			got := decode(t, name, c, func(e *engine.Engine) int64 {
				n := e.Paced()
				if n < paced {
					restarts++
				}
				paced = n
				if steps++; steps%8 == 0 {
					limit = floor + rng.Int64N(pl.RAM()+pl.RAM()/8-floor)
				}
				if steps%48 == 40 {
					limit = 1 << 40
				}
				return limit
			})
			sameRows(t, got.rows, want.rows)
			if !got.kinds["mapped"] || !got.kinds["mostly kept"] && !got.kinds["mostly streamed"] {
				t.Errorf("the weights were nowhere but %v", got.kinds)
			}
			if strings.Contains(log.String(), "instruction") { // of a plan that cannot be bound
				t.Error(log.String())
			}
			if !strings.Contains(log.String(), "weights moved") {
				t.Error("nothing is said of weights that move")
			}
			if restarts == 0 {
				t.Error("passes before and after weights moved are one pace")
			}
			checkLog(t, c.Decisions)
		})
	}
}

// checkLog: a log has records of all that decides while a model runs, and
// replays.
func checkLog(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for l, err := range record.Read(bytes.NewReader(b)) {
		if err != nil {
			t.Fatal(err)
		}
		seen[l.Component]++
	}
	for _, want := range []string{"placement", "planner", "router", "graph", "offload", "budget"} {
		if seen[want] == 0 {
			t.Errorf("the log has no record of %s: %v", want, seen)
		}
	}
	report, err := decide.CheckLog(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Differences) > 0 || report.Cut != nil {
		t.Errorf("the log does not replay: %+v", report.Differences[:min(3, len(report.Differences))])
	}
}

// TestPlanFileHolds: weights that a plan file has on the disk stay there, however much
// memory there is and was, those that leave under pressure come back, and each has the
// rule by which it is where it is: no pin is told where nobody pinned.
func TestPlanFileHolds(t *testing.T) {
	const name = "parity/llama3"
	c := config()
	c.Budget.Reserve.Runtime, c.Context = 1<<16, 128
	want := decode(t, name, c, nil)
	place1 := placeConfig(0)
	place1.Exec.Context = c.Context
	place1.Rules.Pins = []string{"^blk.0.ffn_up$=ssd", "^blk.1.attn_q$=ram"}
	pl, err := describe(t, name).Place(place1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pl)
	if err != nil {
		t.Fatal(err)
	}
	c.PlacementFile = filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(c.PlacementFile, text, 0o666); err != nil {
		t.Fatal(err)
	}
	steps, small, away := 0, int64(0), 0
	got := decode(t, name, c, func(e *engine.Engine) int64 {
		at, ssd := e.Placement(), 0
		if at == nil {
			t.Fatal("the plan is not followed")
		}
		for i := range at.Tensors {
			x := &at.Tensors[i]
			if x.Tier == memory.SSD {
				ssd++
			}
			if why := at.Decision(i).Reason; strings.Contains(why, "everything fits") {
				t.Errorf("step %d: %s is in memory since %q, and one is on the disk", steps, x.Name, why)
			}
			file := x.Name == "blk.0.ffn_up" && x.Tier == memory.SSD
			if x.Name == "blk.1.attn_q" && x.Rule == place.RuleFile {
				file = x.Tier == memory.RAM
			}
			if x.Rule == place.RulePin || (x.Rule == place.RuleFile) != file || x.Name == "blk.0.ffn_up" && !file {
				t.Errorf("step %d: %s is in %v by rule %s", steps, x.Name, x.Tier, x.Rule)
			}
		}
		if away = max(away, ssd); (steps < 20 || steps > 80) && ssd != 1 {
			t.Errorf("step %d: %d weights on the disk, the plan has one", steps, ssd)
		}
		if steps++; steps == 20 {
			small = e.Need() * 3 / 4
		}
		if steps >= 20 && steps < 50 {
			return small
		}
		return 1 << 40
	})
	if sameRows(t, got.rows, want.rows); away < 2 {
		t.Error("no weight left memory under pressure")
	}
}

// Sequences that no request uses leave memory under pressure and come back
// after it; the next turn has the same bits.
func TestIdleSequences(t *testing.T) {
	c := config()
	c.Slots, c.BatchTokens, c.Context = 2, 16, 64
	turn := func(squeeze bool) (rows [][]float32, lines string) {
		t.Helper()
		c := c
		c.PackDir = t.TempDir()
		c.Decisions = filepath.Join(c.PackDir, "decisions.jsonl")
		var limit atomic.Int64
		if squeeze {
			limit.Store(1 << 40)
		}
		var at net.Addr
		o, err := observe.Open(t.Context(), observe.Config{Metrics: "127.0.0.1:0", Listening: func(a net.Addr) { at = a }})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		c.Observer = o
		c.SetLimit(func() (int64, bool) { return limit.Load(), false })
		d, err := engine.OpenFiles(filepath.Join(golden.Family(t, "parity"), "llama3"), "")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		p, err := engine.Compile(d, c)
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.Open(t.Context(), p, d)
		if err != nil {
			t.Fatal(err)
		}
		prompt := []int32{}
		for i := range int32(40) {
			prompt = append(prompt, 3+i)
			if i != 20 && i != 39 {
				continue
			}
			st, err := e.Sched.Submit(t.Context(), sched.Request{Prompt: prompt, OnLogits: func(_ int, l []float32) { rows = append(rows, slices.Clone(l)) }})
			if err != nil {
				t.Fatal(err)
			}
			st.Next()
			if squeeze && i == 20 {
				before := e.Sched.CacheBytes()
				limit.Store(1)
				await.Until(t, "fewer bytes of pages", func() bool { return e.Sched.CacheBytes() < before })
				limit.Store(1 << 40)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if n := metric(t, at, "atenia_ssd_written_bytes_total"); (n != "0") != squeeze {
			t.Errorf("%s bytes of sequences were written, squeezed: %t", n, squeeze)
		}
		b, err := os.ReadFile(c.Decisions)
		if err != nil {
			t.Fatal(err)
		}
		return rows, string(b)
	}
	want, _ := turn(false)
	got, lines := turn(true)
	sameRows(t, got, want)
	if !strings.Contains(lines, "MoveToSsd sequence 0") {
		t.Error("the log says nothing of the sequence")
	}
}
