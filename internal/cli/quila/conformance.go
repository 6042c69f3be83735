package quila

import (
	"fmt"

	"atenia/internal/cli/command"
	"atenia/quila"

	"github.com/spf13/cobra"
)

func conformance(env *command.Env) *cobra.Command {
	var o quila.Conformance
	c := &cobra.Command{
		Use:   "conformance [ID...]",
		Short: "Run the conformance suite",
		Long: "Run the experiments of the specification's conformance suite and print for each row its id, its state and what\n" +
			"was measured: pass, fail, short of a goal of speed on this machine, not-yet for what has not been built, needs-device for what only an accelerator shows,\n" +
			"skipped for rows that take minutes. IDs, or their beginnings, choose rows. A row that fails or is short makes the exit code 3.",
		Example:     "  atenia quila conformance\n  atenia quila conformance DRC --json",
		Annotations: command.Patient,
		Args:        cobra.ArbitraryArgs,
	}
	c.Flags().BoolVar(&o.Slow, "slow", false, "also run the rows that take minutes")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Only = args
		if !*env.JSON {
			o.Each = func(r quila.Result) {
				fmt.Fprintf(env.Out, "%-14s %-12s %s\n", r.ID, r.State, r.Figure)
				for _, f := range append(r.Faults, r.Missed...) {
					fmt.Fprintf(env.Out, "    %s\n", f)
				}
			}
			o.Log = func(format string, args ...any) { fmt.Fprintf(env.Progress, format+"\n", args...) }
		}
		results := o.Run(c.Context())
		if len(results) == 0 && len(args) > 0 {
			return command.Usagef("no row begins with %q", args[0])
		}
		counts := map[string]int{}
		for _, r := range results {
			counts[r.State]++
		}
		if *env.JSON {
			if err := env.PrintJSON(results); err != nil {
				return err
			}
		} else {
			fmt.Fprintf(env.Out, "%d pass, %d fail, %d short, %d not-yet, %d needs-device, %d skipped\n", counts["pass"], counts["fail"], counts["short"], counts["not-yet"], counts["needs-device"], counts["skipped"])
		}
		if err := c.Context().Err(); err != nil {
			return err
		}
		if counts["fail"]+counts["short"] > 0 {
			return command.ErrVerify
		}
		return nil
	}
	return c
}
