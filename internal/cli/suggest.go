package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"atenia/internal/cli/command"
	"atenia/internal/spelling"
)

// unknownCommand rejects arguments of the program itself, which are unknown
// commands.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return command.Usagef("no command %q%s", args[0], didYouMean(args[0], names, ""))
}

// unknownFlag adds the flag that was probably meant to an error about one that
// does not exist.
func (a *app) unknownFlag(c *cobra.Command, err error) error {
	if c == c.Root() && len(a.args) > 0 && !strings.HasPrefix(a.args[0], "-") { // the flags are of a command that does not exist
		return unknownCommand(c, a.args)
	}
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	if e.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("no flag -%s", e.GetSpecifiedName())
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("no flag --%s%s", e.GetSpecifiedName(), didYouMean(e.GetSpecifiedName(), names, "--"))
}

// didYouMean returns a hint at the name that is nearest to a wrong one, or ""
// when none is near.
func didYouMean(wrong string, names []string, prefix string) string {
	best, least := "", 1+(len(wrong)+1)/2
	for _, n := range names {
		d := spelling.Distance(wrong, n)
		if strings.HasPrefix(n, wrong) { // cut short, not misspelt
			d = min(d, 1)
		}
		if d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}
