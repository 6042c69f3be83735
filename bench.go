package atenia

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"atenia/internal/kernel"
)

// A BenchConfig says what [Model.Bench] measures. The zero value is
// llama-bench's: prompts of 512, answers of 128 tokens, 5 times.
type BenchConfig struct {
	Prompt  int // tokens of a prompt; 0 = 512, negative = leave out
	Decode  int // tokens of an answer; 0 = 128, negative = leave out
	Repeats int // 0 = 5
	// Counters asks for [BenchReport.Counters]. Counting is done apart from
	// timing, which it would slow down.
	Counters bool
}

// A BenchReport is what a model does in a second. Rates are medians over the
// repeats after one warm-up.
type BenchReport struct {
	Prefill, Decode Rate
	// TokenBytes is how many bytes of weights one decoded token reads.
	TokenBytes int64
	// Bandwidth is the measured memory bandwidth in bytes a second, and Share
	// the part of it that decoding uses.
	Bandwidth, Share float64
	Threads          int
	Variant          string // of the kernels, for example "avx512"
	// Counters is nil when they were not asked for.
	Counters *BenchCounters
}

// A Rate is tokens a second.
type Rate struct {
	Tokens           int
	Median, Min, Max float64
	Samples          []float64 // in the order they were taken
}

// Bench measures prefill and decode with random tokens, one sequence at a
// time, on this machine as it is now.
func (m *Model) Bench(ctx context.Context, c BenchConfig) (*BenchReport, error) {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&c.Prompt, 512)
	set(&c.Decode, 128)
	set(&c.Repeats, 5)
	switch context := m.Context(); {
	case c.Prompt > context:
		return nil, &ConfigError{"Prompt", c.Prompt, fmt.Sprintf("at most the context of %d tokens", context)}
	case c.Decode >= context:
		return nil, &ConfigError{"Decode", c.Decode, fmt.Sprintf("less than the context of %d tokens", context)}
	case c.Repeats < 1:
		return nil, &ConfigError{"Repeats", c.Repeats, "1 or more"}
	}
	r := &BenchReport{TokenBytes: m.tokenBytes, Threads: m.cfg.Threads, Variant: kernel.Variant()}
	var err error
	if c.Counters {
		if r.Counters, err = m.count(ctx, c.Prompt, c.Decode > 0); err != nil {
			return nil, err
		}
	}
	if c.Prompt > 0 {
		if r.Prefill, err = rate(c.Repeats, c.Prompt, func() (float64, error) { return m.prefill(ctx, c.Prompt) }); err != nil {
			return nil, err
		}
	}
	if c.Decode > 0 {
		if r.Decode, err = rate(c.Repeats, c.Decode, func() (float64, error) { return m.decode(ctx, c.Decode) }); err != nil {
			return nil, err
		}
		r.Bandwidth = kernel.MeasureBandwidth(m.cfg.Threads)
		r.Share = r.Decode.Median * float64(m.tokenBytes) / r.Bandwidth
	}
	return r, nil
}

// rate takes samples, of which the first is a warm-up.
func rate(repeats, tokens int, sample func() (float64, error)) (Rate, error) {
	r := Rate{Tokens: tokens}
	for i := range repeats + 1 {
		speed, err := sample()
		if err != nil {
			return Rate{}, err
		}
		if i > 0 {
			r.Samples = append(r.Samples, speed)
		}
	}
	r.Median, r.Min, r.Max = spread(r.Samples)
	return r, nil
}

func spread(samples []float64) (median, low, high float64) {
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2, s[0], s[n-1]
}

// randomTokens returns n tokens that, but for chance, no sequence began with
// yet: nothing that was computed before can be used again.
func (m *Model) randomTokens(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = rand.Int32N(int32(m.Vocab()))
	}
	return ids
}

// prefill returns the speed of a prompt of n tokens.
func (m *Model) prefill(ctx context.Context, n int) (float64, error) {
	start := time.Now()
	var d time.Duration
	err := m.EachLogits(ctx, m.randomTokens(n), LogitsOptions{}, func(int, []float32) { d = time.Since(start) })
	return float64(n) / d.Seconds(), err
}

// decode returns the speed of feeding n tokens one by one.
func (m *Model) decode(ctx context.Context, n int) (float64, error) {
	var start time.Time
	var d time.Duration
	err := m.EachLogits(ctx, m.randomTokens(n+1), LogitsOptions{All: true, Step: 1}, func(row int, _ []float32) {
		if row == 0 {
			start = time.Now()
		}
		d = time.Since(start)
	})
	return float64(n) / d.Seconds(), err
}
