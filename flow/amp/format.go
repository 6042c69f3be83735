package amp

import (
	"path/filepath"
	"slices"
	"strings"

	"atenia/flow/node"
)

// A Format opens libraries of nodes of another ABI than this package's, so that
// they run in processes of their own as C nodes do. A program gives its formats
// to [Serve] in the child, and names one in [ProcessConfig] in the host.
//
//	amp.StartProcess("reverb.clap", amp.ProcessConfig{Command: […], Format: "clap"})
//	amp.Serve(amp.Format{Name: "clap", Open: openPlugins}) // in the child
type Format struct {
	Name string
	// Open opens a library. log takes its messages, so that they
	// outlive the process, and Events does not repeat them; nil: they have memory of their
	// own.
	Open func(path string, log []byte) (Host, error)
}

// A Host is an opened library: its node types, which make their instances in
// this process, and what happened since it was last asked. [Library] is one.
type Host interface {
	Types() node.Table
	Events() []Event
}

// A StateSaver is an instance whose state of settings can be saved: what a
// preset holds, as opposed to what node.Stateful saves from call to call. It is
// called while the node runs, never by a real-time thread.
type StateSaver interface{ SaveState() ([]byte, error) }

// A FormatError says why a library of another format cannot be used.
type FormatError struct{ Name, Text string }

// Error implements error.
func (e *FormatError) Error() string { return e.Name + ": " + e.Text }

func openFormat(formats []Format, name, path string, log []byte) (Host, error) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return nil, &FormatError{path, "this program runs no libraries of format " + name}
	}
	return formats[i].Open(path, log)
}

// Trusts reports whether a library is one of the trusted ones, or in one of the
// trusted folders.
func Trusts(trusted []string, path string) bool {
	return slices.ContainsFunc(trusted, func(t string) bool {
		t, err := filepath.Abs(t)
		if err != nil {
			return false
		}
		rest, ok := strings.CutPrefix(path, t)
		return ok && (rest == "" || rest[0] == filepath.Separator || t[len(t)-1] == filepath.Separator)
	})
}
