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
}

// A Rate is tokens a second.
type Rate struct {
	Tokens           int
	Median, Min, Max float64
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
	if c.Prompt > 0 {
		if r.Prefill, err = m.rate(ctx, c.Repeats, c.Prompt, m.timePrefill); err != nil {
			return nil, err
		}
	}
	if c.Decode > 0 {
		if r.Decode, err = m.rate(ctx, c.Repeats, c.Decode, m.timeDecode); err != nil {
			return nil, err
		}
		r.Bandwidth = kernel.MeasureBandwidth(m.cfg.Threads)
		r.Share = r.Decode.Median * float64(m.tokenBytes) / r.Bandwidth
	}
	return r, nil
}

func (m *Model) rate(ctx context.Context, repeats, tokens int, run func(context.Context, []int32) (time.Duration, error)) (Rate, error) {
	var rates []float64
	for i := range repeats + 1 {
		// Other tokens each time, so that no cached beginning is used again.
		d, err := run(ctx, m.randomTokens(uint64(i), tokens+1))
		if err != nil {
			return Rate{}, err
		}
		if i > 0 {
			rates = append(rates, float64(tokens)/d.Seconds())
		}
	}
	slices.Sort(rates)
	n := len(rates)
	return Rate{tokens, (rates[(n-1)/2] + rates[n/2]) / 2, rates[0], rates[n-1]}, nil
}

func (m *Model) randomTokens(seed uint64, n int) []int32 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = rng.Int32N(int32(m.Vocab()))
	}
	ids[0] = int32(seed) % int32(m.Vocab())
	return ids
}

// timePrefill times a prompt of all but one of the tokens.
func (m *Model) timePrefill(ctx context.Context, ids []int32) (time.Duration, error) {
	start := time.Now()
	var d time.Duration
	err := m.EachLogits(ctx, ids[:len(ids)-1], LogitsOptions{}, func(int, []float32) { d = time.Since(start) })
	return d, err
}

// timeDecode times feeding all tokens but the first one by one.
func (m *Model) timeDecode(ctx context.Context, ids []int32) (time.Duration, error) {
	var start time.Time
	var d time.Duration
	err := m.EachLogits(ctx, ids, LogitsOptions{All: true, Step: 1}, func(row int, _ []float32) {
		if row == 0 {
			start = time.Now()
		}
		d = time.Since(start)
	})
	return d, err
}
