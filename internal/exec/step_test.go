package exec_test

import (
	"errors"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden/await"
	"atenia/internal/model/compile"
	"atenia/internal/plan"
)

// decodeStep prepares a sequence so that a step of one token can be repeated
// at the same position.
func decodeStep(t testing.TB, m *model, cfg exec.Config) (*exec.Executor, *exec.Step) {
	l := m.lane(t, cfg)
	q := l.sequence(64)
	l.run(&exec.Step{}, feed{q, []int32{1, 2, 3, 4, 5}})
	s := &exec.Step{Tokens: []int32{7}, Requested: []int32{0}}
	r := exec.Run{Len: 1, Pos: 5, Span: 64}
	for _, c := range q.seqs {
		if err := c.Extend(1); err != nil {
			t.Fatal(err)
		}
		r.Pages = append(r.Pages, c.Pages())
	}
	s.Runs = []exec.Run{r}
	return l.x, s
}

// A decoded token starts no goroutine: the workers live as long as the executor.
func TestStepStartsNoGoroutine(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	cfg := small
	cfg.Threads = 2
	x, s := decodeStep(t, m, cfg)
	n := await.Started(func() {
		for range 20 {
			if err := x.Step(s); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("20 tokens started %d goroutines", n)
	}
}

// An invalid step is rejected with ErrStep and changes nothing.
func TestStepErrors(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	x, good := decodeStep(t, m, small)
	for name, spoil := range map[string]func(*exec.Step){
		"no rows":              func(s *exec.Step) { s.Tokens = nil },
		"token out of range":   func(s *exec.Step) { s.Tokens = []int32{1 << 20} },
		"negative token":       func(s *exec.Step) { s.Tokens = []int32{-1} },
		"uncovered rows":       func(s *exec.Step) { s.Tokens = []int32{1, 2} },
		"context":              func(s *exec.Step) { s.Runs[0].Pos = 256 },
		"no pages":             func(s *exec.Step) { s.Runs[0].Pages = nil },
		"short page":           func(s *exec.Step) { s.Runs[0].Pages = [][][]byte{{make([]byte, 8)}} },
		"requested beyond":     func(s *exec.Step) { s.Requested = []int32{1} },
		"requested descending": func(s *exec.Step) { s.Requested = []int32{0, 0} },
	} {
		s := *good
		s.Runs = append([]exec.Run(nil), good.Runs...)
		spoil(&s)
		if err := x.Step(&s); !errors.Is(err, exec.ErrStep) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWeightErrors(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	const name = "blk.1.attn_k"
	v, ok := m.weights[name]
	if !ok {
		t.Fatalf("no weight %s", name)
	}
	defer func() { m.weights[name] = v }()
	delete(m.weights, name)
	if _, err := exec.New(&m.Plans, m.weights, small); !errors.Is(err, plan.ErrWeightBinding) {
		t.Errorf("missing weight: %v", err)
	}
	short := v
	short.Shape = []int{v.Shape[0] / 2, v.Shape[1]}
	m.weights[name] = short
	_, err := exec.New(&m.Plans, m.weights, small)
	if w, ok := errors.AsType[*plan.WeightError](err); !ok || w.Name != name {
		t.Errorf("wrong shape: %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	if _, err := exec.New(&m.Plans, m.weights, exec.Config{Threads: -1, Context: -5}); err == nil {
		t.Error("a negative size was accepted")
	}
}

// A state that requires more than the alignment of pages is rejected.
func TestStateAlignment(t *testing.T) {
	m := openCase(t, "parity/llama3", compile.Options{})
	for align, ok := range map[uint16]bool{16: true, 64: true, 128: false} {
		m.Plans.Prefill.Plan.States[0].AlignBytes = align
		x, err := exec.New(&m.Plans, m.weights, small)
		if (err == nil) != ok || err != nil && !errors.Is(err, plan.ErrInvalidPlan) {
			t.Errorf("alignment %d: %v", align, err)
		}
		if err == nil {
			x.Close()
		}
	}
}

// BenchmarkDecode is one token of a model so small that overhead shows.
func BenchmarkDecode(b *testing.B) {
	m := openCase(b, "parity/llama3", compile.Options{})
	x, s := decodeStep(b, m, small)
	b.ReportMetric(float64(len(m.Plans.Decode.Plan.Instructions)), "instructions")
	for b.Loop() {
		if err := x.Step(s); err != nil {
			b.Fatal(err)
		}
	}
}
