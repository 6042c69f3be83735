package atenia_test

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"atenia"
	"atenia/internal/machine/cpu"
)

// served opens the model in ATENIA_SERVING, or the embedded one.
func served(b *testing.B, c *atenia.Config) *atenia.Model {
	m, err := atenia.Open(b.Context(), os.Getenv("ATENIA_SERVING"), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	return m
}

// someTokens returns n tokens which begin with the numbers of from.
func someTokens(m *atenia.Model, from, n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(3 + (from*7919+i*104729+i*i)%(m.Vocab()-3))
	}
	return ids
}

// serveOne generates and returns the time to the first token and the number of them.
func serveOne(b *testing.B, m *atenia.Model, p atenia.Prompt) (first time.Duration, n int) {
	p.IgnoreEnd, p.Speculate = true, "off"
	began := time.Now()
	for tok, err := range m.Generate(context.Background(), p) {
		if err != nil {
			b.Error(err)
			return first, n
		}
		if tok.Finish == "" {
			if n++; n == 1 {
				first = time.Since(began)
			}
		}
	}
	return first, n
}

// BenchmarkServing measures streams at once, the first token with a cached prefix of
// 1,000 tokens and without, and the gaps of a request while a long prompt is read,
// with the model in ATENIA_SERVING: the rows of docs/performance.md, "Serving".
func BenchmarkServing(b *testing.B) {
	for _, streams := range []int{1, 8} {
		b.Run(map[int]string{1: "stream", 8: "streams/8"}[streams], func(b *testing.B) {
			m := served(b, &atenia.Config{Slots: 8, Context: 1024})
			tokens, used := 0, cpu.Time()
			var mu sync.Mutex
			for b.Loop() {
				var wait sync.WaitGroup
				for i := range streams {
					wait.Go(func() {
						_, n := serveOne(b, m, atenia.Prompt{Tokens: someTokens(m, i, 8), Options: atenia.Options{MaxTokens: 32}})
						mu.Lock()
						tokens += n
						mu.Unlock()
					})
				}
				wait.Wait()
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
			b.ReportMetric((cpu.Time()-used).Seconds()*1e3/float64(tokens), "cpu-ms/token")
		})
	}
	b.Run("first", func(b *testing.B) {
		m := served(b, &atenia.Config{Context: 1024})
		var cold, warm time.Duration
		for i := 0; b.Loop(); i++ {
			p := atenia.Prompt{Tokens: someTokens(m, 100+i, 1000), Options: atenia.Options{MaxTokens: 1}}
			d, _ := serveOne(b, m, p)
			cold += d
			p.Tokens = append(p.Tokens, 5, 6, 7, 8)
			d, _ = serveOne(b, m, p)
			warm += d
		}
		b.ReportMetric(cold.Seconds()*1e3/float64(b.N), "cold-ms")
		b.ReportMetric(warm.Seconds()*1e3/float64(b.N), "cached-ms")
		b.ReportMetric(100*warm.Seconds()/cold.Seconds(), "%cached")
	})
	b.Run("first/disk", func(b *testing.B) {
		dir := b.TempDir()
		var cold, read time.Duration
		tokens, bytes := int64(0), int64(0)
		for i := 0; b.Loop(); i++ {
			p := atenia.Prompt{Tokens: someTokens(served(b, nil), 100+i, 1000), Options: atenia.Options{MaxTokens: 1}}
			for again := range 2 { // the second time in a model that was opened again
				m := served(b, &atenia.Config{Context: 1024, CacheDir: dir})
				warm := atenia.Prompt{Tokens: someTokens(m, 5000+2*i+again, 4), Options: atenia.Options{MaxTokens: 1}}
				serveOne(b, m, warm)
				d, _ := serveOne(b, m, p)
				if c := m.CacheStats(); again == 0 {
					cold += d
				} else {
					read, tokens, bytes = read+d, tokens+c.DiskTokens, bytes+c.ReadBytes
				}
				if err := m.Close(); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(cold.Seconds()*1e3/float64(b.N), "cold-ms")
		b.ReportMetric(read.Seconds()*1e3/float64(b.N), "disk-ms")
		b.ReportMetric(float64(tokens)/float64(b.N), "tokens-read")
		b.ReportMetric(float64(bytes)/float64(b.N), "bytes-read")
	})
	for _, depth := range []int{0, 28_000} {
		b.Run(map[int]string{0: "gap", 28_000: "gap/after/28000"}[depth], func(b *testing.B) {
			m := served(b, &atenia.Config{Context: depth + 2048, Threads: max(1, runtime.NumCPU()-1)}) // one core sees tokens as they come
			if m.Context() < depth+2048 {
				b.Skipf("the model's context is %d, want %d", m.Context(), depth+2048)
			}
			if depth > 0 { // which is cached from then on
				serveOne(b, m, atenia.Prompt{Tokens: someTokens(m, 300, depth), Options: atenia.Options{MaxTokens: 1}})
			}
			var by [2]gapTimes // the clock and the processor
			for i := 0; b.Loop(); i++ {
				for k, g := range gaps(b, m, depth, i) {
					by[k].add(g)
				}
			}
			for k, unit := range []string{"", "-cpu"} {
				g := by[k]
				b.ReportMetric(g.alone.Seconds()*1e3/float64(b.N), "alone-ms"+unit)
				b.ReportMetric(g.beside.Seconds()/g.alone.Seconds(), "steps"+unit)
				b.ReportMetric(g.worst.Seconds()/g.alone.Seconds(), "steps-worst"+unit)
			}
		})
	}
}

// gapTimes are medians of times between tokens, alone and beside a prompt, and the
// longest beside it.
type gapTimes struct{ alone, beside, worst time.Duration }

func (g *gapTimes) add(h gapTimes) {
	g.alone, g.beside, g.worst = g.alone+h.alone, g.beside+h.beside, g.worst+h.worst
}

// gaps generates 48 tokens, 400 behind a depth, where the cached ones take their time, and
// lets a prompt of depth cached tokens and 1,900 others be read from the 16th on. It returns the times between tokens by the clock and by the
// processor time of this process, which other processes do not lengthen.
func gaps(b *testing.B, m *atenia.Model, depth, i int) [2]gapTimes {
	ctx, stop := context.WithCancel(b.Context())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	var times [2][]time.Duration
	last, used := time.Now(), cpu.Time()
	p := atenia.Prompt{Tokens: someTokens(m, 200+i, 8), Options: atenia.Options{MaxTokens: 48, IgnoreEnd: true, Speculate: "off"}}
	if depth > 0 {
		p.MaxTokens = 400
	}
	for tok, err := range m.Generate(ctx, p) {
		if err != nil {
			b.Fatal(err)
		}
		if tok.Finish != "" {
			continue
		}
		now, u := time.Now(), cpu.Time()
		times[0], times[1] = append(times[0], now.Sub(last)), append(times[1], u-used)
		last, used = now, u
		if len(times[0]) == 16 {
			wait.Go(func() {
				ids := append(someTokens(m, 300, depth), someTokens(m, 301+i, 1900)...)
				for range m.Generate(ctx, atenia.Prompt{Tokens: ids, Options: atenia.Options{MaxTokens: 1}}) { // canceled when the answer has ended
				}
			})
		}
	}
	var out [2]gapTimes
	for k, d := range times {
		alone, beside := d[2:16], d[18:]
		slices.Sort(alone)
		slices.Sort(beside)
		out[k] = gapTimes{alone[len(alone)/2], beside[len(beside)/2], beside[len(beside)-1]}
	}
	return out
}

// BenchmarkSpeculation measures decoding with drafts and without, in turns, of a text
// that repeats itself, with the model in ATENIA_SERVING: the prompt is an answer of the
// model to a prompt, and that prompt again.
func BenchmarkSpeculation(b *testing.B) {
	m := served(b, &atenia.Config{Slots: 1, Context: 1024})
	first := someTokens(m, 1, 24)
	answer := func(tokens []int32, n int, how string) (ids []int32, perSecond, each float64, u atenia.Usage) {
		p := atenia.Prompt{Tokens: tokens, Options: atenia.Options{MaxTokens: n, IgnoreEnd: true, Speculate: how}}
		began, used := time.Now(), cpu.Time() // the prompt is cached but for the first time
		for tok, err := range m.Generate(context.Background(), p) {
			if err != nil {
				b.Fatal(err)
			}
			if tok.Finish != "" {
				u = *tok.Usage
			} else {
				ids = append(ids, tok.ID)
			}
		}
		n = len(ids)
		return ids, float64(n) / time.Since(began).Seconds(), (cpu.Time() - used).Seconds() * 1e3 / float64(n), u
	}
	written, _, _, _ := answer(first, 120, "off")
	prompt := slices.Concat(first, written, first, written, first)
	answer(prompt, 1, "off")
	speeds, costs := map[string][]float64{}, map[string][]float64{}
	var used atenia.Usage
	for b.Loop() {
		for range 5 {
			for _, how := range []string{"off", "auto"} {
				_, v, each, u := answer(prompt, 120, how)
				speeds[how], costs[how], used = append(speeds[how], v), append(costs[how], each), u
			}
		}
	}
	for how, v := range speeds {
		slices.Sort(v)
		slices.Sort(costs[how])
		b.ReportMetric(v[len(v)/2], how+"-tokens/s")
		b.ReportMetric(costs[how][len(v)/2], how+"-cpu-ms/token")
	}
	b.ReportMetric(float64(used.Drafted), "drafted")
	b.ReportMetric(float64(used.Accepted), "accepted")
}
