package cli

import (
	"fmt"
	"os"

	"atenia"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// kernelVar names the kernels to use instead of the best ones.
const kernelVar = "ATENIA_KERNEL"

// readEnvironment obeys the variables that [environmentHelp] lists.
func readEnvironment() error {
	if v := os.Getenv(kernelVar); v != "" {
		if err := atenia.UseKernels(v); err != nil {
			return &command.UsageError{Err: fmt.Errorf("%s: %w", kernelVar, err)}
		}
	}
	return nil
}

// environmentHelp is not a command: "atenia help environment" prints it.
func environmentHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "Variables of the environment that atenia reads",
		Long: kernelVar + " names the kernels to use: portable, avx2 or avx512; on arm64 portable, neon or dotprod. The\n" +
			"default is the best that this machine has, which \"atenia doctor\" names. Results are the same to the last\n" +
			"bit, only speed changes: this is for measurements and tests.",
	}
}
