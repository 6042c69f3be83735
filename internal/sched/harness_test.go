package sched

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// A model is a compiled model with its weights, for any number of schedulers.
type model struct {
	t testing.TB
	*compile.Model
	weights exec.Weights
}

func open(t testing.TB, name string) *model {
	t.Helper()
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := compile.Materialize(m, d)
	if err != nil {
		t.Fatal(err)
	}
	return &model{t, m, exec.Weights(w)}
}

// small makes chunks, context and rows of logits so short that every limit is
// met.
var small = exec.Config{Threads: 1, MaxTokens: 24, MaxLogits: 8, Context: 256}

func (m *model) executor(cfg exec.Config) *exec.Executor {
	m.t.Helper()
	x, err := exec.New(&m.Plans, m.weights, cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	return x
}

// start returns a running scheduler.
func (m *model) start(ec exec.Config, cfg Config) *Scheduler {
	m.t.Helper()
	s, err := New(m.executor(ec), cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(s.Close)
	return s
}

// still returns a scheduler without its goroutine: the test makes its turns
// and may look at everything in between.
func (m *model) still(ec exec.Config, cfg Config) *Scheduler {
	m.t.Helper()
	s, err := newScheduler(m.executor(ec), cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		s.shutdown()
		checkEmpty(m.t, s)
	})
	return s
}

// checkEmpty fails when a page or a sequence of a closed scheduler still has
// an owner.
func checkEmpty(t testing.TB, s *Scheduler) {
	t.Helper()
	pools := s.storage.pools
	if s.drafts.model != nil {
		pools = slices.Concat(pools, s.drafts.model.pools)
	}
	for i, pool := range pools {
		c := pool.Cache()
		if st := c.Stats(); st.Used != 0 || st.Shared != 0 || st.Seqs != 0 {
			t.Errorf("state %d: %d pages and %d sequences were not given back", i, st.Used, st.Seqs)
		}
	}
}

// usedBytes returns the bytes of pages with an owner.
func usedBytes(s *Scheduler) (n int64) {
	for _, pool := range s.storage.pools {
		c := pool.Cache()
		n += c.Stats().UsedBytes
	}
	return n
}

// tokens returns n random tokens; equal seeds begin alike.
func (m *model) tokens(seed uint64, n int) []int32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = rng.Int32N(int32(m.Config.Vocab))
	}
	return ids
}

// An answer is a request under way, and all that came of it.
type answer struct {
	st     *Stream
	tokens []int32
	tops   []Token
	rows   []int       // tokens that OnLogits saw
	logits [][]float32 // and what came after them
}

// submit starts a request and writes down its logits.
func submit(t testing.TB, s *Scheduler, r Request) *answer {
	t.Helper()
	a, err := try(s, r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func try(s *Scheduler, r Request) (*answer, error) {
	a := &answer{}
	r.OnLogits = func(row int, logits []float32) {
		a.rows, a.logits = append(a.rows, row), append(a.logits, slices.Clone(logits))
	}
	var err error
	a.st, err = s.Submit(context.Background(), r)
	return a, err
}

// collect reads the stream to its end.
func (a *answer) collect() *answer {
	for {
		tok, ok := a.st.Next()
		if !ok {
			return a
		}
		a.tokens, a.tops = append(a.tokens, tok.ID), append(a.tops, tok)
	}
}

// ended reports whether the scheduler is done with the request.
func (a *answer) ended() bool {
	return a.st.finish != "" || a.st.err != nil
}

// turns runs a still scheduler until all answers have ended and returns how
// many rows were computed; each sees the scheduler after every turn.
func turns(t testing.TB, s *Scheduler, each func(), answers ...*answer) (rows int) {
	t.Helper()
	for range 100_000 {
		if !slices.ContainsFunc(answers, func(a *answer) bool { return !a.ended() }) {
			for _, a := range answers {
				a.collect()
			}
			return rows
		}
		if s.turn() {
			rows += len(s.batch.step.Tokens)
		} else {
			for _, t := range s.kept.disk.moves {
				<-t.done
			}
			for _, sl := range s.admission.slots {
				for sl.late.waits && len(sl.ahead.found) == 0 {
					runtime.Gosched()
				}
			}
		}
		if each != nil {
			each()
		}
	}
	t.Fatal("requests do not end")
	return 0
}

// alone is what a request yields in a scheduler of its own, in one chunk.
func (m *model) alone(r Request) *answer {
	m.t.Helper()
	s, err := New(m.executor(exec.Config{Threads: 1, MaxTokens: 256, MaxLogits: 256, Context: small.Context}), Config{Slots: 1})
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close()
	a := submit(m.t, s, r).collect()
	if a.st.Err() != nil {
		m.t.Fatal(a.st.Err())
	}
	return a
}

// same fails when an answer differs in a token or in a bit of its logits.
func same(t testing.TB, what string, got, want *answer) {
	t.Helper()
	if err := got.st.Err(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got.st.Finish() != want.st.Finish() || !slices.Equal(got.tokens, want.tokens) {
		t.Fatalf("%s: tokens %v (%s), want %v (%s)", what, got.tokens, got.st.Finish(), want.tokens, want.st.Finish())
	}
	if !slices.Equal(got.rows, want.rows) {
		t.Fatalf("%s: logits after tokens %v, want %v", what, got.rows, want.rows)
	}
	for i := range want.logits {
		if !slices.Equal(got.logits[i], want.logits[i]) {
			t.Fatalf("%s: logits after token %d differ", what, want.rows[i])
		}
	}
}

// join returns the concatenation of token lists.
func join(lists ...[]int32) []int32 { return slices.Concat(lists...) }
