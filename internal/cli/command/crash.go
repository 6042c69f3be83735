package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atenia/internal/fault"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
)

// Guard returns the error of f, or its panic as an error that [Crashed] knows. Every
// goroutine of a command begins with it.
func Guard(f func() error) error { return fault.Call(f) }

// Crashed reports whether err is a panic, and if so writes a report to the folder of
// persistent state, "" = there is none, or else to that of temporary files, and says
// on errw where it is. version returns the lines that "atenia version" prints.
func Crashed(err error, errw io.Writer, state string, version func() string, args []string) bool {
	p, ok := errors.AsType[*fault.Panic](err)
	if !ok {
		return false
	}
	fmt.Fprintf(errw, "atenia: %s\n", firstLine(p.Error()))
	name, err := writeReport(cmp.Or(state, os.TempDir()), version(), args, p)
	if err != nil {
		name, err = writeReport(os.TempDir(), version(), args, p)
	}
	if err != nil {
		fmt.Fprintf(errw, "this is a mistake in atenia, not in what you did; no report could be written: %v\n\n%s\n", err, p.Stack)
		return true
	}
	fmt.Fprintf(errw, "this is a mistake in atenia, not in what you did: please send the report to its authors, with the file it\n"+
		"happened with if you can share it. The report has the command line; remove from it what is private.\nreport: %s\n", name)
	return true
}

// writeReport writes what is known of a panic to a new file in dir.
func writeReport(dir, version string, args []string, p *fault.Panic) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	now := time.Now().UTC()
	name := filepath.Join(dir, fmt.Sprintf("crash-%s-%d.txt", now.Format("20060102T150405"), os.Getpid()))
	return name, durable.Replace(name, func(w io.Writer) error {
		fmt.Fprintf(w, "%s\n\n%stime     %s\ncommand  atenia %s\n\n%s\n",
			p.Error(), version, now.Format(time.RFC3339), strings.Join(quoted(args), " "), p.Stack)
		return nil
	})
}

func quoted(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = spelling.Shell(a)
	}
	return out
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}
