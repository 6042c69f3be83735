package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// exitHelp describes exit codes in manual pages and help.
const exitHelp = `0 on success, 1 on failure, 2 for a mistake in how the command was called, 3 if a check found
wrong results, and 130 or 143 after Ctrl-C or SIGTERM.`

// An interruption is the signal that ended a command.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string {
	if i.signal == os.Interrupt {
		return "interrupted"
	}
	return "terminated"
}

// end prints the interruption and returns the exit code that shells expect: 128
// and the number of the signal.
func (i *interruption) end(errw io.Writer) int {
	fmt.Fprintf(errw, "atenia: %v\n", i)
	if s, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return command.Failure
}

// untilSignal returns a context that Ctrl-C and SIGTERM cancel, with an
// [interruption] as its cause. A further one ends the process at once: files are written
// so that a kill loses nothing. While talking reports true, Ctrl-C is left to the command.
func untilSignal(talking func() bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	command.Notify(signals)
	go func() {
		for {
			select {
			case s := <-signals:
				switch i := (&interruption{s}); {
				case ctx.Err() != nil:
					command.Leave()
					os.Exit(i.end(os.Stderr))
				case s != os.Interrupt || !talking():
					cancel(i)
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
	}
}

// ended returns the exit code of a command that a signal ended. It prints the
// command's own error, such as how to resume.
func ended(ctx context.Context, err error, errw io.Writer) int {
	i, ok := errors.AsType[*interruption](context.Cause(ctx))
	if !ok {
		return command.Failure
	}
	if _, own := errors.AsType[*interruption](err); err == nil || own || errors.Is(err, context.Canceled) {
		return i.end(errw)
	}
	fmt.Fprintf(errw, "atenia: %s\n", shorten(err.Error()))
	return i.end(io.Discard)
}

// isPatient reports whether a command must be waited for after a signal. The
// weights that --lora merges are in a temporary file until the model is closed.
func isPatient(root *cobra.Command, args []string) bool {
	c, _, err := root.Find(args)
	merges := slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "--lora") })
	return err == nil && (merges || command.IsPatient(c.Annotations))
}

// trusts reports whether a command may run libraries of others in its process. Such a command is watched by another.
func trusts(root *cobra.Command, args []string) bool {
	c, _, err := root.Find(args)
	given := slices.ContainsFunc(args, func(s string) bool { return s == "--trust" || strings.HasPrefix(s, "--trust=") })
	return err == nil && given && c.Flags().Lookup("trust") != nil
}

// wait waits for a command. After ctx has ended, a command that is not patient
// has a moment to return: a model that computes a long prompt notices only
// seconds later.
func wait(ctx context.Context, done <-chan bool, patient bool) bool {
	const moment = 200 * time.Millisecond
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	late := time.After(moment)
	if patient {
		late = nil
	}
	select {
	case <-done:
		return true
	case <-late:
		return false
	}
}
