package exec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/fault"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/memory"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/plan"
)

// streamable are models of both kinds of files: tied heads and others, several
// files, offsets that are not aligned, quantized and plain.
var streamable = []string{"parity/llama3", "parity/gemma3", "parity/qwen3", "gguf/models/llama-q4_k_m.gguf", "gguf/models/llama-f16.gguf", "gguf/models/qwen2-q5_k_m.gguf"}

// streamed opens a case with the given bytes of memory for its weights.
func streamed(t testing.TB, path string, cfg exec.Config, ram int64, pins ...string) (*model, exec.Config, *residence.Residence) {
	t.Helper()
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	m := load(t, d, compile.Options{})
	in := place.Input{Tensors: residence.Tensors(m.Model, d), RAM: ram}
	for _, s := range pins {
		p, err := place.ParsePin(s)
		if err != nil {
			t.Fatal(err)
		}
		in.Pins = append(in.Pins, p)
	}
	p, err := place.Place(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := residence.Open(t.Context(), m.Model, d, p, &residence.Config{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.Held > p.Bytes(memory.RAM)+int64(len(p.Tensors))*2*ring.PageBytes {
		t.Errorf("%d bytes are held, %d planned", r.Held, p.Bytes(memory.RAM))
	}
	m.weights = r.Weights
	cfg.Stream, cfg.Pack.Mode = r.Stream, pack.Off
	return m, cfg, r
}

func casePath(t testing.TB, name string) string {
	return filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(name))
}

// floor returns the least memory that a case's weights can be used with.
func floor(t testing.TB, path string) (least, most int64) {
	t.Helper()
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m := load(t, d, compile.Options{})
	in := place.Input{Tensors: residence.Tensors(m.Model, d), RAM: 1}
	for i := range in.Tensors {
		most += in.Tensors[i].Bytes
	}
	_, err = place.Place(in)
	e, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatalf("one byte of memory: %v", err)
	}
	return e.Floor, most
}

// TestStreamedEqualsHeld: for every choice of pinned weights the logits are the
// same bytes, for prompts in chunks, single tokens and batches.
func TestStreamedEqualsHeld(t *testing.T) {
	for _, name := range streamable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := casePath(t, name)
			whole := openCase(t, name, compile.Options{})
			tokens := randomTokens(21, 41, whole.Config.Vocab)
			want := whole.lane(t, small).all(tokens, len(tokens))
			least, most := floor(t, path)
			seen, packed := 0, int64(0)
			for i, ram := range []int64{least, least + (most-least)/4, least + (most-least)/2, most - (most-least)/8} {
				for k, threads := range []int{1, 3} {
					if i%2 != k && !await.Long() {
						continue
					}
					cfg := small
					cfg.Threads = threads
					m, cfg, r := streamed(t, path, cfg, ram)
					if r.Stream.Ring == nil {
						continue
					}
					seen++
					l := m.lane(t, cfg)
					sameRows(t, fmt.Sprintf("%d bytes of %d", ram, most), l.all(tokens, 23, 1), want)
					sameRows(t, "chunks", l.all(tokens, 7), want)
					batch(t, l, tokens, want)
					sameRows(t, "a second executor", m.lane(t, cfg).all(tokens[:5], 5), want[:5])
					packed = max(packed, l.x.Packing().Held)
					if s := r.Stream.Ring.Stats(); s.Passes < 27 || s.Read < s.Passes*r.Streamed {
						t.Errorf("%d bytes are streamed; %+v", r.Streamed, s)
					}
				}
			}
			if packed == 0 && !strings.HasSuffix(name, "_k_m.gguf") { // whose packed form is larger
				t.Error("no weights that stay were packed")
			}
			if seen == 0 {
				t.Error("nothing was streamed")
			}
		})
	}
}

// batch feeds one sequence a chunk and three others a token in one step.
func batch(t *testing.T, l *lane, tokens []int32, want [][]float32) {
	var feeds []feed
	for range 4 {
		feeds = append(feeds, feed{l.sequence(len(tokens)), tokens[:5]})
	}
	l.run(&exec.Step{}, feeds...)
	for i := range feeds {
		feeds[i].tokens = tokens[5:6]
	}
	feeds[2].tokens = tokens[5:12]
	rows := l.run(&exec.Step{}, feeds...)
	sameRows(t, "batch", rows, append(append([][]float32{want[5], want[5]}, want[5:12]...), want[5]))
}

// TestStreamedTable: a table whose rows are read from the file, tied to a
// streamed head or not, gives the results of one in memory; and pins hold.
func TestStreamedTable(t *testing.T) {
	for _, name := range streamable {
		whole := openCase(t, name, compile.Options{})
		tokens := randomTokens(4, 20, whole.Config.Vocab)
		want := whole.lane(t, small).all(tokens, len(tokens))
		path := casePath(t, name)
		least, most := floor(t, path)
		m, cfg, r := streamed(t, path, small, least+most, "token_embd=ssd", "ffn_down=ssd")
		if len(r.Stream.Tables) != 1 || r.Streamed == 0 {
			t.Errorf("%s: %d tables, %d bytes streamed", name, len(r.Stream.Tables), r.Streamed)
		}
		sameRows(t, name, m.lane(t, cfg).all(tokens, 13, 1), want)
	}
}

// TestStreamedStep: a token costs no allocation and no goroutine if its weights
// are streamed; nor does a prompt without logits, which skips the head.
func TestStreamedStep(t *testing.T) {
	path := casePath(t, "gguf/models/llama-q4_k_m.gguf")
	least, _ := floor(t, path)
	for _, threads := range []int{1, 2} {
		cfg := small
		cfg.Threads = threads
		m, cfg, _ := streamed(t, path, cfg, least)
		x, s := decodeStep(t, m, cfg)
		s.Stop = new(atomic.Bool)
		gone := await.Goroutines(t)
		one := func() {
			if err := x.Step(s); err != nil {
				t.Fatal(err)
			}
		}
		if n := await.Allocs(30, one); n != 0 {
			t.Errorf("%d threads: %g allocations a token", threads, n)
		}
		want := slices.Clone(x.Logits(s, 0))
		quiet := *s
		quiet.Requested = nil
		for range 5 {
			if err := x.Step(&quiet); err != nil {
				t.Fatal(err)
			}
		}
		one()
		if !slices.Equal(want, x.Logits(s, 0)) {
			t.Error("a step after one without logits gives others")
		}
		gone()
		s.Stop.Store(true)
		x.Wake()
		if err := x.Step(s); !errors.Is(err, exec.ErrStopped) {
			t.Errorf("a stopped step: %v", err)
		}
		s.Stop.Store(false)
		one()
		if !slices.Equal(want, x.Logits(s, 0)) {
			t.Error("a step after a stopped one gives others")
		}
	}
}

// cutDuring streams a model in the least memory, cuts its file and checks that the
// next step says so. It returns where the weights are.
func cutDuring(t *testing.T, name string) *residence.Residence {
	t.Helper()
	whole, err := os.ReadFile(casePath(t, name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	least, _ := floor(t, path)
	m, cfg, r := streamed(t, path, small, least)
	x, s := decodeStep(t, m, cfg)
	if err := os.Truncate(path, 5000); err != nil {
		t.Fatal(err)
	}
	if err := x.Step(s); !errors.Is(err, fault.ErrChanged) {
		t.Errorf("a file that was cut: %v", err)
	}
	return r
}

// TestStreamedFaults: a file that is written to, or that loses its end, is the
// error of the next step, not a crash.
func TestStreamedFaults(t *testing.T) {
	r := cutDuring(t, "gguf/models/llama-q4_k_m.gguf")
	for _, tb := range r.Stream.Tables {
		if err := tb.ReadRow(make([]byte, 64), 3); err == nil {
			t.Error("a row behind the end was read")
		}
	}
}

// TestStreamErrors: units that do not fit the reads of the plan are rejected
// when it is bound.
func TestStreamErrors(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	for name, units := range map[string]map[string]int{
		"another order":     {"blk.0.ffn_down": 0, "blk.0.attn_q": 1},
		"twice":             {"blk.0.ffn_down": 0, "blk.1.ffn_down": 0},
		"a product in two":  {"blk.0.attn_q": 0, "blk.0.attn_k": 1},
		"more than is used": {"blk.0.attn_q": 0, "nothing": 1},
	} {
		cfg := small
		cfg.Stream.Units = units
		if _, err := exec.New(&m.Plans, m.weights, cfg); !errors.Is(err, plan.ErrWeightBinding) && !errors.Is(err, plan.ErrInvalidPlan) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
