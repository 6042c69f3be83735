package cli

import (
	"fmt"

	"atenia"
	"atenia/internal/cli/command"

	"github.com/spf13/cobra"
)

func (a *app) plan() *cobra.Command {
	var mf modelFlags
	var view atenia.PlanView
	var backend, diff, check string
	var place placingFlags
	var adapters []string
	c := &cobra.Command{
		Use:   "plan [MODEL]",
		Short: "Print the program that runs a model, or where its weights go",
		Long: "Compile a model from its header and print the typed program: \"!\" marks the last use of a value, \"@b2\" its\n" +
			"buffer. No weights are read.\n\n" +
			"With a memory limit such as --ram, print the placement instead: the tier of each tensor, the predicted cost\n" +
			"of a token, and which change would help most. Weights that do not fit are streamed from disk on every pass.",
		Example: "  atenia plan --mode decode --explain\n" +
			"  atenia plan a.gguf --diff b.gguf\n" +
			"  atenia plan a.gguf --unfold > a.txt && atenia plan --check a.txt\n" +
			"  atenia plan model.gguf --ram 4GiB --why 'blk.0' --out plan.json",
		Args: cobra.MaximumNArgs(1),
	}
	f := c.Flags()
	f.StringVar(&view.Mode, "mode", "", "program to print: prefill or decode; of images and sounds vision_encode or scatter (default: all)")
	f.BoolVar(&view.Unfold, "unfold", false, "print every layer")
	f.BoolVar(&view.Explain, "explain", false, "print the origin of every scalar and the compiler's notes")
	f.StringVar(&backend, "backend", "cpu", "check that these `BACKENDS` support the program: cpu, graph or graph,cpu")
	f.StringVar(&diff, "diff", "", "print the differences to the plan of `MODEL`")
	f.StringVar(&check, "check", "", "read a plan from `FILE`, as text with --unfold or as JSON, prove it and print what it takes")
	f.IntVar(&mf.cfg.Slots, "slots", 0, "number of concurrent sequences (0 = 4)")
	f.IntVar(&mf.cfg.BatchTokens, "chunk", 0, "maximum number of tokens per step (0 = 512)")
	f.IntVar(&mf.cfg.Context, "ctx", 0, "context length in tokens (0 = the model's, at most 4096)")
	f.StringVar(&mf.cfg.CacheType, "kv-type", "", "element type of the KV cache: f32, f16 or q8_0 (default: f16 if weights are quantized, else f32)")
	f.BoolVar(&mf.cfg.NoFuse, "no-fuse", false, "do not fuse instructions")
	f.StringVar(&mf.cfg.Pooling, "pooling", "", "plan vectors that \"atenia embed\" makes from the `mean|cls|last` of the tokens (default: the model's)")
	gptqZeros(f, &mf.cfg.GPTQZeros)
	f.StringVar(&mf.cfg.ConfigFile, "config-file", "", "name of the configuration `FILE` in a Hugging Face folder (default config.json)")
	f.StringArrayVar(&adapters, "adapter", nil, "show what the LoRA adapter `NAME=PATH` adds beside the weights, and its memory; repeatable")
	f.StringVar(&mf.cfg.Draft, "draft", "", "show what drafting with a smaller model in `FILE`, or with the first layers (early), takes")
	f.StringVar(&mf.cfg.Decisions, "decisions", "", "append the reason for every placement decision to `FILE`, for \"atenia replay\"")
	place.Register(f, &mf.cfg)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if check != "" {
			if len(args) > 0 {
				return command.Usagef("--check reads a plan from a file and takes no model")
			}
			return a.checkPlan(check, &mf.cfg)
		}
		place.Prepare()
		var err error
		if mf.cfg.Adapters, err = namedAdapters(adapters); err != nil {
			return err
		}
		p, err := atenia.OpenPlan(optionalModel(args), &mf.cfg)
		if err != nil {
			return err
		}
		if place.Asked() {
			for _, name := range []string{"mode", "unfold", "explain", "diff", "backend"} {
				if f.Changed(name) {
					return command.Usagef("--%s applies to the program, which is not printed with placement flags such as --ram", name)
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

// checkPlan reads plans and prints what they take.
func (a *app) checkPlan(path string, cfg *atenia.Config) error {
	b, err := readFile(path)
	if err != nil {
		return err
	}
	all, err := atenia.CheckPlan(b, cfg)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", command.ErrVerify, path, err)
	}
	if a.json {
		return a.printJSON(all)
	}
	for i := range all {
		fmt.Fprintln(a.out, &all[i])
	}
	return nil
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
