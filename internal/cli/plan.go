package cli

import (
	"fmt"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/cli/placing"

	"github.com/spf13/cobra"
)

func (a *app) plan() *cobra.Command {
	var mf modelFlags
	var view atenia.PlanView
	var backend, diff string
	var place placing.Flags
	c := &cobra.Command{
		Use:   "plan [MODEL]",
		Short: "Print what runs for a model",
		Long: "Plan compiles a model from its header alone and prints the typed program: \"!\" marks where a value\ndies, \"@b2\" the buffer it lives in. No weight is read.\n\n" +
			"With a budget of memory it prints instead where each tensor would live, what one token would cost, and\nwhat would help: what does not fit RAM is streamed from the disk by every pass.",
		Example: "  atenia plan model.gguf\n" +
			"  atenia plan model.gguf --mode decode --explain\n" +
			"  atenia plan a.gguf --diff b.gguf\n" +
			"  atenia plan model.gguf --ram 4GiB --why 'blk.0' --out plan.json",
		Args: cobra.MaximumNArgs(1),
	}
	f := c.Flags()
	f.StringVar(&view.Mode, "mode", "", "prefill or decode (default: both)")
	f.BoolVar(&view.Unfold, "unfold", false, "print every layer")
	f.BoolVar(&view.Explain, "explain", false, "where each scalar came from and what the compiler did")
	f.StringVar(&backend, "backend", "cpu", "check that this backend runs it")
	f.StringVar(&diff, "diff", "", "print how the plan of another model differs")
	f.IntVar(&mf.cfg.Slots, "slots", 0, "sequences in flight (0 = 4)")
	f.IntVar(&mf.cfg.BatchTokens, "chunk", 0, "tokens computed in one step (0 = 512)")
	f.IntVar(&mf.cfg.Context, "ctx", 0, "longest sequence in tokens")
	f.StringVar(&mf.cfg.CacheType, "kv-type", "", "element type of cached keys and values: f32, f16, q8_0")
	f.BoolVar(&mf.cfg.NoFuse, "no-fuse", false, "leave instructions as the family wrote them")
	f.StringVar(&mf.cfg.ConfigFile, "config-file", "", "name of the configuration in a Hugging Face folder")
	f.StringVar(&mf.cfg.Decisions, "decisions", "", "append to this file why each tensor is where it is, for \"atenia replay\"")
	place.Register(f, &mf.cfg)
	c.RunE = func(_ *cobra.Command, args []string) error {
		place.Prepare()
		p, err := atenia.OpenPlan(optionalModel(args), &mf.cfg)
		if err != nil {
			return err
		}
		if place.Asked() {
			for _, name := range []string{"mode", "unfold", "explain", "diff", "backend"} {
				if f.Changed(name) {
					return command.Usagef("--%s is about the program, which is not printed with flags of the placement such as --ram: leave out one or the other", name)
				}
			}
			return place.Show(a.env(), p)
		}
		if err := p.CheckBackend(backend); err != nil {
			return err
		}
		if diff != "" {
			return a.planDiff(p, diff, &mf.cfg)
		}
		if a.json {
			return a.printJSON(p)
		}
		return p.WriteText(a.out, view)
	}
	return c
}

func (a *app) planDiff(p *atenia.Plan, other string, cfg *atenia.Config) error {
	q, err := atenia.OpenPlan(other, cfg)
	if err != nil {
		return err
	}
	lines := p.Diff(q)
	if a.json {
		if lines == nil {
			lines = []string{}
		}
		return a.printJSON(lines)
	}
	for _, l := range lines {
		fmt.Fprintln(a.out, l)
	}
	return nil
}
