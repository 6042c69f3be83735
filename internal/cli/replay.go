package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"atenia/place"
	"github.com/spf13/cobra"
)

// replayCommand returns the command.
func replayCommand(env *command.Env) *cobra.Command {
	var policy string
	var long strings.Builder
	long.WriteString("Make every decision of a log again from its recorded inputs, and compare the lines byte for byte. LOG is a\n" +
		"file written by --decisions, or - for standard input. A log that was closed ends with a mark that counts its\n" +
		"records. The exit code is 3 if an input or an outcome was altered, if the log has no such mark because the run\n" +
		"was killed or is not over, and if it is no log of decisions. With --policy, print what would have been decided\n" +
		"differently:\n")
	for _, p := range atenia.ReplayPolicies() {
		fmt.Fprintf(&long, "\n  %-12s %s", p[0], strings.ReplaceAll(p[1], " ", "\n               "))
	}
	c := &cobra.Command{
		Use:     "replay LOG",
		Short:   "Replay recorded decisions",
		Long:    long.String(),
		Example: "  atenia replay d.jsonl\n  atenia replay d.jsonl --policy no-gpu\n  atenia replay d.jsonl --policy \"budget.ram=8000000000\"",
		Args:    cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&policy, "policy", "", "print what another policy would decide: a name or COMPONENT.INPUT=VALUE")
	c.RunE = func(_ *cobra.Command, args []string) error { return run(env, args[0], policy) }
	return c
}

func run(env *command.Env, file, policy string) error {
	in := env.In
	if file != "-" {
		f, err := durable.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	r, err := atenia.Replay(in, policy)
	switch {
	case r == nil:
		return err
	case err != nil && isDamage(err):
		err = fmt.Errorf("%w: %s: %w; %s", command.ErrVerify, file, err, before(r.Records))
	case err == nil && policy == "" && len(r.Differences) > 0:
		err = fmt.Errorf("%w: %d of %s came out differently", command.ErrVerify, len(r.Differences), spelling.Count(r.Records, "record"))
	}
	if r.Cut != nil {
		err = errors.Join(err, fmt.Errorf("%w: %s: %w; %s: the run was killed or is not over, or the log is from a version without end marks. "+
			"Run again with --decisions to continue and end it", command.ErrVerify, file, r.Cut, before(r.Records)))
	}
	var perr error
	if *env.JSON {
		perr = env.PrintJSON(r)
	} else {
		perr = print(env.Out, r, policy, err == nil)
	}
	return errors.Join(err, perr)
}

// before says what was made again of a log that is not whole.
func before(records int) string {
	if records == 0 {
		return "nothing was checked"
	}
	return fmt.Sprintf("the %s before were made again", spelling.Count(records, "record"))
}

// isDamage distinguishes an invalid record from a file that cannot be read.
func isDamage(err error) bool {
	_, ok := errors.AsType[*os.PathError](err)
	return !ok
}

// most bounds the differences that a person is shown.
const most = 100

func print(w io.Writer, r *place.ReplayReport, policy string, whole bool) error {
	var b strings.Builder
	for i, d := range r.Differences {
		if i == most {
			fmt.Fprintf(&b, "… and %d more\n", len(r.Differences)-most)
			break
		}
		fmt.Fprintf(&b, "line %d, record %d, %s\n", d.Line, d.Seq, d.Component)
		for _, f := range d.Fields {
			was, is := around(f.Recorded, f.Replayed)
			if f.Name == "error" {
				fmt.Fprintf(&b, "  %s\n", is)
				continue
			}
			fmt.Fprintf(&b, "  %s: %s → %s\n", f.Name, was, is)
		}
	}
	switch n := len(r.Differences); {
	case policy != "":
		fmt.Fprintf(&b, "%s, %d would be decided differently\n", spelling.Count(r.Records, "record"), n)
	case whole:
		fmt.Fprintf(&b, "%s, all came out the same\n", spelling.Count(r.Records, "record"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// around cuts two long texts to where they begin to differ.
func around(a, b string) (string, string) {
	const before, room = 30, 100
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string {
		lo, hi := max(0, i-before), min(len(s), i-before+room)
		if len(s) <= room {
			return s
		}
		out := strings.ToValidUTF8(s[lo:max(lo, hi)], "")
		if lo > 0 {
			out = "…" + out
		}
		if hi < len(s) {
			out += "…"
		}
		return out
	}
	return cut(a), cut(b)
}
