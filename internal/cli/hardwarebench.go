package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// benchMemoryCommand returns "atenia bench mem".
func benchMemoryCommand(env *command.Env) *cobra.Command {
	var threads, repeats int
	c := &cobra.Command{
		Use:   "mem",
		Short: "Measure memory bandwidth",
		Long: "Measure reading memory that no cache holds, copying it, and writing fresh memory for the first time, with one\n" +
			"core and with all threads. Medians of -r repeats are printed.",
		Example: "  atenia bench mem -r 1\n" +
			"  atenia bench mem --json > before.json    # and later:\n" +
			"  atenia bench mem --compare before.json",
		Args: cobra.NoArgs,
	}
	c.Flags().IntVarP(&threads, "threads", "t", 0, "threads (0 = physical cores)")
	c.Flags().IntVarP(&repeats, "repeats", "r", 5, "number of repetitions; medians are printed")
	return comparing(env, c, func(ctx context.Context, _ []string) (*machine.Report, error) {
		fmt.Fprintln(env.Progress, "measuring …")
		return machine.Memory(ctx, threads, repeats)
	})
}

// benchStorageCommand returns "atenia bench ssd".
func benchStorageCommand(env *command.Env) *cobra.Command {
	var dir string
	var repeats int
	c := &cobra.Command{
		Use:   "ssd",
		Short: "Measure storage bandwidth",
		Long: "Measure the storage of a folder with a temporary file: sequential and random reads past the system's cache,\n" +
			"durable writes, and the first touch of memory. Each repeat takes some seconds. The last result is kept in\n" +
			"the folder as the profile that \"atenia hw\" and placements use.",
		Example: "  atenia bench ssd\n  atenia bench ssd --cache-dir /mnt/nvme/atenia -r 3 --json > before.json",
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&dir, "cache-dir", env.Cache, "folder whose storage is measured")
	c.Flags().IntVarP(&repeats, "repeats", "r", 1, "number of repetitions; medians are printed")
	return comparing(env, c, func(ctx context.Context, _ []string) (*machine.Report, error) {
		fmt.Fprintln(env.Progress, "measuring …")
		return machine.Storage(ctx, dir, repeats)
	})
}

// comparing makes a command print what measure returns, and how that compares
// with an earlier result, which it reads first.
func comparing(env *command.Env, c *cobra.Command, measure func(context.Context, []string) (*machine.Report, error)) *cobra.Command {
	var before string
	c.Flags().StringVar(&before, "compare", "", "compare with the result in `FILE`, written by --json")
	c.RunE = func(c *cobra.Command, args []string) error {
		old, err := readBefore(before)
		if err != nil {
			return err
		}
		b, err := measure(c.Context(), args)
		if err != nil {
			return err
		}
		return report(env, b, before, old)
	}
	return c
}

// report prints a result and, if there is an earlier one, how it compares.
func report(env *command.Env, b *machine.Report, file string, old *machine.Report) error {
	r := hardwareResult{Report: b}
	if old != nil {
		r.Compare = compareHardware(file, old, b)
	}
	if *env.JSON {
		return env.PrintJSON(r)
	}
	fmt.Fprintf(env.Out, "%s (machine %s), %s\n", b.Processor, b.Machine, spelling.Count(b.Threads, "thread"))
	w := tabwriter.NewWriter(env.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "test\tmedian\tmin\tmax")
	for _, t := range b.Tests {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, amount(t.Median, t.Unit), amount(t.Min, t.Unit), amount(t.Max, t.Unit))
	}
	if err := w.Flush(); err != nil || r.Compare == nil {
		return err
	}
	fmt.Fprintf(env.Out, "\nagainst %s", r.Compare.File)
	if !r.Compare.SameMachine {
		fmt.Fprintf(env.Out, ", measured on another machine (%s)", old.Processor)
	}
	fmt.Fprintln(env.Out)
	fmt.Fprintln(w, "test\tbefore\tnow\tratio")
	for _, t := range r.Compare.Tests {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f %s\n", t.Name, amount(t.Before, t.Unit), amount(t.Now, t.Unit), t.Ratio, t.Verdict)
	}
	return w.Flush()
}

// amount prints a rate for people.
func amount(v float64, unit string) string {
	switch {
	case unit == "B/s" && v >= 1e9:
		return fmt.Sprintf("%.2f GB/s", v/1e9)
	case unit == "B/s":
		return fmt.Sprintf("%.1f MB/s", v/1e6)
	case unit == "s":
		return fmt.Sprintf("%.3f ms", v*1e3)
	}
	if unit == "x" {
		return fmt.Sprintf("%.3f x", v)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}
