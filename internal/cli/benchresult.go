package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/place"
)

// benchResult is what bench prints with --json.
type benchResult struct {
	Model        string           `json:"model"`
	Family       string           `json:"family"`
	WeightBytes  int64            `json:"weight_bytes"`
	Pack         string           `json:"pack,omitempty"` // where packed weights live
	packing      string           // the same with reason and numbers
	Threads      int              `json:"threads"`
	Variant      string           `json:"variant"`
	Batch        int              `json:"batch"`
	Prefill      rate             `json:"prefill"`
	Decode       rate             `json:"decode"`
	Depths       []depthRate      `json:"depths,omitempty"`
	PrefillSpeed float64          `json:"prefill_tokens_per_second"`
	DecodeSpeed  float64          `json:"decode_tokens_per_second"`
	StepP50      float64          `json:"decode_step_p50_seconds"`
	StepP95      float64          `json:"decode_step_p95_seconds"`
	TokenBytes   int64            `json:"bytes_per_token"`
	Bandwidth    float64          `json:"bandwidth_bytes_per_second"`
	Share        float64          `json:"bandwidth_share"`
	Migrations   int64            `json:"threads_fetched,omitempty"`
	FloatOps     float64          `json:"float_operations_per_token"`
	Int8Ops      float64          `json:"int8_operations_per_token"`
	FLOPS        float64          `json:"flops"`
	DotOPS       float64          `json:"int8_ops"`
	OpsShare     float64          `json:"arithmetic_share"` // of a prompt
	Counters     *benchCounters   `json:"counters,omitempty"`
	Compare      *benchComparison `json:"compare,omitempty"`
	Versus       *benchVersus     `json:"vs,omitempty"`
}

// A rate is tokens a second.
type rate struct {
	Tokens  int       `json:"tokens"`
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Samples []float64 `json:"samples,omitempty"`
}

type depthRate struct {
	Depth int `json:"depth"`
	rate
}

// benchCounters are what bench adds with --counters.
type benchCounters struct {
	Prefill *stepCounts `json:"prefill,omitempty"`
	Decode  *stepCounts `json:"decode,omitempty"`
}

type stepCounts struct {
	Tokens       int               `json:"tokens"`
	Instructions uint64            `json:"instructions"`
	Launches     uint64            `json:"launches"`
	Experts      uint64            `json:"experts,omitempty"`
	Evaluations  uint64            `json:"evaluations,omitempty"`
	Ops          map[string]uint64 `json:"ops"`
}

func resultOf(path string, m *atenia.Model, r *bench.Report) *benchResult {
	path = cmp.Or(path, place.Embedded)
	weights, _, _ := m.Memory()
	res := &benchResult{
		Model: path, Family: m.Family(), WeightBytes: weights, Pack: m.Packing().Mode, packing: m.Packing().String(), Threads: r.Threads, Variant: r.Variant, Batch: r.Batch,
		Prefill: rate(r.Prefill), Decode: rate(r.Decode),
		PrefillSpeed: r.Prefill.Median, DecodeSpeed: r.Decode.Median, StepP50: r.Step.P50, StepP95: r.Step.P95,
		TokenBytes: r.TokenBytes, Bandwidth: r.Roofs.Memory, Share: r.Share,
		FloatOps: r.Ops.Float, Int8Ops: r.Ops.Int8, FLOPS: r.Roofs.FMA, DotOPS: r.Roofs.Dot, OpsShare: r.PrefillShare, Migrations: r.Migrations, Counters: countersOf(r.Counters),
	}
	for _, d := range r.Depths {
		res.Depths = append(res.Depths, depthRate{d.Depth, rate(d.Rate)})
	}
	return res
}

func countersOf(c *bench.Counters) *benchCounters {
	if c == nil {
		return nil
	}
	part := func(s *bench.StepCounts) *stepCounts {
		if s.Tokens == 0 {
			return nil
		}
		ops := map[string]uint64{}
		for _, o := range s.Ops {
			ops[o.Op] = o.Count
		}
		return &stepCounts{s.Tokens, s.Instructions, s.Launches, s.Experts, s.Evaluations, ops}
	}
	return &benchCounters{part(&c.Prefill), part(&c.Decode)}
}

// A benchRow is one line of bench's tables.
type benchRow struct {
	name                  string
	prompt, decode, depth int // tokens
	rate
}

// rows returns the measurements. Equal names are the same test.
func (r *benchResult) rows() (rows []benchRow) {
	if r.Prefill.Tokens > 0 {
		rows = append(rows, benchRow{fmt.Sprintf("prefill %d", r.Prefill.Tokens), r.Prefill.Tokens, 0, 0, r.Prefill})
	}
	if r.Decode.Tokens == 0 {
		return rows
	}
	for _, d := range append([]depthRate{{0, r.Decode}}, r.Depths...) {
		name := fmt.Sprintf("decode %d", d.Tokens)
		if r.Batch > 1 {
			name += fmt.Sprintf(" × %d", r.Batch)
		}
		if d.Depth > 0 {
			name += fmt.Sprintf(" after %d", d.Depth)
		}
		rows = append(rows, benchRow{name, 0, d.Tokens, d.Depth, d.rate})
	}
	return rows
}

func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 8, 2, ' ', 0) }

func (a *app) printBench(r *benchResult) error {
	fmt.Fprintf(a.out, "%s: %s, %s, %s, %s kernels\n", r.Model, r.Family, command.Size(r.WeightBytes), spelling.Count(r.Threads, "thread"), r.Variant)
	fmt.Fprintf(a.out, "packed weights: %s\n", r.packing)
	w := table(a.out)
	fmt.Fprintln(w, "test\ttokens/s\tmin\tmax")
	for _, t := range r.rows() {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\n", t.name, t.Median, t.Min, t.Max)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Prefill.Tokens > 0 {
		fmt.Fprintf(a.out, "prefill does %.1f M operations a token: %.1f G/s", (r.FloatOps+r.Int8Ops)/1e6, r.PrefillSpeed*(r.FloatOps+r.Int8Ops)/1e9)
		if r.OpsShare > 0 {
			fmt.Fprintf(a.out, ", %.0f %% of what this machine does", 100*r.OpsShare)
		}
		fmt.Fprintln(a.out)
	}
	if r.Decode.Tokens > 0 {
		steps, what := r.DecodeSpeed, "token"
		if r.Batch > 1 {
			steps, what = steps/float64(r.Batch), fmt.Sprintf("step of %d tokens", r.Batch)
		}
		fmt.Fprintf(a.out, "decode reads %s a %s: %.1f GB/s", command.Size(r.TokenBytes), what, steps*float64(r.TokenBytes)/1e9)
		if r.Bandwidth > 0 {
			fmt.Fprintf(a.out, ", %.0f %% of the %.1f GB/s this machine reads", 100*r.Share, r.Bandwidth/1e9)
		}
		fmt.Fprintln(a.out)
		fmt.Fprintf(a.out, "half of the steps take up to %.3g ms, 95 %% of them up to %.3g ms\n", 1e3*r.StepP50, 1e3*r.StepP95)
	}
	if r.Migrations > 0 {
		fmt.Fprintf(a.out, "%s moved to the core of a waiting worker: other processes use the processors\n", spelling.Count(r.Migrations, "preempted worker"))
	}
	var err error
	if r.Counters != nil {
		err = a.printCounters(r.Counters)
	}
	if r.Compare != nil {
		err = errors.Join(err, a.printComparison(r.Compare))
	}
	if r.Versus != nil {
		err = errors.Join(err, a.printVersus(r.Versus))
	}
	return err
}

// printCounters prints a column for the prompt and one for a token.
func (a *app) printCounters(c *benchCounters) error {
	w := table(a.out)
	var columns []*stepCounts
	ops := map[string]bool{}
	fmt.Fprint(w, "\ncounts")
	for _, part := range []struct {
		name string
		c    *stepCounts
	}{{"prefill", c.Prefill}, {"decode", c.Decode}} {
		if part.c != nil {
			columns = append(columns, part.c)
			fmt.Fprintf(w, "\t%s %d", part.name, part.c.Tokens)
			for op := range part.c.Ops {
				ops[op] = true
			}
		}
	}
	row := func(name string, value func(*stepCounts) uint64) {
		fmt.Fprint(w, "\n"+name)
		for _, c := range columns {
			fmt.Fprintf(w, "\t%d", value(c))
		}
	}
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		row(op, func(c *stepCounts) uint64 { return c.Ops[op] })
	}
	row("instructions", func(c *stepCounts) uint64 { return c.Instructions })
	row("launches", func(c *stepCounts) uint64 { return c.Launches })
	experts := func(c *stepCounts) uint64 { return c.Experts }
	if slices.ContainsFunc(columns, func(c *stepCounts) bool { return experts(c) > 0 }) {
		row("experts", experts)
	}
	evaluations := func(c *stepCounts) uint64 { return c.Evaluations }
	if slices.ContainsFunc(columns, func(c *stepCounts) bool { return evaluations(c) > 0 }) {
		row("evaluations", evaluations)
	}
	fmt.Fprintln(w)
	return w.Flush()
}
