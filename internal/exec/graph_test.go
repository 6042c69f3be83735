package exec_test

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"atenia/internal/exec"
	"atenia/internal/golden/await"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
)

// Recorded steps give the same bits as others, are evaluated once each, and allocate
// nothing.
func TestGraph(t *testing.T) {
	for _, name := range invariant {
		m := openCase(t, name, compile.Options{})
		tokens := randomTokens(12, 40, m.Config.Vocab)
		cfg := small
		cfg.Threads = 2
		want := m.lane(t, cfg).all(tokens, 30, 1)
		cfg.Backend = "graph"
		l, c := m.lane(t, cfg), &exec.Counters{}
		q := l.sequence(len(tokens))
		rows := l.run(&exec.Step{Counters: c}, feed{q, tokens[:30]})
		instructions := c.Total()
		for _, id := range tokens[30:] {
			rows = append(rows, l.run(&exec.Step{Counters: c}, feed{q, []int32{id}})...)
		}
		sameRows(t, name, rows, want)
		if c.Evaluations() != 11 || instructions != uint64(len(m.Plans.Prefill.Plan.Instructions)) {
			t.Errorf("%s: %d evaluations of 11 steps, the first of %d instructions", name, c.Evaluations(), instructions)
		}
		x, s := decodeStep(t, m, cfg)
		if n := await.Allocs(20, func() {
			if err := x.Step(s); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %g allocations per recorded token", name, n)
		}
	}
}

// A batch above the capability of the backend that records goes to the next one, plan by
// plan, or is refused before any weight is read.
func TestGraphBatch(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	cfg := exec.Config{Threads: 1, MaxTokens: 600, MaxLogits: 600, Context: 700, Backend: "graph"}
	_, err := exec.New(&m.Plans, nil, cfg)
	if e, ok := errors.AsType[*plan.BatchError](err); !ok || e.Backend != exec.Graph.Name() || e.Batch != 600 || !errors.Is(err, plan.ErrBatchUnsupported) {
		t.Errorf("got %v", err)
	}
	cfg.Backend, cfg.MaxLogits = "graph,cpu", 8
	l, c := m.lane(t, cfg), &exec.Counters{}
	q := l.sequence(64)
	for k, want := range []uint64{0, 1, 2} { // the prompt on the processor, tokens recorded
		l.run(&exec.Step{Counters: c}, feed{q, randomTokens(uint64(k), max(1, 8-8*k), m.Config.Vocab)})
		if c.Evaluations() != want {
			t.Errorf("step %d: %d evaluations, want %d", k, c.Evaluations(), want)
		}
	}
	if _, err := exec.New(&m.Plans, m.weights, exec.Config{Backend: "gpu"}); err == nil {
		t.Error("there is no such backend")
	}
}

// graphImages compares a step with images that is recorded with one that is not, and looks
// at the memory in which rows go from one stage to the next: nothing else is written there
// until the consumer has released it, then something is.
func graphImages(t *testing.T, m *model, spans []exec.Span, tokens []int32, want [][]float32) {
	cfg := exec.Config{Threads: 2, MaxLogits: 512, Context: 512, Backend: "graph"}
	at := slices.IndexFunc(m.Plans.Handoffs, func(h plan.Handoff) bool { return h.From == plan.ModeScatter })
	last := uint32(len(m.Plans.Prefill.Plan.Instructions) - 1)
	read := m.Plans.Handoffs[at].ReleaseAfter
	for _, release := range []uint32{read, (read + last) / 2, last} {
		held := *m.Model
		held.Plans.Handoffs = slices.Clone(m.Plans.Handoffs)
		held.Plans.Handoffs[at].ReleaseAfter = release
		l := (&model{&held, m.weights, m.files}).lane(t, cfg)
		l.spans = spans
		c := &exec.Counters{}
		sameRows(t, "recorded", l.run(&exec.Step{Counters: c}, feed{l.sequence(len(tokens)), tokens}), want)
		if c.Evaluations() != 2 { // rows that leave a stage are waited for
			t.Errorf("%d evaluations of two stages", c.Evaluations())
		}
		scattered, handed := len(m.Plans.Scatter.Plan.Instructions), uintptr(0)
		reused := false
		l.run(&exec.Step{Trace: func(i int, _ *plan.Instruction, _ int, values []float32, _ int) {
			p := uintptr(unsafe.Pointer(unsafe.SliceData(values)))
			if scattered--; scattered >= 0 {
				handed = p
				return
			}
			if p == handed && uint32(i) < release {
				t.Errorf("instruction %d writes the rows of images, released after %d", i, release)
			}
			reused = reused || p == handed
		}}, feed{l.sequence(len(tokens)), tokens})
		if !reused && release == read {
			t.Errorf("released after instruction %d of %d and not used again", release, last)
		}
	}
}
