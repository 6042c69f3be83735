package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"atenia"
	"atenia/internal/engine"
	"atenia/internal/kernel"
	"atenia/internal/kernel/roof"
	"atenia/internal/plan"
	"atenia/internal/sched"
)

// A Config configures [Run]. The zero value is llama-bench's default: prompts
// of 512 and answers of 128 tokens, 5 repeats.
type Config struct {
	Prompt  int // tokens of a prompt; 0 = 512, negative = none
	Decode  int // tokens of an answer; 0 = 128, negative = none
	Repeats int // 0 = 5
	// Depths adds the speed of answers after contexts of these lengths, in tokens.
	Depths []int
	// Batch is how many sequences decode at once, at most the model's Slots, or how
	// many texts an encoder is given at once. Speeds are then those of all together.
	// 0 = 1.
	Batch int
	// Counters requests [Report.Counters]. Counting is separate from timing,
	// which it would slow down. Encoders are not counted.
	Counters bool
}

// A Report has the speeds of a model. Rates are medians over the repeats after
// one warm-up.
type Report struct {
	Prefill, Decode Rate
	Depths          []DepthRate // in the order of Config.Depths
	// Step is how long a step of decoding took, all sequences of the batch
	// together and without a context before.
	Step  Latency
	Batch int
	// TokenBytes is how many bytes of weights one step of decoding reads, of a mixture with
	// the experts that its tokens choose.
	TokenBytes int64
	// Roofs are what this machine can do, measured afterwards; 0 with a budget of
	// RAM, which that would exceed, and so are the shares.
	Roofs roof.Roofs
	// Share is the part of the memory bandwidth with which decoding reads weights.
	Share float64
	// Ops is what products with weights do for one token of a prompt, and
	// PrefillShare the part of the arithmetic with which a prompt does them.
	Ops          PromptOps
	PrefillShare float64
	// Migrations is how often a preempted worker was moved to a waiting worker's
	// core. If it is large, busy neighbours have slowed the measurement.
	Migrations int64
	Threads    int
	Variant    string // of the kernels, for example "avx512"
	// Counters is nil unless requested.
	Counters *Counters
}

// A model is the model being measured.
type model struct {
	engine *engine.Engine
	cfg    *engine.Config
}

// PromptOps are operations, two for a multiply-add.
type PromptOps struct{ Float, Int8 float64 }

// seconds returns how long the operations take at least.
func (o PromptOps) seconds(r roof.Roofs) float64 { return o.Float/r.FMA + o.Int8/r.Dot }

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

// Run measures prefill and decode with random tokens in the current state of
// the machine. Other requests to the model would slow it down. An encoder does not
// decode; its prefill is the encoding of a batch of texts.
func Run(ctx context.Context, e *engine.Engine, c Config) (*Report, error) {
	m := &model{e, e.Plan.Effective()}
	encodes := e.Plan.Model.Plans.Decode == nil
	switch {
	case encodes && (c.Decode > 0 || c.Counters || len(c.Depths) > 0):
		return nil, sched.ErrEncoder
	case encodes:
		c.Decode = -1
	}
	if err := m.complete(&c); err != nil {
		return nil, err
	}
	r := &Report{TokenBytes: m.stepBytes(c.Batch), Ops: m.promptOps(), Batch: c.Batch, Threads: m.cfg.Threads, Variant: kernel.Variant()}
	var err error
	if c.Counters {
		if r.Counters, err = m.count(ctx, c.Prompt, c.Decode > 0); err != nil {
			return nil, err
		}
	}
	before := m.engine.Sched.Migrations()
	defer func() { r.Migrations = m.engine.Sched.Migrations() - before }()
	if c.Prompt > 0 {
		tokens, once := c.Prompt, func() (float64, error) { return m.prefill(ctx, c.Prompt) }
		if encodes {
			tokens, once = c.Prompt*c.Batch, func() (float64, error) { return m.encode(ctx, c.Prompt, c.Batch) }
		}
		r.Prefill, err = rate(c.Repeats, tokens, once)
		if err != nil {
			return nil, err
		}
	}
	if c.Decode > 0 {
		if err := m.decode(ctx, &c, r); err != nil {
			return nil, err
		}
	}
	if m.cfg.Budget.RAM > 0 {
		return r, nil // measuring the machine's roofs takes memory beyond any budget
	}
	roofs, err := roof.Measure(m.cfg.Threads)
	r.Roofs = roofs
	r.Share = r.Decode.Median / float64(c.Batch) * float64(r.TokenBytes) / r.Roofs.Memory
	r.PrefillShare = r.Prefill.Median * r.Ops.seconds(r.Roofs)
	return r, err
}

func (m *model) decode(ctx context.Context, c *Config, r *Report) error {
	for _, depth := range append([]int{0}, c.Depths...) {
		d := m.newDecoding(c.Decode, depth, c.Batch)
		speed, err := rate(c.Repeats, c.Decode, func() (float64, error) { return d.sample(ctx) })
		if err != nil {
			return err
		}
		r.Depths = append(r.Depths, DepthRate{depth, speed})
		if len(r.Depths) == 1 {
			r.Step = d.latency()
		}
	}
	r.Decode, r.Depths = r.Depths[0].Rate, r.Depths[1:]
	return nil
}

// stepBytes adds up the weights that a decode step of so many tokens reads: all except
// a table of which it reads rows, and of experts those that are chosen.
func (m *model) stepBytes(tokens int) (n int64) {
	if m.engine.Plan.Model.Plans.Decode == nil {
		return 0
	}
	p, views := &m.engine.Plan.Model.Plans.Decode.Plan, m.engine.Views()
	whole := map[string]bool{}
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		for _, ref := range ins.Weights {
			if ref != plan.NoWeight && ins.Op != plan.OpEmbedding {
				whole[p.Weights[ref].Name] = true
			}
		}
	}
	for name := range whole {
		v := views[name] // the bytes of experts may be elsewhere
		size, _ := v.Shape.Bytes(v.DType)
		n += int64(float64(size) * m.engine.Plan.ReadPart(name, tokens))
	}
	return n
}

// promptOps adds up the products with weights that each token of a prompt
// takes: all but those of the output, which only the last one needs, and of experts those
// that it chooses.
func (m *model) promptOps() (o PromptOps) {
	p, views := &m.engine.Plan.Model.Plans.Prefill.Plan, m.engine.Views()
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		if ins.Op == plan.OpEmbedding || ins.Op == plan.OpLMHead {
			continue
		}
		for _, ref := range ins.Weights {
			if ref == plan.NoWeight {
				continue
			}
			name := p.Weights[ref].Name
			v := views[name]
			if len(v.Shape) < 2 {
				continue
			}
			n := 2 * m.engine.Plan.ReadPart(name, 1)
			for _, d := range v.Shape {
				n *= float64(d)
			}
			if v.DType.Quantized() && !m.cfg.Precise {
				o.Int8 += n
			} else {
				o.Float += n
			}
		}
	}
	return o
}

// complete fills in defaults and rejects values that do not fit the model.
func (m *model) complete(c *Config) error {
	c.Prompt, c.Decode = cmp.Or(c.Prompt, 512), cmp.Or(c.Decode, 128)
	c.Repeats, c.Batch = cmp.Or(c.Repeats, 5), cmp.Or(c.Batch, 1)
	context := m.engine.Plan.Context()
	switch {
	case c.Prompt > context:
		return &atenia.ConfigError{Field: "Prompt", Got: c.Prompt, Want: fmt.Sprintf("at most the context of %d tokens", context)}
	case c.Repeats < 1:
		return &atenia.ConfigError{Field: "Repeats", Got: c.Repeats, Want: "1 or more"}
	case c.Batch < 1 || c.Batch > m.cfg.Slots:
		return &atenia.ConfigError{Field: "Batch", Got: c.Batch, Want: fmt.Sprintf("1 to %d, the model's slots", m.cfg.Slots)}
	case c.Decode < 0 && len(c.Depths) > 0:
		return &atenia.ConfigError{Field: "Depths", Got: c.Depths, Want: "an answer to measure there"}
	case c.Decode < 0:
		return nil
	}
	for i, depth := range append([]int{0}, c.Depths...) {
		over := m.decodingTokens(c.Decode, depth, c.Batch) - context
		switch {
		case depth < 0:
			return &atenia.ConfigError{Field: "Depths", Got: depth, Want: "0 or more"}
		case over > 0 && i == 0:
			return &atenia.ConfigError{Field: "Decode", Got: c.Decode, Want: fmt.Sprintf("at most %d: the context is %d tokens", c.Decode-over, context)}
		case over > 0:
			return &atenia.ConfigError{Field: "Depths", Got: depth, Want: fmt.Sprintf("a context of %d tokens or more, this one is %d", context+over, context)}
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
func (m *model) randomTokens(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = rand.Int32N(int32(m.engine.Plan.Model.Config.Vocab))
	}
	return ids
}

// prefill returns the speed of a prompt of n tokens.
func (m *model) prefill(ctx context.Context, n int) (float64, error) {
	start := time.Now()
	var d time.Duration
	st, err := m.engine.Sched.Submit(ctx, sched.Request{
		Prompt: m.randomTokens(n), OnLogits: func(int, []float32) { d = time.Since(start) },
	})
	if err != nil {
		return 0, err
	}
	st.Next()
	return float64(n) / d.Seconds(), st.Err()
}

// encode returns the speed, in tokens, of so many texts of n tokens at once.
func (m *model) encode(ctx context.Context, n, texts int) (float64, error) {
	in := make([]engine.Input, texts)
	for i := range in {
		in[i].Tokens = m.randomTokens(n)
	}
	start := time.Now()
	_, err := m.engine.Encode(ctx, in)
	return float64(n*texts) / time.Since(start).Seconds(), err
}
