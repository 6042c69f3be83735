package atenia_test

import (
	"testing"

	"atenia"
)

// bench measures the embedded model as little as can be.
func bench(t *testing.T, m *atenia.Model, c atenia.BenchConfig) *atenia.BenchReport {
	t.Helper()
	c.Repeats = 1
	r, err := m.Bench(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBenchCounters compares what was counted with the plan: every
// instruction of it once in each step.
func TestBenchCounters(t *testing.T) {
	m := open(t, &atenia.Config{BatchTokens: 32})
	r := bench(t, m, atenia.BenchConfig{Prompt: 80, Decode: 2, Counters: true})
	plans := m.Plan().Plans
	for _, c := range []struct {
		name   string
		got    atenia.StepCounts
		tokens int
		want   int
	}{
		{"prefill", r.Counters.Prefill, 80, 3 * len(plans.Prefill.Plan.Instructions)},
		{"decode", r.Counters.Decode, 1, len(plans.Decode.Plan.Instructions)},
	} {
		sum := uint64(0)
		for _, o := range c.got.Ops {
			sum += o.Count
		}
		if c.got.Tokens != c.tokens || c.got.Instructions != uint64(c.want) || sum != uint64(c.want) || c.got.Launches == 0 {
			t.Errorf("%s: %+v, want %d instructions for %d tokens", c.name, c.got, c.want, c.tokens)
		}
	}
	if r := bench(t, m, atenia.BenchConfig{Prompt: -1, Decode: 2}); r.Counters != nil || r.Prefill.Tokens != 0 {
		t.Errorf("%+v: not asked for", r)
	}
}
