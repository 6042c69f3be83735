package cli

import (
	"bufio"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/engine"
	"atenia/place"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settings are what all children of a measurement share. Parent and child
// agree on them through flags.
type settings struct {
	threads, prompt, passes int
	rates                   place.Rates
}

func (s *settings) register(f *pflag.FlagSet) {
	f.IntVarP(&s.threads, "threads", "t", 0, "worker threads (0 = physical cores)")
	f.IntVar(&s.prompt, "prompt", 8, "number of prompt tokens, which are the first pass")
	f.IntVar(&s.passes, "passes", 8, "number of passes of one token each after it; the median is printed")
}

// child is a process that measures one way to run a model. It waits for a line
// on its standard input, so that its parent can put it into a control group
// before it allocates memory.
func child(e *command.Env) *cobra.Command {
	c := &cobra.Command{Use: "child MODEL", Hidden: true, Args: cobra.ExactArgs(1)}
	var s settings
	var cfg atenia.Config
	var whole bool
	f := c.Flags()
	s.register(f)
	f.Int64Var(&cfg.Budget.RAM, "ram", 0, "")
	f.StringVar(&cfg.Codec, "codec", "", "")
	f.Float64Var(&s.rates.SSD, "ssd", 0, "")
	f.Float64Var(&s.rates.SSDBusy, "ssd-busy", 0, "")
	f.Float64Var(&s.rates.RAM, "memory", 0, "")
	f.Float64Var(&s.rates.RAMBusy, "memory-busy", 0, "")
	f.BoolVar(&whole, "whole", false, "")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := bufio.NewReader(e.In).ReadString('\n'); err != nil {
			return err
		}
		cfg.Placement.Rates, cfg.Threads, cfg.NoStream = s.rates, s.threads, cfg.Budget.RAM == 0
		cfg.Context, cfg.BatchTokens, cfg.Slots, cfg.Pack = s.prompt+s.passes, max(s.prompt, 16), 1, "auto"
		if cfg.Budget.RAM == 0 { // the packed form would take the memory of what is mapped
			cfg.Pack = "off"
		}
		var opened *engine.Engine
		m, err := atenia.Open(engine.Capture(c.Context(), &opened), args[0], &cfg)
		if err != nil {
			return err
		}
		defer m.Close()
		r, err := bench.Passes(c.Context(), opened, bench.PassesConfig{Prompt: s.prompt, Passes: s.passes, Whole: whole})
		if err != nil {
			return err
		}
		return e.PrintJSON(r)
	}
	return c
}
