package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"
	"atenia/internal/model/embedded"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

func (a *app) doctor() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine",
		Long: "Report the processor, measure memory bandwidth and arithmetic, and run the embedded model. The exit code is\n" +
			"3 if a vital check fails.",
		Example: "  atenia doctor",
		Args:    cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
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
	fmt.Fprintf(w, "%s\topen in %d ms, first token after %d ms\n", embedded.Name, h.OpenTime.Milliseconds(), h.FirstToken.Milliseconds())
	if err := w.Flush(); err != nil {
		return err
	}
	for _, k := range h.Checks {
		mark := "ok  "
		if !k.OK {
			mark = "look"
		}
		fmt.Fprintf(a.out, "%s  %s: %s\n", mark, k.Name, oneLine(k.Text))
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
