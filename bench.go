package atenia

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"atenia/internal/kernel"
	"atenia/internal/roof"
	"atenia/plan"
	"atenia/tensor"
)

// A BenchConfig says what [Model.Bench] measures. The zero value is
// llama-bench's: prompts of 512, answers of 128 tokens, 5 times.
type BenchConfig struct {
	Prompt  int // tokens of a prompt; 0 = 512, negative = leave out
	Decode  int // tokens of an answer; 0 = 128, negative = leave out
	Repeats int // 0 = 5
	// Depths asks for the speed of answers, too, that come after so many
	// tokens.
	Depths []int
	// Batch is how many sequences decode at once, at most the model's Slots.
	// Speeds are then those of all together. 0 = 1.
	Batch int
	// Counters asks for [BenchReport.Counters]. Counting is done apart from
	// timing, which it would slow down.
	Counters bool
}

// A BenchReport is what a model does in a second. Rates are medians over the
// repeats after one warm-up.
type BenchReport struct {
	Prefill, Decode Rate
	Depths          []DepthRate // as they were asked for
	Batch           int
	// TokenBytes is how many bytes of weights one step of decoding reads.
	TokenBytes int64
	// Roofs are what this machine can do, measured afterwards; 0 with a budget of
	// RAM, which that would exceed, and so are the shares.
	Roofs KernelRoofs
	// Share is the part of the memory bandwidth with which decoding reads
	// weights. Those of a mixture of experts all count, though not all are read.
	Share float64
	// Ops is what products with weights do for one token of a prompt, and
	// PrefillShare the part of the arithmetic with which a prompt does them.
	Ops          PromptOps
	PrefillShare float64
	// Fetched is how often a thread that had lost its processor to another
	// process was brought to that of a thread that waited for it. Rates beside
	// busy neighbours are not the machine's.
	Fetched int64
	Threads int
	Variant string // of the kernels, for example "avx512"
	// Counters is nil when they were not asked for.
	Counters *BenchCounters
}

// PromptOps are operations, two for a multiply-add.
type PromptOps struct{ Float, Int8 float64 }

// seconds returns how long the operations take at least.
func (o PromptOps) seconds(r KernelRoofs) float64 { return o.Float/r.FMA + o.Int8/r.Dot }

// A Rate is tokens a second.
type Rate struct {
	Tokens           int
	Median, Min, Max float64
	Samples          []float64 // in the order they were taken
}

// A DepthRate is the speed of an answer after Depth tokens.
type DepthRate struct {
	Depth int
	Rate
}

// Bench measures prefill and decode with random tokens on this machine as it
// is now. Other requests to the model would slow it down.
func (m *Model) Bench(ctx context.Context, c BenchConfig) (*BenchReport, error) {
	if err := m.completeBench(&c); err != nil {
		return nil, err
	}
	r := &BenchReport{TokenBytes: m.tokenBytes, Ops: m.promptOps, Batch: c.Batch, Threads: m.cfg.Threads, Variant: kernel.Variant()}
	var err error
	if c.Counters {
		if r.Counters, err = m.count(ctx, c.Prompt, c.Decode > 0); err != nil {
			return nil, err
		}
	}
	before := m.sched.Fetched()
	defer func() { r.Fetched = m.sched.Fetched() - before }()
	if c.Prompt > 0 {
		r.Prefill, err = rate(c.Repeats, c.Prompt, func() (float64, error) { return m.prefill(ctx, c.Prompt) })
		if err != nil {
			return nil, err
		}
	}
	if c.Decode > 0 {
		if err := m.benchDecode(ctx, &c, r); err != nil {
			return nil, err
		}
	}
	if m.cfg.Budget.RAM > 0 {
		return r, nil // to measure what the machine can do takes memory beyond any budget
	}
	roofs, err := roof.Measure(m.cfg.Threads)
	r.Roofs = roofs
	r.Share = r.Decode.Median / float64(c.Batch) * float64(r.TokenBytes) / r.Roofs.Memory
	r.PrefillShare = r.Prefill.Median * r.Ops.seconds(r.Roofs)
	return r, err
}

func (m *Model) benchDecode(ctx context.Context, c *BenchConfig, r *BenchReport) error {
	for _, depth := range append([]int{0}, c.Depths...) {
		d := m.newDecoding(c.Decode, depth, c.Batch)
		speed, err := rate(c.Repeats, c.Decode, func() (float64, error) { return d.sample(ctx) })
		if err != nil {
			return err
		}
		r.Depths = append(r.Depths, DepthRate{depth, speed})
	}
	r.Decode, r.Depths = r.Depths[0].Rate, r.Depths[1:]
	return nil
}

// promptOps adds up the products with weights that each token of a prompt
// takes: all but those of the output, which only the last one needs.
func promptOps(p *plan.ExecutionPlan, w map[string]tensor.View, precise bool) (o PromptOps) {
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		if ins.Op == plan.OpEmbedding || ins.Op == plan.OpLMHead {
			continue
		}
		for _, ref := range ins.Weights {
			if ref == plan.NoWeight {
				continue
			}
			v := w[p.Weights[ref].Name]
			if len(v.Shape) < 2 {
				continue
			}
			n := 2.0
			for _, d := range v.Shape {
				n *= float64(d)
			}
			if v.DType.Quantised() && !precise {
				o.Int8 += n
			} else {
				o.Float += n
			}
		}
	}
	return o
}

// completeBench fills in defaults and refuses what does not fit the model.
func (m *Model) completeBench(c *BenchConfig) error {
	c.Prompt, c.Decode = cmp.Or(c.Prompt, 512), cmp.Or(c.Decode, 128)
	c.Repeats, c.Batch = cmp.Or(c.Repeats, 5), cmp.Or(c.Batch, 1)
	context := m.Context()
	switch {
	case c.Prompt > context:
		return &ConfigError{"Prompt", c.Prompt, fmt.Sprintf("at most the context of %d tokens", context)}
	case c.Repeats < 1:
		return &ConfigError{"Repeats", c.Repeats, "1 or more"}
	case c.Batch < 1 || c.Batch > m.cfg.Slots:
		return &ConfigError{"Batch", c.Batch, fmt.Sprintf("1 to %d, the model's slots", m.cfg.Slots)}
	case c.Decode < 0 && len(c.Depths) > 0:
		return &ConfigError{"Depths", c.Depths, "an answer to measure there"}
	case c.Decode < 0:
		return nil
	}
	for i, depth := range append([]int{0}, c.Depths...) {
		over := m.decodingTokens(c.Decode, depth, c.Batch) - context
		switch {
		case depth < 0:
			return &ConfigError{"Depths", depth, "0 or more"}
		case over > 0 && i == 0:
			return &ConfigError{"Decode", c.Decode, fmt.Sprintf("at most %d: the context is %d tokens", c.Decode-over, context)}
		case over > 0:
			return &ConfigError{"Depths", depth, fmt.Sprintf("a context of %d tokens or more, this one is %d", context+over, context)}
		}
	}
	return nil
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
	r.Median, r.Min, r.Max = roof.Spread(r.Samples)
	return r, nil
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
