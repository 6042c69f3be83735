package cli

import (
	"slices"

	"atenia/internal/cli/command"
	"atenia/internal/cli/quila"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// neuronFlags are the flags of run that a neuron-graph model has.
var neuronFlags = []string{"threads", "max-tokens", "stop", "temp", "top-k", "top-p", "min-p", "seed", "no-echo", "json", "help"}

// runNeurons continues a text with a neuron-graph model. A flag that such a model
// does not have is bad usage, not ignored.
func (a *app) runNeurons(c *cobra.Command, path, prompt string, sf *samplingFlags, mf *modelFlags, echo bool) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(neuronFlags, f.Name) && c.InheritedFlags().Lookup(f.Name) == nil {
			err = command.Usagef("--%s: %s is a neuron-graph model, which does not have it", f.Name, path)
		}
	})
	if err != nil {
		return err
	}
	o, p := &sf.opt, &sf.opt.Sampling
	if !c.Flags().Changed("seed") {
		p.Seed = randomSeed()
	}
	return quila.Continue(c.Context(), a.env(), quila.Continuation{
		Path: path, Prompt: prompt, Threads: mf.cfg.Threads, Echo: echo, MaxTokens: o.MaxTokens, Stop: o.Stop,
		Temperature: p.Temperature, TopK: p.TopK, TopP: p.TopP, MinP: p.MinP, Seed: p.Seed,
	})
}
