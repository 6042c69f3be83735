package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"atenia"
	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"atenia/place"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) doctor() *cobra.Command {
	var cfg atenia.Config
	budget := (*budgetFlag)(&cfg.Budget)
	c := &cobra.Command{
		Use:   "doctor [MODEL]",
		Short: "Check this machine, or how a model runs on it",
		Long: "Report the processor, measure memory bandwidth and arithmetic, and run the embedded model. The exit code is\n" +
			"3 if a vital check fails.\n\n" +
			"With MODEL, say how it runs in the memory that is free, or in that of --ram: it fits, its weights are streamed\n" +
			"from the disk, it is mapped, or it cannot run; how many seconds a token takes, with a range, and what limits that. Then come\n" +
			"up to three remedies, cheapest first, with the command of each and what it would change: only what changes\n" +
			"the verdict, or the time by more than predictions are off. The exit code is 3 if the model cannot run.",
		Example: "  atenia doctor\n" +
			"  atenia doctor model.gguf\n" +
			"  atenia doctor model.gguf --ram 8GiB --ctx 8192 --json",
		Args: cobra.MaximumNArgs(1),
	}
	f := c.Flags()
	f.Var(&size{&cfg, "ram", ""}, "ram", "ask about this memory in place of what is free: 4GiB, 512MiB, 2GB, bytes, or auto")
	f.Var(budget, "budget", "the same with reserves, as for run: ram=2GiB,kv=256MiB")
	f.IntVarP(&cfg.Context, "ctx", "c", 0, "context length in tokens (0 = the model's, at most 4096)")
	f.IntVar(&cfg.BatchTokens, "batch-tokens", 0, "maximum number of tokens per step (0 = 512)")
	f.IntVar(&cfg.Placement.Batch, "batch", 0, "number of sequences decoded together (0 = 1)")
	f.StringVar(&cfg.CacheType, "kv-type", "", "element type of the KV cache: f32, f16 or q8_0 (default: f16 if weights are quantized, else f32)")
	f.IntVarP(&cfg.Threads, "threads", "t", 0, "worker threads (0 = physical cores)")
	f.Var(&rateFlag{&cfg.Placement.Rates.SSD, ""}, "ssd-rate", "storage bandwidth per second, such as 1.6GB")
	f.Var(&rateFlag{&cfg.Placement.Rates.RAM, ""}, "ram-rate", "memory bandwidth of all cores per second, such as 20GB")
	f.Var(&rateFlag{&cfg.Placement.Rates.FLOPS, ""}, "flops", "floating-point operations of all cores per second, in units of sizes: 100GB is 1e11")
	f.Var(probeFlag(&cfg.Placement), "probe", "where bandwidths are from: model measures them, none takes the profile of \"atenia hw\"")
	f.StringVar(&cfg.Pooling, "pooling", "", "ask about vectors that \"atenia embed\" makes from the `mean|cls|last` of the tokens (default: the model's)")
	gptqZeros(f, &cfg.GPTQZeros)
	f.StringVar(&cfg.ConfigFile, "config-file", "", "name of the configuration `FILE` in a Hugging Face folder (default config.json)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			cfg.Placement.ProfileDir = cacheFolder()
			return a.advise(c, args[0], &cfg)
		}
		var wrong string
		c.Flags().Visit(func(f *pflag.Flag) {
			if c.InheritedFlags().Lookup(f.Name) == nil {
				wrong = f.Name
			}
		})
		if wrong != "" {
			return command.Usagef("--%s is about a model; give one", wrong)
		}
		h, err := machine.Examine(c.Context())
		if err != nil {
			return err
		}
		if a.json {
			err = a.printJSON(healthJSON(h))
		} else {
			err = a.printHealth(h)
		}
		if err == nil && slices.ContainsFunc(h.Checks, func(k machine.Check) bool { return k.Vital && !k.OK }) {
			err = command.ErrVerify
		}
		return err
	}
	return c
}

// advise prints how a model runs, and what would help.
func (a *app) advise(c *cobra.Command, path string, cfg *atenia.Config) error {
	r, err := atenia.Advise(c.Context(), path, cfg)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(r)
	} else {
		err = r.WriteText(a.out)
	}
	if err == nil && r.Verdict == place.VerdictCannot {
		err = fmt.Errorf("%w: %s cannot run in %s", command.ErrVerify, r.Model, spelling.Size(r.RAM))
	}
	return err
}

func (a *app) printHealth(h *machine.Health) error {
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "go\t%s %s/%s\n", h.Go, h.OS, h.Arch)
	fmt.Fprintf(w, "processor\t%s\n", h.Processor)
	fmt.Fprintf(w, "features\t%s\n", strings.Join(h.Features, " "))
	fmt.Fprintf(w, "kernels\t%s\n", h.Variant)
	fmt.Fprintf(w, "caches\tL1 %s, L2 %s, L3 %s\n", command.Size(int64(h.L1)), command.Size(int64(h.L2)), command.Size(int64(h.L3)))
	fmt.Fprintf(w, "threads\t%d (%s, %s allowed)\n", h.Threads, spelling.Count(h.Cores, "core"), spelling.Count(h.Allowed, "processor"))
	fmt.Fprintf(w, "memory\t%.1f GB/s\n", h.Bandwidth/1e9)
	fmt.Fprintf(w, "arithmetic\t%.0f GFLOP/s in float32, %.0f GOP/s in int8\n", h.FLOPS/1e9, h.DotOPS/1e9)
	fmt.Fprintf(w, "%s\topen in %d ms, first token after %d ms\n", place.Embedded, h.OpenTime.Milliseconds(), h.FirstToken.Milliseconds())
	if err := w.Flush(); err != nil {
		return err
	}
	for _, k := range h.Checks {
		mark := "ok  "
		if !k.OK {
			mark = "look"
		}
		fmt.Fprintf(a.out, "%s  %s: %s\n", mark, k.Name, strings.ReplaceAll(k.Text, "\n", `\n`))
	}
	return nil
}

// healthJSON is what doctor prints with --json. Times are in seconds.
func healthJSON(h *machine.Health) any {
	type check struct {
		Name  string `json:"name"`
		OK    bool   `json:"ok"`
		Vital bool   `json:"vital"`
		Text  string `json:"text"`
	}
	out := struct {
		Go         string   `json:"go"`
		OS         string   `json:"os"`
		Arch       string   `json:"arch"`
		Processor  string   `json:"processor"`
		Features   []string `json:"features"`
		Variant    string   `json:"variant"`
		Cores      int      `json:"cores"`
		Allowed    int      `json:"processors_allowed"`
		Quota      float64  `json:"quota"`
		Threads    int      `json:"threads"`
		L1         int      `json:"l1_bytes"`
		L2         int      `json:"l2_bytes"`
		L3         int      `json:"l3_bytes"`
		Bandwidth  float64  `json:"bandwidth_bytes_per_second"`
		FLOPS      float64  `json:"flops"`
		DotOPS     float64  `json:"int8_ops"`
		OpenTime   float64  `json:"open_seconds"`
		FirstToken float64  `json:"first_token_seconds"`
		Checks     []check  `json:"checks"`
	}{
		Go: h.Go, OS: h.OS, Arch: h.Arch, Processor: h.Processor, Features: append([]string{}, h.Features...),
		Variant: h.Variant, Cores: h.Cores, Allowed: h.Allowed, Quota: h.Quota, Threads: h.Threads,
		L1: h.L1, L2: h.L2, L3: h.L3, Bandwidth: h.Bandwidth, FLOPS: h.FLOPS, DotOPS: h.DotOPS,
		OpenTime: h.OpenTime.Seconds(), FirstToken: h.FirstToken.Seconds(),
	}
	for _, k := range h.Checks {
		out.Checks = append(out.Checks, check(k))
	}
	return out
}
