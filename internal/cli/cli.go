package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/cli/flow"
	"atenia/internal/cli/quila"
	"atenia/internal/engine"
	"atenia/internal/spelling"

	"atenia/place"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An app is one run of the command line.
type app struct {
	in       io.Reader
	out, err io.Writer
	json     bool
	quiet    bool
	args     []string // as they were given
	alone    bool     // the process is this command's, so that it can be started again

	talking atomic.Bool // Ctrl-C is part of a conversation
}

// env is what commands of other packages work with.
func (a *app) env() *command.Env {
	return &command.Env{In: a.in, Out: a.out, Err: aside{a, a.err}, JSON: &a.json, State: stateFolder(), Cache: cacheFolder(), Getenv: os.Getenv, Progress: aside{a, a.progress()}}
}

// aside writes messages that are not results: to standard error, or, with
// --quiet, which is known only after flags are parsed, nowhere.
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
	results := &output{w: out}
	alone := out == io.Writer(os.Stdout)
	if alone {
		defer command.Join(os.Getenv(command.WatchedVar))()
	}
	a := &app{in: in, out: results, err: errw, args: args, alone: alone}
	code := a.main(a.root())
	if code == command.OK && results.err != nil {
		fmt.Fprintf(errw, "atenia: the result could not be written: %v\n", results.err)
		return command.Failure
	}
	return code
}

// An output is the writer of results. It keeps its first error, which ends any command
// with a failure: some, such as the help's, do not look.
type output struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// Write writes unless a write has failed.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

func (a *app) main(root *cobra.Command) int {
	args, errw := a.args, a.err
	if a.alone && trusts(root, args) {
		if code, ran := command.Watched(args, os.Environ(), errw); ran {
			return code
		}
	}
	patient := isPatient(root, args)
	ctx, stop := untilSignal(a.talking.Load)
	defer stop()
	defer engine.GuardMemory(func(err error) {
		fmt.Fprintf(errw, "atenia: out of memory: %v: a larger limit or a smaller task is needed\n", err)
		command.Leave()
		os.Exit(command.Failure) // nothing that takes memory can be done any more
	})()
	root.SetArgs(append([]string{}, args...)) // nil would mean the process's own
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(errw)
	c, err := root, error(nil)
	done := make(chan bool)
	go func() {
		defer close(done)
		err = command.Guard(func() (err error) {
			c, err = root.ExecuteContextC(ctx)
			return err
		})
	}()
	if !wait(ctx, done, patient) {
		return ended(ctx, nil, errw)
	}
	if err == nil {
		return command.OK
	}
	if command.Crashed(err, errw, stateFolder(), versionText, args) {
		return command.Failure
	}
	if ctx.Err() != nil {
		return ended(ctx, err, errw)
	}
	if s, ok := errors.AsType[*interruption](err); ok {
		return s.end(errw)
	}
	if e, ok := errors.AsType[*command.ExitError](err); ok {
		fmt.Fprintln(errw, e.Text)
		return e.Code
	}
	fmt.Fprintf(errw, "atenia: %s\n", namesEscaped(byFlags(c, shorten(err.Error())), args))
	if e, ok := errors.AsType[*place.FloorError](err); ok && e.Tier == place.TierRAM {
		fmt.Fprintln(errw, a.enough(c, e, err))
	}
	code := exitCode(err)
	if code == command.BadUsage {
		fmt.Fprintf(errw, "see \"%s --help\"\n", c.CommandPath())
	}
	return code
}

// enough says which budget is large enough for a model, or what else helps where none is
// that this process can have.
func (a *app) enough(c *cobra.Command, e *place.FloorError, err error) string {
	flag := "--budget ram="
	if c.Flags().Lookup("budget") == nil {
		flag = "--ram "
	}
	switch {
	case e.Auto: // nobody gave too little
		return fmt.Sprintf("%q says what would run", a.doctorOf(c, err))
	case e.Most == 0 || e.Floor <= e.Most:
		return fmt.Sprintf("the least that works is %s%d", flag, e.Floor)
	case e.Unbound:
		return fmt.Sprintf("no budget of a size works here, where %s can be allocated: with ram=auto alone, or without a budget, the model is mapped, and %q says what else runs", spelling.Size(e.Most), a.doctorOf(c, err))
	}
	return fmt.Sprintf("no budget works here, where %s can be allocated: %q says what would run", spelling.Size(e.Most), a.doctorOf(c, err))
}

// doctorOf returns the call of doctor that asks about the model of a command, which its error
// begins with, with its flags that doctor has.
func (a *app) doctorOf(c *cobra.Command, err error) string {
	model := place.Embedded
	for _, arg := range c.Flags().Args() { // "run" has prompts among them, "checkpoint save" a folder
		if path := filepath.Clean(arg); strings.HasPrefix(err.Error(), engine.Display(path)+":") {
			model = path
		}
	}
	s := "atenia doctor " + spelling.Shell(model)
	has := a.doctor().Flags()
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "budget" && has.Lookup(f.Name) != nil {
			s += " " + spelling.Flag(f.Name, f.Value.String(), f.Value.Type() == "bool")
		}
	})
	return s
}

// fieldFlags are the flags that set fields of configurations; of several the first that a
// command has.
var fieldFlags = map[string][]string{
	"Context": {"ctx"}, "BatchTokens": {"batch-tokens", "chunk"}, "Threads": {"threads"}, "CacheType": {"kv-type"}, "MaxTokens": {"max-tokens"},
	"Slots": {"slots", "batch"}, "NoMmap": {"no-mmap"}, "NoStream": {"no-stream"}, "CacheBytes": {"cache-size"}, "Draft": {"draft"}, "Pack": {"pack"}, "Pooling": {"pooling"},
	"Temperature": {"temp"}, "TopK": {"top-k"}, "TopP": {"top-p"}, "MinP": {"min-p"}, "TypicalP": {"typical-p"}, "RepeatPenalty": {"repeat-penalty"}, "Adapter": {"adapter"},
}

var fieldName = regexp.MustCompile(`(?m)^(?:config|sampling): ([A-Z]\w*)( is|:)`)

// byFlags returns an error's text with flags of a command for the fields that they set.
func byFlags(c *cobra.Command, text string) string {
	return fieldName.ReplaceAllStringFunc(text, func(s string) string {
		m := fieldName.FindStringSubmatch(s)
		for _, name := range fieldFlags[m[1]] {
			if c.Flags().Lookup(name) != nil {
				return "--" + name + m[2]
			}
		}
		return s
	})
}

// shorten truncates a list of faults: an invalid configuration may have one for
// each tensor.
func shorten(s string) string {
	const most = 10
	lines := strings.Split(s, "\n")
	if len(lines) <= most+1 {
		return s
	}
	return strings.Join(append(lines[:most:most], fmt.Sprintf("… and %d more", len(lines)-most)), "\n")
}

// exitCode distinguishes bad usage, which includes invalid values, and failed
// verifications from all other errors.
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
	if e, ok := errors.AsType[*place.FloorError](err); ok && !e.Auto { // nobody gave too little
		return command.BadUsage
	}
	if errors.Is(err, atenia.ErrPin) || errors.Is(err, atenia.ErrRequire) {
		return command.BadUsage
	}
	return command.Failure
}

func (a *app) root() *cobra.Command {
	var showVersion *bool
	c := &cobra.Command{
		Use:   "atenia",
		Short: "Run language models on this machine",
		Long: "Run, train and explain language models on this machine. No Python, no compiler and no download is needed.\n\n" +
			"MODEL is a .gguf file, a Hugging Face folder, or atenia-story, the embedded model, which is the default.\n\n" +
			"The exit code is " + exitHelp,
		Example:       "  atenia run \"Once upon a time\"\n  atenia chat model.gguf\n  atenia plan model.gguf --ram 4GiB",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if *showVersion {
				return a.printVersion()
			}
			return c.Help()
		},

		PersistentPreRunE: func(*cobra.Command, []string) error { return readEnvironment() },
	}
	c.PersistentFlags().BoolVar(&a.json, "json", false, "print results as JSON")
	c.PersistentFlags().BoolVar(&a.quiet, "quiet", false, "suppress warnings, notes and progress")
	showVersion = c.Flags().BoolP("version", "v", false, "print the version, as \"atenia version\" does")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &command.UsageError{Err: a.flagError(c, err)} })
	c.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print help about a command",
		Long:  "Print help about a command, or about a topic such as \"atenia help environment\".",

		Example: "  atenia help run",
		Args:    cobra.ArbitraryArgs,

		ValidArgsFunction: func(help *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			return commandNames(c)(help, args, typed)
		},
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
		a.mcp(),
		a.serve(),
		a.plan(),
		a.inspect(),
		checkpointCommand(a.env()),
		a.embed(),
		a.rerank(),
		a.logits(), a.verify(),
		a.eval(),
		a.imatrix(),
		a.tokenize(),
		a.transcribe(),
		tokenizerCommand(a.env()),
		grammarCommand(a.env()),
		a.quantize(),
		a.doctor(),
		a.bench(),
		explainCommand(a.env()),
		hardwareCommand(a.env()),
		replayCommand(a.env()),
		flow.Command(a.env()),
		quila.Command(a.env()),
		cacheCommand(a.env()),
		trainCommand(a.env()),
		finetuneCommand(a.env()),
		a.version(),
		a.man(),
	)
	checkArgs(c)
	if len(a.args) > 0 && strings.HasPrefix(a.args[0], cobra.ShellCompRequestCmd) {
		completeArguments(c, flagValues())
	}
	c.AddCommand(environmentHelp())
	return c
}

// checkArgs makes wrong numbers of arguments bad usage of every command below.
func checkArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		check := sub.Args
		sub.Args = func(c *cobra.Command, args []string) error {
			switch group := c.HasAvailableSubCommands() && cobra.NoArgs(c, args) != nil; {
			case check(c, args) == nil:
				return nil
			case group && check(c, args[:0]) == nil && check(c, []string{""}) != nil:
				return unknownCommand(c, args)
			}
			return command.Usagef("want %q, got %s", c.UseLine(), spelling.Count(len(args), "argument"))
		}
		checkArgs(sub)
	}
}

// printJSON writes a result as JSON.
func (a *app) printJSON(v any) error { return a.env().PrintJSON(v) }

// progress returns where to show progress: standard error if it is a
// terminal, nowhere otherwise.
func (a *app) progress() io.Writer {
	if !a.quiet && isTerminal(a.err) {
		return a.err
	}
	return io.Discard
}
