package sched

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/exec"
)

// A batch is the step that is filled, or in flight: rows of several sequences. The
// scheduler's goroutine owns it, except for who waits for the step in flight.
type batch struct {
	step    exec.Step
	answers int        // rows that were set aside for decoding
	prompts int        // rows of prompts that it may still have
	owners  []*slot    // owner of each run
	rows    []rowOwner // owner of each requested row of logits
	info    StepInfo
	gap     gap
	stop    atomic.Bool // tells the step in flight to stop

	mu      sync.Mutex // guards running
	running []*slot    // with rows in the step in flight; nil between steps
}

// A rowOwner names the token and the slot that a requested row of logits belongs
// to.
type rowOwner struct {
	sl    *slot
	token int // index into sl.tokens
}

// newBatch returns an empty batch. The caller sets step.Stop to the address of stop.
func newBatch(cfg *Config) batch {
	return batch{gap: gap{fixed: cfg.PromptRows, plain: make([]time.Duration, cfg.Slots+1), rows: gapRows}}
}

// reset empties the batch.
func (b *batch) reset() {
	b.step.Runs, b.step.Tokens, b.step.Requested = b.step.Runs[:0], b.step.Tokens[:0], b.step.Requested[:0]
	b.owners, b.rows, b.step.Counters, b.step.Trace = b.owners[:0], b.rows[:0], nil, nil
	b.answers = 0
}

// begin marks the step as in flight. It is stopped at once if no request waits for it.
func (b *batch) begin(a *admission) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = b.owners
	b.stop.Store(b.unwanted(a))
}

// end marks the step as ended.
func (b *batch) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = nil
}

// unwanted reports whether all requests of the step in flight were cancelled. b.mu is
// held.
func (b *batch) unwanted(a *admission) bool {
	return a.isClosed() || !slices.ContainsFunc(b.running, func(sl *slot) bool { return sl.st.cancelled.Load() == nil })
}

// stopUnwanted tells the step in flight to stop if no request waits for it, and reports
// whether it did.
func (b *batch) stopUnwanted(a *admission) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	stop := b.running != nil && b.unwanted(a)
	if stop {
		b.stop.Store(true)
	}
	return stop
}

// interrupt tells the step in flight to stop, and reports whether there is one.
func (b *batch) interrupt() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running != nil {
		b.stop.Store(true)
	}
	return b.running != nil
}
