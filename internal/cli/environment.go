package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/kernel"

	"github.com/spf13/cobra"
)

// kernelVar names the kernels to use instead of the best ones.
const kernelVar = "ATENIA_KERNEL"

// readEnvironment obeys the variables that [environmentHelp] lists.
func readEnvironment() error {
	if v := os.Getenv(kernelVar); v != "" {
		if kernel.SetVariant(v) != nil {
			err := &atenia.ConfigError{Field: "Kernels", Got: v, Want: "one of those this machine has: " + strings.Join(kernel.Variants(), ", ")}
			return &command.UsageError{Err: fmt.Errorf("%s: %w", kernelVar, err)}
		}
	}
	return nil
}

// stateFolder is the folder of persistent state.
func stateFolder() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the specification ignores others
		return filepath.Join(dir, "atenia")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "atenia")
}

// cacheFolder is the folder of reproducible data: packed weights, measured rates
// of storage, and how much longer runs took than predicted.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil { // a user without one has no place for it
		return ""
	}
	return filepath.Join(dir, "atenia")
}

// environmentHelp is not a command: "atenia help environment" prints it.
func environmentHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "Environment variables",
		Long: kernelVar + " selects the kernels: portable, avx2 or avx512; on arm64 portable, neon or dotprod. The default\n" +
			"is the best that this machine has, which \"atenia version\" prints. Results are the same to the last bit; only\n" +
			"speed changes. Use it for measurements and tests.\n\n" +
			"" + keyVar + " is a key that clients of \"atenia serve\" may send.\n\n" +
			"XDG_STATE_HOME is the folder for state that outlives a run, such as what was learned about backends, which is\n" +
			"kept in its subfolder atenia. The default is ~/.local/state.\n\n" +
			"AMP_NODE_PATH lists folders with libraries of C nodes for \"atenia flow\". They are searched after those of\n" +
			"--nodes and before XDG_DATA_HOME/amp/nodes, /usr/local/lib/amp and /usr/lib/amp.",
	}
}
