package sched

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"atenia/internal/exec"
	"atenia/internal/machine/cpu"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// BenchmarkVerify is how long a step takes with so many drafted tokens, all rejected,
// of the model in ATENIA_SERVING, in turns, and how much processor time: docs/performance.md, "Drafted tokens".
func BenchmarkVerify(b *testing.B) {
	path := os.Getenv("ATENIA_SERVING")
	if path == "" {
		b.Skip("ATENIA_SERVING names no model")
	}
	d, err := file.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w, err := compile.Materialize(m, d)
	if err != nil {
		b.Fatal(err)
	}
	x, err := exec.New(&m.Plans, exec.Weights(w), exec.Config{Threads: 2, MaxTokens: 64, MaxLogits: 16, Context: 1024, Pack: pack.Config{Mode: pack.InMemory}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := newScheduler(x, Config{Slots: 1, Drafts: 15})
	if err != nil {
		b.Fatal(err)
	}
	defer s.shutdown()
	rng := rand.New(rand.NewPCG(1, 1))
	s.drafts.propose = func(_ *slot, ids []int32) ([]int32, int) {
		for len(ids) < cap(ids) {
			ids = append(ids, rng.Int32N(int32(m.Config.Vocab)))
		}
		return ids, 0
	}
	tests := (&model{b, m, exec.Weights(w)})
	submit(b, s, Request{Prompt: tests.tokens(1, 64), MaxTokens: 900, Speculate: SpeculateLookup}).st.req.OnLogits = nil
	for range 4 {
		s.turn()
	}
	drafts := []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15}
	took, used := map[int][]time.Duration{}, map[int][]time.Duration{}
	for b.Loop() {
		for range 7 {
			for _, n := range drafts {
				if s.drafts.gain.fixed = n; n == 0 {
					s.admission.slots[0].draft.looks = false
				}
				before := cpu.Time()
				s.turn()
				used[n] = append(used[n], cpu.Time()-before)
				s.admission.slots[0].draft.looks = true
				if s.batch.info.Rows != 1+n {
					b.Fatalf("%d rows, want %d", s.batch.info.Rows, 1+n)
				}
				took[n] = append(took[n], s.batch.info.Took)
			}
		}
	}
	for _, n := range drafts {
		slices.Sort(took[n])
		slices.Sort(used[n])
		b.ReportMetric(used[n][len(used[n])/2].Seconds()*1e3, fmt.Sprintf("cpu-ms/%d-rows", 1+n))
		b.ReportMetric(took[n][len(took[n])/2].Seconds()*1e3, fmt.Sprintf("ms/%d-rows", 1+n))
	}
}
