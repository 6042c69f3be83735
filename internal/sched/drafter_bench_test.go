package sched

import (
	"fmt"
	"maps"
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

// BenchmarkDrafter is how long a token takes with drafts of an eighth of the layers of the
// model in ATENIA_SERVING, and without, in turns, and how much processor time. Case right
// is what drafting can give at most: the layers after them add nothing, so that the drafts
// are right, and take as long as they do. Case wrong is what it costs to find out that
// drafts do not pay, of a model with random weights: docs/performance.md, "Drafted tokens".
func BenchmarkDrafter(b *testing.B) {
	b.Run("right", func(b *testing.B) { benchmarkDrafter(b, true) })
	b.Run("wrong", func(b *testing.B) { benchmarkDrafter(b, false) })
}

func benchmarkDrafter(b *testing.B, right bool) {
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
	layers := len(m.Config.Layers)
	n := max(1, layers/8)
	if m, err = compile.Compile(d, compile.Options{Early: n}); err != nil {
		b.Fatal(err)
	}
	w, err := compile.Materialize(m, d)
	if err != nil {
		b.Fatal(err)
	}
	w = maps.Clone(w)
	for i := n; right && i < layers; i++ {
		for _, name := range []string{"attn_o", "ffn_down"} {
			name = fmt.Sprintf("blk.%d.%s", i, name)
			v := w[name]
			v.Data = make([]byte, len(v.Data)) // of all types of blocks, zeros are zero
			w[name] = v
		}
	}
	tests := &model{b, m, exec.Weights(w)}
	x, err := exec.New(&m.Plans, tests.weights, exec.Config{Threads: 2, MaxTokens: 64, MaxLogits: 17, Context: 1024, Pack: pack.Config{Mode: pack.InMemory}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := newScheduler(x, Config{Slots: 1, Early: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.shutdown()
	took, used := map[Speculation][]float64{}, map[Speculation][]float64{}
	const tokens = 100
	accepted, drafted := 0, 0
	for b.Loop() {
		for range 3 {
			for _, how := range []Speculation{SpeculateOff, SpeculateDraft} {
				a := submit(b, s, Request{Prompt: tests.tokens(1, 32), MaxTokens: tokens, Speculate: how})
				a.st.req.OnLogits = nil
				s.turn()
				began, before := time.Now(), cpu.Time()
				turns(b, s, nil, a)
				took[how] = append(took[how], time.Since(began).Seconds()*1e3/(tokens-1))
				used[how] = append(used[how], (cpu.Time()-before).Seconds()*1e3/(tokens-1))
				accepted, drafted = accepted+a.st.accepted, drafted+a.st.drafted
			}
		}
	}
	for how := range took {
		slices.Sort(took[how])
		slices.Sort(used[how])
		b.ReportMetric(took[how][len(took[how])/2], "ms/token-"+how.String())
		b.ReportMetric(used[how][len(used[how])/2], "cpu-ms/token-"+how.String())
	}
	b.ReportMetric(float64(accepted)/float64(max(1, drafted)), "accepted")
	b.ReportMetric(float64(drafted), "drafted")
}
