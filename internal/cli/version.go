package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"atenia/internal/kernel"

	"github.com/spf13/cobra"
)

// A versionResult is what version prints with --json.
type versionResult struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"commit_time,omitempty"`
	Modified bool   `json:"modified"` // files differed from the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Kernels  string `json:"kernels"`
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and how the program was built",
		Long: "Print the version, the commit, the Go release, the platform, and the kernels in use. \"atenia --version\"\n" +
			"prints the same. Quote it in bug reports.",
		Example: "  atenia version\n  atenia version --json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	info, _ := debug.ReadBuildInfo()
	r := versionOf(info)
	if a.json {
		return a.printJSON(r)
	}
	_, err := io.WriteString(a.out, r.String())
	return err
}

// versionText is what "atenia version" prints.
func versionText() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info).String()
}

// String returns the lines that "atenia version" prints.
func (r *versionResult) String() string {
	commit := r.Commit
	switch {
	case commit == "":
		commit = "unknown"
	case r.Modified:
		commit += " (modified)"
	}
	return fmt.Sprintf("atenia %s\ncommit   %s\ngo       %s %s/%s\nkernels  %s\n", r.Version, commit, r.Go, r.OS, r.Arch, r.Kernels)
}

// versionOf returns the version recorded by the Go toolchain; info may be nil.
func versionOf(info *debug.BuildInfo) *versionResult {
	r := &versionResult{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernels: kernel.Variant()}
	if info == nil {
		return r
	}
	if info.Main.Version != "" {
		r.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Commit = s.Value
		case "vcs.time":
			r.Time = s.Value
		case "vcs.modified":
			r.Modified = s.Value == "true"
		}
	}
	return r
}
