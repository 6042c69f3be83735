package cli

import (
	"errors"
	"fmt"
	"strings"

	"atenia"

	"github.com/spf13/cobra"
)

// kernelsResult is what bench kernels prints with --json. Rates are a second.
type kernelsResult struct {
	Threads   int          `json:"threads"`
	Variant   string       `json:"variant"`
	Bandwidth float64      `json:"bandwidth_bytes_per_second"`
	FLOPS     float64      `json:"flops"`
	Kernels   []kernelRate `json:"kernels"`
}

type kernelRate struct {
	Name   string  `json:"name"`
	Use    string  `json:"use"`
	Format string  `json:"format"`
	Shape  string  `json:"shape"`
	Bytes  float64 `json:"bytes_per_second"`
	FLOPS  float64 `json:"flops"`
	Share  float64 `json:"share"`
	Bound  string  `json:"bound"`
}

func (a *app) benchKernels() *cobra.Command {
	var kc atenia.KernelsConfig
	var out string
	formats := strings.Join(atenia.KernelFormats(), ", ")
	c := &cobra.Command{
		Use:   "kernels",
		Short: "Measure kernels against what the machine can do",
		Long: "Kernels are measured without a model, one after another: products for one row (decode) and for 512\n" +
			"(prefill), attention over cached keys (scores) and values (weighted), norm, rope, softmax and the rounding\n" +
			"of activations. Each reads its operands from memory. GB/s count those, GFLOP/s the operations of products.\n" +
			"The roof is the nearer one of the memory bandwidth and the float32 arithmetic measured first; products of\n" +
			"8-bit integers may exceed the latter.\n\nFormats are " + formats + ".",
		Example: "  atenia bench kernels -t 2\n  atenia bench kernels --format q8_0,q4_k --json",
		Args:    cobra.NoArgs,
	}
	c.Flags().IntVarP(&kc.Threads, "threads", "t", 0, "threads (0 = physical cores)")
	c.Flags().StringSliceVar(&kc.Formats, "format", nil, "only these formats, with commas between")
	c.Flags().StringVar(&out, "out", "", "write the result as JSON to `FILE`, too")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkOut(out); err != nil {
			return err
		}
		line := a.progress()
		kc.Progress = func(name string) { fmt.Fprintf(line, "\r%-40s", name) }
		r, err := atenia.BenchKernels(c.Context(), kc)
		fmt.Fprintf(line, "\r%40s\r", "")
		if err != nil {
			return err
		}
		res := kernelsResult{Threads: r.Threads, Variant: r.Variant, Bandwidth: r.Bandwidth, FLOPS: r.FLOPS}
		for _, k := range r.Kernels {
			res.Kernels = append(res.Kernels, kernelRate{k.Name(), k.Use, k.Format, k.Shape, k.Bytes, k.FLOPS, k.Share, k.Bound})
		}
		print := a.printKernels
		if a.json {
			print = func(r *kernelsResult) error { return a.printJSON(r) }
		}
		return errors.Join(print(&res), saveJSON(out, &res))
	}
	return c
}

func (a *app) printKernels(r *kernelsResult) error {
	fmt.Fprintf(a.out, "%d threads, %s kernels: memory %.1f GB/s, arithmetic %.1f GFLOP/s\n", r.Threads, r.Variant, r.Bandwidth/1e9, r.FLOPS/1e9)
	w := table(a.out)
	fmt.Fprintln(w, "kernel\tGB/s\tGFLOP/s\troof\tshare")
	for _, k := range r.Kernels {
		flops := "–"
		if k.FLOPS > 0 {
			flops = fmt.Sprintf("%.1f", k.FLOPS/1e9)
		}
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\t%.0f %%\n", k.Name, k.Bytes/1e9, flops, k.Bound, 100*k.Share)
	}
	return w.Flush()
}
