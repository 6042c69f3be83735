package quila

import (
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

// Command returns the command.
func Command(env *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "quila",
		Short: "Plan, train and check neuron-graph models",
		Long: "Quila is a language model made of neurons that send each other messages. A model file ends in .sxlm; \"atenia run\n" +
			"MODEL.sxlm PROMPT\" continues a text with it and \"atenia inspect MODEL.sxlm\" lists what it holds. See docs/quila.md.",
		Example: "  atenia quila plan --profile 13b --devices 4x80\n" +
			"  atenia quila train --profile nano --out nano.sxlm",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(plan(env), coders(env), trainCommand(env), evalCommand(env), conformance(env, runRows))
	return c
}
