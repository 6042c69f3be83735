package cli

import (
	"errors"
	"path/filepath"

	"atenia/internal/cli/command"
	"atenia/internal/machine/hw"
	"atenia/internal/memory/cuda"

	"github.com/spf13/cobra"
)

// hardwareCommand returns "atenia hw".
func hardwareCommand(env *command.Env) *cobra.Command {
	o := hw.Options{GPUs: cuda.Prober{}}
	c := &cobra.Command{
		Use:   "hw",
		Short: "Report processor, memory, storage and devices",
		Long: "Report the processor, memory within its control groups, the storage of a cache folder, and devices, and warn\n" +
			"about what will be slow or refused. --probe says how much is measured: none; quick, which measures storage\n" +
			"for about a second unless there is a profile of the last 30 days; or full, which measures storage and the\n" +
			"links to devices anew. GPUs on which nothing computes are named, and NUMA nodes where there are several; --json\n" +
			"has the averages that the system keeps of waits for memory, too.",
		Example: "  atenia hw\n  atenia hw --probe full --cache-dir /mnt/nvme/atenia\n  atenia hw --json",
		Args:    cobra.NoArgs,
	}
	probe := "quick"
	c.Flags().StringVar(&probe, "probe", probe, "how much to measure: none, quick or full")
	c.Flags().StringVar(&o.CacheDir, "cache-dir", env.Cache, "folder whose storage is examined")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := o.Depth.UnmarshalText([]byte(probe)); err != nil {
			return command.Usagef("--probe: %w", err)
		}
		if dir := stateFolder(); dir != "" {
			_ = writable(dir) // makes it; what was counted is read all the same
			o.Calls = filepath.Join(dir, hw.CallsName)
		}
		snapshot, details, err := hw.Probe(c.Context(), o)
		if !c.Flags().Changed("cache-dir") { // the rest is an answer without the storage that nobody named
			err = unkept(env.Err, err, filepath.Dir(env.Cache))
		}
		if *env.JSON {
			return errors.Join(env.PrintJSON(map[string]any{"machine": details.Machine(), "snapshot": snapshot, "details": details}), err)
		}
		return errors.Join(details.Print(env.Out, snapshot), err)
	}
	return c
}
