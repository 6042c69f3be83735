package atenia_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"atenia"
	"atenia/internal/golden"
)

// TestLifecycles does random lists of what happens to the states of sequences in a model
// with memory for few of them: requests that begin alike, are set aside for others and
// continue, are given up, saved and read back, also from damaged files, evicted to a folder,
// and a model that is closed and opened again. Every row of logits is compared, bit for bit,
// with that of a model that computes each sequence alone, and what the model counts with
// what it says of each request.
func TestLifecycles(t *testing.T) {
	for i, name := range []string{"llama3", "gemma3", "lfm2", "qwen3_next"} { // keys and values, windows, inputs of convolutions, recurrent states
		t.Run(name, func(t *testing.T) {
			l := &lifecycle{t: t, rng: rand.New(rand.NewPCG(36, uint64(i))), path: filepath.Join(golden.Root(t), "testdata", "golden", "parity", name), dir: t.TempDir(), rows: map[string][][]float32{}, did: map[string]int{}}
			l.cfg = atenia.Config{Context: 64, Slots: 3, BatchTokens: 16, Threads: 1, CacheDir: filepath.Join(l.dir, "cache"), Checkpoint: filepath.Join(l.dir, "checkpoint")}
			p, err := atenia.OpenPlan(l.path, &l.cfg)
			if err != nil {
				t.Fatal(err)
			}
			fixed, token := p.StateBytes()
			l.cfg.CacheBytes = int64(6*fixed + 96*token)
			l.alone = l.open(atenia.Config{Context: 64, Slots: 1, BatchTokens: 16, Threads: 1, KeepBytes: -1})
			defer l.alone.Close()
			l.m = l.open(l.cfg)
			for n := 0; n < 80 || l.missing() != "" && n < 2000; n++ {
				l.step()
			}
			l.recount()
			if err := l.m.Close(); err != nil {
				t.Error(err)
			}
			if what := l.missing(); what != "" {
				t.Errorf("never: %s; %v", what, l.did)
			}
		})
	}
}

// A lifecycle is one list of operations.
type lifecycle struct {
	t         *testing.T
	rng       *rand.Rand
	path, dir string
	cfg       atenia.Config
	m, alone  *atenia.Model
	rows      map[string][][]float32 // after every token of a sequence, computed alone
	files     [3]struct{ there, damaged bool }
	did       map[string]int
}

func (l *lifecycle) open(c atenia.Config) *atenia.Model {
	l.t.Helper()
	m, err := atenia.Open(l.t.Context(), l.path, &c)
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

// missing names what has not happened yet.
func (l *lifecycle) missing() string {
	for _, what := range []string{"requests", "given up", "preempt", "resume", "reuse", "saved", "restored", "refused", "damaged", "erased", "opened again"} {
		if l.did[what] == 0 {
			return what
		}
	}
	return ""
}

// step does one random operation.
func (l *lifecycle) step() {
	file := l.rng.IntN(len(l.files))
	path, f := filepath.Join(l.dir, fmt.Sprint("slot", file)), &l.files[file]
	switch l.rng.IntN(10) {
	default:
		l.burst(1 + l.rng.IntN(4))
	case 0:
		l.giveUp()
	case 1:
		_, err := l.m.SaveSlot(l.t.Context(), l.rng.IntN(4), path)
		if err == nil {
			f.there, f.damaged = true, false
			l.did["saved"]++
		} else if !errors.Is(err, atenia.ErrSlot) {
			l.t.Fatal(err)
		}
	case 2:
		if !f.there {
			return
		}
		_, err := l.m.RestoreSlot(l.t.Context(), l.rng.IntN(4), path)
		switch {
		case f.damaged != errors.Is(err, atenia.ErrSlotFile) && !errors.Is(err, atenia.ErrSlot):
			l.t.Fatalf("a file that is damaged: %t: %v", f.damaged, err)
		case errors.Is(err, atenia.ErrSlotFile):
			l.did["refused"]++
		case err == nil:
			l.did["restored"]++
		}
	case 3:
		if f.there && !f.damaged {
			l.damage(path)
			f.damaged = true
			l.did["damaged"]++
		}
	case 4:
		for _, r := range l.m.Requests() {
			if r.Slot == 0 || r.Computed == 0 {
				continue
			}
			if n, err := l.m.EraseSlot(r.Slot); err != nil || n != r.Computed {
				l.t.Fatalf("%d tokens of slot %d erased, it had %d: %v", n, r.Slot, r.Computed, err)
			}
			l.did["erased"]++
			break
		}
	case 5:
		l.recount()
		if err := l.m.Close(); err != nil {
			l.t.Fatal(err)
		}
		if files, _ := filepath.Glob(filepath.Join(l.cfg.CacheDir, "*", "*")); len(files) > 0 && l.rng.IntN(2) == 0 {
			l.damage(files[l.rng.IntN(len(files))])
		}
		l.m = l.open(l.cfg)
		l.did["opened again"]++
	}
}

// damage changes one byte of a file.
func (l *lifecycle) damage(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	if len(b) > 0 {
		b[l.rng.IntN(len(b))] ^= 0x10
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// tokens is a sequence of a few that begin alike.
func (l *lifecycle) tokens() []int32 {
	family, n := rand.New(rand.NewPCG(uint64(l.rng.IntN(3)), 9)), 20+l.rng.IntN(30)
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = family.Int32N(int32(l.alone.Vocab()))
	}
	if l.rng.IntN(2) == 0 { // go another way in the end
		ids[n-3] = ids[0]
	}
	return ids
}

// want returns the rows after every token of a sequence, computed alone.
func (l *lifecycle) want(tokens []int32) [][]float32 {
	key := fmt.Sprint(tokens)
	if l.rows[key] == nil {
		rows, err := l.alone.Logits(l.t.Context(), tokens, atenia.LogitsOptions{All: true})
		if err != nil {
			l.t.Fatal(err)
		}
		l.rows[key] = rows
	}
	return l.rows[key]
}

// burst runs requests at once.
func (l *lifecycle) burst(n int) {
	var wait sync.WaitGroup
	for range n {
		tokens := l.tokens()
		want, first, all := l.want(tokens), 1+l.rng.IntN(len(tokens)), l.rng.IntN(5) == 0
		wait.Go(func() {
			err := l.m.EachLogits(l.t.Context(), tokens, atenia.LogitsOptions{Step: first, All: all}, func(row int, logits []float32) {
				if !slices.Equal(logits, want[row]) {
					l.t.Errorf("row %d of %d, tokens one by one after %d, differs", row, len(tokens), first)
				}
			})
			if err != nil {
				l.t.Error(err)
			}
		})
		l.did["requests"]++
	}
	wait.Wait()
}

// giveUp ends a request after its first row, while another runs.
func (l *lifecycle) giveUp() {
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() { l.burst(1) })
	err := l.m.EachLogits(ctx, slices.Repeat([]int32{3}, 40), atenia.LogitsOptions{Step: 2, All: true}, func(int, []float32) { cancel() })
	wait.Wait()
	if !errors.Is(err, context.Canceled) {
		l.t.Fatalf("given up: %v", err)
	}
	l.did["given up"]++
}

// recount compares the counts of the model that is about to be closed with its decisions.
func (l *lifecycle) recount() {
	var prompts, tokens int64
	decisions := l.m.Why("")
	for _, d := range decisions {
		l.did[d.Action]++
		if d.Action == "reuse" {
			prompts, tokens = prompts+1, tokens+d.Observed
		}
	}
	s := l.m.CacheStats()
	if len(decisions) < 4096 && (prompts != s.MemoryPrompts+s.DiskPrompts || tokens != s.MemoryTokens+s.DiskTokens) {
		l.t.Errorf("%d prompts with %d tokens were reused, counted are %+v", prompts, tokens, s)
	}
	if _, cache, _ := l.m.Memory(); cache > l.cfg.CacheBytes {
		l.t.Errorf("%d bytes of states, at most %d", cache, l.cfg.CacheBytes)
	}
}
