package quila

import (
	"context"
	"fmt"
	"slices"

	"atenia/internal/cli/command"
	"atenia/quila/conform"

	"github.com/spf13/cobra"
)

// conformance takes what runs the rows: all states come from [conform.Suite],
// but which of them a machine shows is not for a test to choose.
func conformance(env *command.Env, run func(context.Context, conform.Suite) []conform.Result) *cobra.Command {
	var o conform.Suite
	c := &cobra.Command{
		Use:   "conformance [ID...]",
		Short: "Run the conformance suite",
		Long: "Run the experiments of the specification's conformance suite and print for each row its id, its state and what\n" +
			"was measured: pass, fail, short for a speed below its limit, not-yet for what has not been built, needs-device for\n" +
			"what only an accelerator shows, skipped for rows that take minutes. IDs, or their beginnings, choose rows. A row\n" +
			"that fails or is short makes the exit code 3.",
		Example:     "  atenia quila conformance\n  atenia quila conformance DRC --json",
		Annotations: command.Patient,
		Args:        cobra.ArbitraryArgs,
	}
	c.Flags().BoolVar(&o.Slow, "slow", false, "also run the rows that take minutes")
	c.RunE = func(c *cobra.Command, args []string) error {
		o.Only = args
		if !*env.JSON {
			o.Each = func(r conform.Result) {
				fmt.Fprintf(env.Out, "%-14s %-12s %s\n", r.ID, r.State, r.Figure)
				for _, f := range slices.Concat(r.Faults, r.Short) {
					fmt.Fprintf(env.Out, "    %s\n", f)
				}
			}
			o.Log = func(format string, args ...any) { fmt.Fprintf(env.Progress, format+"\n", args...) }
		}
		results := run(c.Context(), o)
		if len(results) == 0 && len(args) > 0 {
			return command.Usagef("no row begins with %q", args[0])
		}
		counts := map[string]int{}
		for _, r := range results {
			counts[string(r.State)]++
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

func runRows(ctx context.Context, o conform.Suite) []conform.Result { return o.Run(ctx) }
