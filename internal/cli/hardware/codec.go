package hardware

import (
	"context"

	"atenia/internal/bench"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// BenchCodecs returns "atenia bench codec".
func BenchCodecs(env *command.Env) *cobra.Command {
	var mib, repeats int
	c := &cobra.Command{
		Use:   "codec [MODEL]",
		Short: "Measure how tensors are encoded",
		Long: "Codec measures, for each codec, how many times smaller it makes tensors, and how many bytes of tensors a\n" +
			"core encodes and decodes in a second of its own time, which others who use the processor do not lengthen.\n" +
			"Without MODEL the tensors are made up: bfloat16 weights, normal with a scale for each row. A codec pays\n" +
			"where cores that are free decode faster than the disk reads, see \"atenia bench ssd\".",
		Example: "  atenia bench codec\n  atenia bench codec model.safetensors --json > before.json\n" +
			"  atenia bench codec model.safetensors --compare before.json",
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().IntVar(&mib, "memory", 64, "MiB of tensors of an element type at most")
	c.Flags().IntVarP(&repeats, "repeats", "r", 3, "how often; medians are printed")
	return comparing(env, c, func(ctx context.Context, args []string) (*bench.MachineReport, error) {
		file := ""
		if len(args) > 0 {
			file = args[0]
		}
		return bench.Codecs(ctx, file, mib, repeats)
	})
}
