package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"atenia"
	"atenia/internal/cli/cache"
	"atenia/internal/cli/checkpoint"
	"atenia/internal/cli/command"
	"atenia/internal/cli/editor"
	"atenia/internal/cli/explain"
	"atenia/internal/cli/flow"
	"atenia/internal/cli/hardware"
	"atenia/internal/cli/replay"
	"atenia/internal/cli/tokenizer"
	"atenia/internal/cli/train"

	"github.com/spf13/cobra"
)

// An app is one run of the command line.
type app struct {
	in       io.Reader
	out, err io.Writer
	json     bool
	quiet    bool
	args     []string // as they were given
}

// env is what commands of other packages work with.
func (a *app) env() *command.Env {
	return &command.Env{In: a.in, Out: a.out, Err: aside{a, a.err}, JSON: &a.json, State: stateFolder(), Cache: cacheFolder(), Getenv: os.Getenv, Progress: aside{a, a.progress()}}
}

// aside is where a command says what is no result: nowhere with --quiet, which
// is known only once flags are parsed.
type aside struct {
	a *app
	w io.Writer
}

func (s aside) Write(b []byte) (int, error) {
	if s.a.quiet {
		return len(b), nil
	}
	return s.w.Write(b)
}

// Main runs the command line and returns the exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a := &app{in: in, out: out, err: errw, args: args}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean the process's own
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	c, err := root, error(nil)
	patient := isPatient(root, args)
	done := make(chan bool)
	go func() {
		defer close(done)
		c, err = root.ExecuteContextC(ctx)
	}()
	if !wait(ctx, done, patient) {
		fmt.Fprintln(errw, "atenia: interrupted")
		return command.Failure
	}
	if err == nil {
		return command.OK
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(errw, "atenia: interrupted")
		return command.Failure
	}
	if e, ok := errors.AsType[*command.ExitError](err); ok {
		fmt.Fprintln(errw, e.Text)
		return e.Code
	}
	fmt.Fprintf(errw, "atenia: %s\n", shorten(err.Error()))
	code := exitCode(err)
	if code == command.BadUsage {
		fmt.Fprintf(errw, "see \"%s --help\"\n", c.CommandPath())
	}
	return code
}

// isPatient reports whether a command must be waited for after Ctrl-C.
func isPatient(root *cobra.Command, args []string) bool {
	c, _, err := root.Find(args)
	return err == nil && command.IsPatient(c.Annotations)
}

// wait waits for a command to be done. Once ctx has ended, it gives an
// impatient one a moment to say so itself: a model that computes a long prompt
// notices only seconds later.
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

// shorten cuts a list of faults to what a person reads: a configuration that
// is wrong for its tensors has one for each of them.
func shorten(s string) string {
	const most = 10
	lines := strings.Split(s, "\n")
	if len(lines) <= most+1 {
		return s
	}
	return strings.Join(append(lines[:most:most], fmt.Sprintf("… and %d more", len(lines)-most)), "\n")
}

// exitCode tells bad usage, which includes values that cannot be, and failed
// verifications from everything else.
func exitCode(err error) int {
	if errors.Is(err, command.ErrVerify) {
		return command.BadResult
	}
	if _, ok := errors.AsType[*command.UsageError](err); ok {
		return command.BadUsage
	}
	if _, ok := errors.AsType[*atenia.ConfigError](err); ok {
		return command.BadUsage
	}
	if _, ok := errors.AsType[*atenia.FloorError](err); ok {
		return command.BadUsage
	}
	if _, ok := errors.AsType[*atenia.SamplingError](err); ok {
		return command.BadUsage
	}
	return command.Failure
}

func (a *app) root() *cobra.Command {
	c := &cobra.Command{
		Use:           "atenia",
		Short:         "Run language models on this machine",
		Long:          "Atenia runs language models: no Python, no compiler, nothing to download.\n\nMODEL is a .gguf file, a Hugging Face folder, or nothing for the embedded model.",
		Example:       "  atenia run \"Once upon a time\"\n  atenia chat model.gguf\n  atenia plan model.gguf",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		Version:       version(),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		PersistentPreRunE: func(*cobra.Command, []string) error { return readEnvironment() },
	}
	c.PersistentFlags().BoolVar(&a.json, "json", false, "print results as JSON")
	c.PersistentFlags().BoolVar(&a.quiet, "quiet", false, "print no warnings, notes and progress, only results and errors")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &command.UsageError{Err: a.unknownFlag(c, err)} })
	c.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say how a command is called",
		Args:  cobra.ArbitraryArgs,
		RunE: func(help *cobra.Command, args []string) error {
			sub, rest, err := c.Find(args)
			if err != nil || sub == c {
				if err := unknownCommand(c, rest); err != nil {
					return err
				}
			}
			return sub.Help()
		},
	})
	c.AddCommand(
		a.run(),
		a.chat(),
		a.plan(),
		a.inspect(),
		checkpoint.Command(a.env()),
		a.logits(),
		a.tokenize(),
		tokenizer.Command(a.env()),
		a.quantize(),
		a.doctor(),
		a.bench(),
		explain.Command(a.env()),
		hardware.Command(a.env()),
		replay.Command(a.env()),
		flow.Command(a.env()),
		cache.Command(a.env()),
		train.Command(a.env()),
		train.Finetune(a.env()),
	)
	checkArgs(c)
	c.AddCommand(environmentHelp())
	return c
}

// checkArgs makes wrong numbers of arguments bad usage of every command below.
func checkArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		check := sub.Args
		sub.Args = func(c *cobra.Command, args []string) error {
			if check(c, args) != nil {
				return command.Usagef("%d arguments do not fit %q", len(args), c.UseLine())
			}
			return nil
		}
		checkArgs(sub)
	}
}

// version is that of the module, as the Go toolchain recorded it.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(unknown)"
}

// printJSON writes a result as JSON.
func (a *app) printJSON(v any) error { return a.env().PrintJSON(v) }

// progress returns where to show progress: standard error if it is a
// terminal, nowhere otherwise.
func (a *app) progress() io.Writer {
	if !a.quiet && editor.IsTerminal(a.err) {
		return a.err
	}
	return io.Discard
}
