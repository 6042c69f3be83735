package sched

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/memory/ring"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// A gated file blocks reads until its gate is opened.
type gated struct {
	*ring.File
	gate chan struct{}
}

func (g gated) ReadAt(p []byte, off int64) (int, error) {
	<-g.gate
	return g.File.ReadAt(p, off)
}

// slow returns a scheduler of a model of which one weight comes from a file
// that is as slow as the test wants.
func slow(t *testing.T) (s *Scheduler, gate chan struct{}) {
	t.Helper()
	m := open(t, "llama3")
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", "llama3"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const name = "blk.1.ffn_down"
	w := m.Weights[name]
	place, ok := compile.Locate(&w, d)
	if !ok {
		t.Fatalf("%s is no piece of a file", name)
	}
	f, err := ring.Open(place.File)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	unit := ring.Unit{{Offset: place.Offset, Bytes: len(place.View.Data), Align: place.Align}}
	gate = make(chan struct{})
	r, err := ring.New(ring.Config{Files: []ring.Source{gated{f, gate}}, Units: []ring.Unit{unit}, Bytes: ring.Floor([]ring.Unit{unit})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	m.weights = maps.Clone(m.weights)
	v := m.weights[name]
	v.Data = r.Bytes(0, 0)
	m.weights[name] = v
	cfg := small
	cfg.Stream = exec.Stream{Ring: r, Units: map[string]int{name: 0}}
	return m.start(cfg, Config{}), gate
}

// TestCancelSlowStep: a request whose step waits for the disk ends when it is
// cancelled, and the next one runs; one that others still wait for goes on.
func TestCancelSlowStep(t *testing.T) {
	s, gate := slow(t)
	ctx, cancel := context.WithCancel(t.Context())
	st, err := s.Submit(ctx, Request{Prompt: []int32{1, 2, 3}, MaxTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "a step in flight", s.waiting)
	cancel()
	if _, ok := st.Next(); ok || !errors.Is(st.Err(), context.Canceled) { // hangs if the step does
		t.Fatalf("a cancelled request: %v", st.Err())
	}
	close(gate)
	again, err := s.Submit(t.Context(), Request{Prompt: []int32{1, 2, 3}, MaxTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, ok := again.Next(); ok; _, ok = again.Next() {
		n++
	}
	if err := again.Err(); err != nil || n != 4 {
		t.Errorf("%d tokens after a cancelled request, %v", n, err)
	}
}

// TestCloseSlowStep: closing ends a step that waits for the disk.
func TestCloseSlowStep(t *testing.T) {
	s, gate := slow(t)
	st, err := s.Submit(t.Context(), Request{Prompt: []int32{1, 2, 3}, MaxTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "a step in flight", s.waiting)
	s.Close() // hangs if the step does
	if _, ok := st.Next(); ok || !errors.Is(st.Err(), ErrClosed) {
		t.Errorf("a request of a closed model: %v", st.Err())
	}
	close(gate)
}

// waiting reports whether a step is in flight.
func (s *Scheduler) waiting() bool {
	s.batch.mu.Lock()
	defer s.batch.mu.Unlock()
	return s.batch.running != nil
}
