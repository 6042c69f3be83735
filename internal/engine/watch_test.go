package engine_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"atenia/internal/engine"
	"atenia/internal/fault"
	"atenia/internal/golden"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/place"
	"atenia/internal/policy/observe"
	"atenia/internal/policy/record"
	"atenia/internal/sched"
)

// open opens a model, "" for the embedded one, until the test ends.
func open(t testing.TB, path string, c engine.Config) *engine.Engine {
	t.Helper()
	d, err := engine.OpenFiles(path, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Compile(d, c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), p, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), c.Observer.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// watched is a configuration that learns and counts, as that of a usual run.
func watched(t testing.TB) engine.Config {
	t.Helper()
	c, dir := config(), t.TempDir()
	c.Context, c.BatchTokens = 512, 16
	var err error
	if c.Observer, err = observe.Open(t.Context(), observe.Config{Learning: filepath.Join(dir, "learning"), Account: dir}); err != nil {
		t.Fatal(err)
	}
	return c
}

// Tokens allocate nothing, though what runs learns from each and asks before
// each how much memory there is, also while there is too little.
func TestWatchDoesNotAllocate(t *testing.T) {
	const tokens, from = 480, 80
	for _, what := range []string{"room", "short", "sampled by time"} {
		t.Run(what, func(t *testing.T) {
			least := ^uint64(0)
			for range 3 { // the runtime itself allocates now and then
				var e *engine.Engine
				c := watched(t)
				if what != "sampled by time" {
					c.SetLimit(func() (int64, bool) {
						if e == nil {
							return 0, false
						}
						n, waits := e.Share()
						if what == "short" {
							n = 1 << 20
						}
						return n, waits
					})
				}
				opened := open(t, "", c)
				var before, after runtime.MemStats
				st, err := opened.Sched.Submit(t.Context(), sched.Request{
					Prompt: []int32{1, 2, 3}, Forced: make([]int32, tokens),
					OnLogits: func(row int, _ []float32) {
						switch e = opened; row {
						case from:
							runtime.GC() // which would make room for pools again
							runtime.ReadMemStats(&before)
						case tokens:
							runtime.ReadMemStats(&after)
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				st.Next()
				if err := st.Err(); err != nil {
					t.Fatal(err)
				}
				if least = min(least, after.Mallocs-before.Mallocs); least == 0 {
					return
				}
			}
			t.Errorf("%d allocations in %d tokens", least, tokens-from)
		})
	}
}

// A limit below the least that a model needs, which changes all the time, is
// warned of, and weights are placed again for few of its values.
func TestLimitBelowFloor(t *testing.T) {
	c := config()
	c.Context = 128
	want := decode(t, cases[0], c, nil)
	c.Decisions = filepath.Join(t.TempDir(), "decisions.jsonl")
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	n := int64(0)
	got := decode(t, cases[0], c, func(*engine.Engine) int64 {
		n++
		return 1<<12 + n%2<<11
	})
	sameRows(t, got.rows, want.rows)
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "at least") {
		t.Errorf("no warning: %s", log.String())
	}
	b, err := os.ReadFile(c.Decisions)
	if err != nil {
		t.Fatal(err)
	}
	placed := int64(0)
	for l, err := range record.Read(bytes.NewReader(b)) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Component == "budget" {
			placed++
		}
	}
	if n < 100 || placed > n/2 {
		t.Errorf("weights were placed %d times in %d samples", placed, n)
	}
}

// An answer goes on in the least that it needs when others have taken all memory while its
// weights are brought back.
func TestTakenMeanwhile(t *testing.T) {
	c := config()
	c.Context = 128
	c.Budget.Reserve.Runtime = 1
	want := decode(t, cases[0], c, nil)
	for _, limit := range []int64{504 << 10, 552 << 10, 600 << 10} { // of 300 KiB to 650
		n := 0
		got := decode(t, cases[0], c, func(e *engine.Engine) int64 {
			if n++; n < 20 {
				return 1 << 12
			}
			switch n {
			case 20:
				e.PromiseHeld()
				ledger.Process.SetLimit(ledger.Process.Held())
			case 30:
				ledger.Process.SetLimit(math.MaxInt64)
			}
			return limit
		})
		sameRows(t, got.rows, want.rows)
	}
}

// BenchmarkWatch is what looking at memory between two steps costs: a look that
// asks the system, at most every 50 ms, and one that does not.
func BenchmarkWatch(b *testing.B) {
	e := open(b, "", watched(b))
	var pause sched.Pause
	for name, sample := range map[string]bool{"sample": true, "none": false} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Between(&pause, sample)
			}
		})
	}
}

// A file that is cut while its weights are streamed and placed again is an error
// that names it, for the request that runs and for the next one.
func TestCutWhileStreaming(t *testing.T) {
	const name = "gguf/models/llama-q4_k_m.gguf"
	b, err := os.ReadFile(filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(name)))
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := errors.Join(err, os.WriteFile(path, b, 0o666)); err != nil {
		t.Fatal(err)
	}
	c := placeConfig(1)
	_, err = describe(t, name).Place(c)
	short, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatal(err)
	}
	for _, moves := range []bool{false, true} {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		x := config()
		x.Context = c.Exec.Context
		x.Budget, x.Rules = c.Budget, c.Rules
		x.Budget.RAM = short.Floor + 1<<14
		limit := x.Budget.RAM
		x.SetLimit(func() (int64, bool) { return limit, false })
		e := open(t, path, x)
		for request := range 2 {
			st, err := e.Sched.Submit(t.Context(), sched.Request{
				Prompt: []int32{1, 2, 3}, Forced: make([]int32, 20),
				OnLogits: func(row int, _ []float32) {
					if row == 8 {
						if err := os.Truncate(path, int64(len(b)/4)); err != nil {
							t.Error(err)
						}
						if moves {
							limit = short.Floor
						}
					}
				},
			})
			if err == nil {
				st.Next()
				err = st.Err()
			}
			if !errors.Is(err, fault.ErrChanged) || !strings.Contains(err.Error(), path) {
				t.Errorf("moves %t, request %d: %v", moves, request, err)
			}
		}
	}
}
