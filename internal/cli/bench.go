package cli

import (
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"atenia"

	"github.com/spf13/cobra"
)

// benchResult is what bench prints with --json.
type benchResult struct {
	Model        string         `json:"model"`
	Family       string         `json:"family"`
	WeightBytes  int64          `json:"weight_bytes"`
	Threads      int            `json:"threads"`
	Variant      string         `json:"variant"`
	Prefill      rate           `json:"prefill"`
	Decode       rate           `json:"decode"`
	PrefillSpeed float64        `json:"prefill_tokens_per_second"`
	DecodeSpeed  float64        `json:"decode_tokens_per_second"`
	TokenBytes   int64          `json:"bytes_per_token"`
	Bandwidth    float64        `json:"bandwidth_bytes_per_second"`
	Share        float64        `json:"bandwidth_share"`
	Counters     *benchCounters `json:"counters,omitempty"`
}

type rate struct {
	Tokens  int       `json:"tokens"`
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
	Samples []float64 `json:"samples,omitempty"`
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
	Ops          map[string]uint64 `json:"ops"`
}

func countersOf(c *atenia.BenchCounters) *benchCounters {
	if c == nil {
		return nil
	}
	part := func(s *atenia.StepCounts) *stepCounts {
		if s.Tokens == 0 {
			return nil
		}
		ops := map[string]uint64{}
		for _, o := range s.Ops {
			ops[o.Op] = o.Count
		}
		return &stepCounts{s.Tokens, s.Instructions, s.Launches, ops}
	}
	return &benchCounters{part(&c.Prefill), part(&c.Decode)}
}

func (a *app) bench() *cobra.Command {
	var mf modelFlags
	var bc atenia.BenchConfig
	c := &cobra.Command{
		Use:     "bench [MODEL]",
		Short:   "Measure prefill and decode speed",
		Long:    "Bench measures tokens a second for prompts and for answers with random tokens, and the share of the\nmeasured memory bandwidth that decoding uses.",
		Example: "  atenia bench model.gguf -p 512 -n 128 -r 3 -t 2",
		Args:    cobra.MaximumNArgs(1),
	}
	mf.register(c.Flags())
	c.Flags().IntVarP(&bc.Prompt, "prompt", "p", 512, "tokens of a prompt (0 = leave out)")
	c.Flags().IntVarP(&bc.Decode, "decode", "n", 128, "tokens of an answer (0 = leave out)")
	c.Flags().IntVarP(&bc.Repeats, "repeats", "r", 5, "how often; medians are printed")
	c.Flags().BoolVar(&bc.Counters, "counters", false, "count instructions and hand-outs to the workers for a prompt and for one token")
	c.RunE = func(c *cobra.Command, args []string) error {
		path := optionalModel(args)
		m, err := mf.open(c.Context(), path)
		if err != nil {
			return err
		}
		defer m.Close()
		if !c.Flags().Changed("prompt") {
			bc.Prompt = min(bc.Prompt, m.Context())
		}
		if !c.Flags().Changed("decode") {
			bc.Decode = min(bc.Decode, m.Context()-1)
		}
		// The library's 0 is its default.
		if bc.Prompt == 0 {
			bc.Prompt = -1
		}
		if bc.Decode == 0 {
			bc.Decode = -1
		}
		fmt.Fprintln(a.progress(), "measuring …")
		r, err := m.Bench(c.Context(), bc)
		if err != nil {
			return err
		}
		if path == "" {
			path = "embedded"
		}
		weights, _, _ := m.Memory()
		res := benchResult{
			Model: path, Family: m.Family(), WeightBytes: weights, Threads: r.Threads, Variant: r.Variant,
			Prefill: rate(r.Prefill), Decode: rate(r.Decode),
			PrefillSpeed: r.Prefill.Median, DecodeSpeed: r.Decode.Median,
			TokenBytes: r.TokenBytes, Bandwidth: r.Bandwidth, Share: r.Share, Counters: countersOf(r.Counters),
		}
		if a.json {
			return a.printJSON(res)
		}
		return a.printBench(&res)
	}
	return c
}

func (a *app) printBench(r *benchResult) error {
	fmt.Fprintf(a.out, "%s: %s, %s, %d threads, %s kernels\n", r.Model, r.Family, size(r.WeightBytes), r.Threads, r.Variant)
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "test\ttokens/s\tmin\tmax")
	for _, t := range []struct {
		name string
		r    rate
	}{{"prefill", r.Prefill}, {"decode", r.Decode}} {
		if t.r.Tokens > 0 {
			fmt.Fprintf(w, "%s %d\t%.2f\t%.2f\t%.2f\n", t.name, t.r.Tokens, t.r.Median, t.r.Min, t.r.Max)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Decode.Tokens > 0 {
		fmt.Fprintf(a.out, "decode reads %s a token: %.1f GB/s, %.0f %% of the %.1f GB/s this machine reads\n",
			size(r.TokenBytes), r.DecodeSpeed*float64(r.TokenBytes)/1e9, 100*r.Share, r.Bandwidth/1e9)
	}
	if r.Counters != nil {
		return a.printCounters(r.Counters)
	}
	return nil
}

// printCounters prints a column for the prompt and one for a token.
func (a *app) printCounters(c *benchCounters) error {
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
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
	fmt.Fprintln(w)
	return w.Flush()
}
