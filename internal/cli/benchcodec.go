package cli

import (
	"context"

	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// benchCodecsCommand returns "atenia bench codec".
func benchCodecsCommand(env *command.Env) *cobra.Command {
	var mib, repeats int
	c := &cobra.Command{
		Use:   "codec [MODEL]",
		Short: "Measure tensor codecs",
		Long: "Measure the compression ratio of each codec, and the bytes of tensors that a core encodes and decodes per\n" +
			"second of CPU time. Without MODEL the tensors are synthetic bfloat16 weights, normally distributed with one\n" +
			"scale for each row. A codec pays off where idle cores decode faster than the disk reads: see\n" +
			"\"atenia bench ssd\".",
		Example: "  atenia bench codec\n  atenia bench codec model.safetensors --json > before.json\n" +
			"  atenia bench codec model.safetensors --compare before.json",
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().IntVar(&mib, "memory", 64, "maximum MiB of tensors for each element type")
	c.Flags().IntVarP(&repeats, "repeats", "r", 3, "number of repetitions; medians are printed")
	return comparing(env, c, func(ctx context.Context, args []string) (*machine.Report, error) {
		file := ""
		if len(args) > 0 {
			file = args[0]
		}
		return machine.Codecs(ctx, file, mib, repeats)
	})
}
