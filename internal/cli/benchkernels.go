package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"atenia/internal/bench"
	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"
	"atenia/internal/kernel"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// kernelsResult is what bench kernels prints with --json. Rates are a second.
type kernelsResult struct {
	Threads   int          `json:"threads"`
	Variant   string       `json:"variant"`
	Bandwidth float64      `json:"bandwidth_bytes_per_second"`
	Cache     float64      `json:"cache_bytes_per_second"`
	FLOPS     float64      `json:"flops"`
	Int8      float64      `json:"int8_ops"`
	Kernels   []kernelRate `json:"kernels"`

	Decisions []kernel.Decision `json:"decisions,omitempty"`
}

type kernelRate struct {
	Name   string  `json:"name"`
	Use    string  `json:"use"`
	Format string  `json:"format"`
	Shape  string  `json:"shape"`
	Bytes  float64 `json:"bytes_per_second"`
	FLOPS  float64 `json:"flops"`
	Share  float64 `json:"share"`
	Min    float64 `json:"min"` // of share, as is Max
	Max    float64 `json:"max"`
	Bound  string  `json:"bound"`
	// With --compare, and where both have the kernel:
	Ratio   float64 `json:"ratio,omitempty"` // of bytes a second; above 1 = faster now
	Verdict verdict `json:"verdict,omitempty"`
}

// A kernelsRun is one call of bench kernels.
type kernelsRun struct {
	config             machine.KernelConfig
	only, before, file string
	memory             int // MiB
}

func (a *app) benchKernels() *cobra.Command {
	k := &kernelsRun{}
	formats := strings.Join(machine.Formats(), ", ")
	c := &cobra.Command{
		Use:   "kernels",
		Short: "Measure kernels against the machine's limits",
		Long: "Measure kernels without a model, in turns: products for one row (decode), eight (batch) and 512 (prefill),\n" +
			"attention over cached keys (scores) and values (weighted), and operations on rows. Weights and cached rows\n" +
			"are read from memory, other rows from the second-level cache; GB/s count these reads, GFLOP/s the\n" +
			"operations of products. Shares are of the nearer limit, which is measured in the same rounds: memory or\n" +
			"cache bandwidth, or arithmetic in float32 or, for quantized weights, int8. Medians are printed, for shares\n" +
			"with minimum and maximum.\n\nFormats: " + formats + ".",
		Example: "  atenia bench kernels -t 2\n  atenia bench kernels --format q8_0,q4_k --only 'decode|batch' --json\n" +
			"  atenia bench kernels --out before.json        # and later:\n  atenia bench kernels --compare before.json",
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.IntVarP(&k.config.Threads, "threads", "t", 0, "threads (0 = physical cores)")
	f.StringSliceVar(&k.config.Formats, "format", nil, "measure only these formats, separated by commas")
	f.StringVar(&k.only, "only", "", "measure only kernels whose names match the regular expression `RE`")
	f.IntVar(&k.config.Rounds, "rounds", 3, "number of turns of every kernel")
	f.IntVar(&k.memory, "memory", 0, "MiB to stream through (0 = twice the last-level cache, 64 to 512)")
	f.StringVar(&k.file, "out", "", "also write the result as JSON to `FILE`")
	f.StringVar(&k.before, "compare", "", "compare with the result in `FILE`, written by --json or --out")
	c.RunE = func(c *cobra.Command, _ []string) error {
		before, err := k.check()
		if err != nil {
			return err
		}
		line := a.progress()
		k.config.Progress = func(name string) { fmt.Fprintf(line, "\r%-40s", name) }
		r, err := machine.Kernels(c.Context(), k.config)
		fmt.Fprintf(line, "\r%40s\r", "")
		if err != nil {
			return err
		}
		res := kernelsOf(r)
		if before != nil {
			res.compare(before)
		}
		print := a.printKernels
		if a.json {
			print = func(r *kernelsResult) error { return a.printJSON(r) }
		}
		return errors.Join(print(res), saveJSON(k.file, res))
	}
	return c
}

// check finds mistakes before anything is measured, and reads the result to
// compare with.
func (k *kernelsRun) check() (before *kernelsResult, err error) {
	if k.config.Rounds == 0 { // which means the default to the library
		return nil, command.Usagef("--rounds is 0, want 1 or more")
	}
	if k.memory < 0 || k.memory > 1<<20 {
		return nil, command.Usagef("--memory is %d, want 0 to %d MiB", k.memory, 1<<20)
	}
	k.config.Bytes = k.memory << 20
	if k.only != "" {
		if k.config.Only, err = regexp.Compile(k.only); err != nil {
			return nil, command.Usagef("--only: %w", err)
		}
	}
	if err := checkOut(k.file); err != nil || k.before == "" {
		return nil, err
	}
	b, err := readFile(k.before)
	if err == nil {
		before, err = parseKernels(b)
	}
	if err != nil {
		return nil, fmt.Errorf("--compare: %s is not a result of atenia bench kernels --json: %w", k.before, err)
	}
	return before, nil
}

func kernelsOf(r *machine.KernelReport) *kernelsResult {
	res := &kernelsResult{
		Threads: r.Threads, Variant: r.Variant,
		Bandwidth: r.Roofs.Memory, Cache: r.Roofs.Cache, FLOPS: r.Roofs.FMA, Int8: r.Roofs.Dot,
		Decisions: r.Decisions,
	}
	for _, k := range r.Kernels {
		res.Kernels = append(res.Kernels, kernelRate{
			Name: k.Name(), Use: k.Use, Format: k.Format, Shape: k.Shape, Bytes: k.Bytes, FLOPS: k.FLOPS,
			Share: k.Share, Min: k.Min, Max: k.Max, Bound: k.Bound,
		})
	}
	return res
}

func parseKernels(b []byte) (*kernelsResult, error) {
	var r kernelsResult
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, bench.JSONError(err)
	}
	if len(r.Kernels) == 0 {
		return nil, errors.New("it has no kernels")
	}
	for _, k := range r.Kernels {
		if k.Name == "" || !bench.Plausible(k.Bytes) || !bench.Plausible(k.Share) || k.Min > k.Share || k.Max < k.Share {
			return nil, fmt.Errorf("the speed of %q is %v, share %v in %v to %v", k.Name, k.Bytes, k.Share, k.Min, k.Max)
		}
	}
	return &r, nil
}

// compare adds ratios to an earlier result.
func (r *kernelsResult) compare(before *kernelsResult) {
	old := map[string]rate{}
	for _, k := range before.Kernels {
		old[k.Name] = k.rate()
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if was, ok := old[k.Name]; ok {
			now := k.rate()
			k.Ratio, k.Verdict = now.Median/was.Median, judge(was, now)
		}
	}
}

// rate is the rate at which the kernel streams.
func (k *kernelRate) rate() rate {
	return rate{Median: k.Bytes, Min: k.Bytes * k.Min / k.Share, Max: k.Bytes * k.Max / k.Share}
}

func (a *app) printKernels(r *kernelsResult) error {
	fmt.Fprintf(a.out, "%s, %s kernels: memory %.1f GB/s, cache %.1f GB/s, float32 %.1f GFLOP/s, int8 %.1f GOP/s\n",
		spelling.Count(r.Threads, "thread"), r.Variant, r.Bandwidth/1e9, r.Cache/1e9, r.FLOPS/1e9, r.Int8/1e9)
	if len(r.Kernels) == 0 {
		fmt.Fprintln(a.out, "no kernel matches")
		return nil
	}
	w := table(a.out)
	compared := false
	for _, k := range r.Kernels {
		compared = compared || k.Ratio > 0
	}
	fmt.Fprint(w, "kernel\tGB/s\tGFLOP/s\troof\tshare\tmin\tmax")
	if compared {
		fmt.Fprint(w, "\tratio\tverdict")
	}
	for _, k := range r.Kernels {
		flops := "–"
		if k.FLOPS > 0 {
			flops = fmt.Sprintf("%.1f", k.FLOPS/1e9)
		}
		fmt.Fprintf(w, "\n%s\t%.1f\t%s\t%s\t%.0f %%\t%.0f %%\t%.0f %%", k.Name, k.Bytes/1e9, flops, k.Bound, 100*k.Share, 100*k.Min, 100*k.Max)
		if k.Ratio > 0 {
			fmt.Fprintf(w, "\t%.3f\t%s", k.Ratio, k.Verdict)
		}
	}
	fmt.Fprintln(w)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, d := range r.Decisions {
		fmt.Fprintf(a.out, "%s: %s, %d:", strings.ToLower(d.Class), d.What, d.Choice)
		for _, c := range d.Candidates {
			fmt.Fprintf(a.out, " %d takes %v", c.Value, c.Took)
		}
		fmt.Fprintln(a.out)
	}
	return nil
}
