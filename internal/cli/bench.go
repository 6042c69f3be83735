package cli

import (
	"context"
	"errors"
	"fmt"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/engine"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A benchRun is one call of bench.
type benchRun struct {
	mf   modelFlags
	bc   bench.Config
	path string
	// before is a file with an earlier result, out one for the new one.
	before, out string
	vs          versus
	neighbours  int // busy processes during the measurement
	given       func(flag string) bool
}

func (a *app) bench() *cobra.Command {
	b := &benchRun{}
	c := &cobra.Command{
		Use:   "bench [MODEL]",
		Short: "Measure prefill and decode speed",
		Long: "Measure tokens per second of prefill and decode with random tokens, and the share of memory bandwidth that\n" +
			"decoding reaches. Medians of -r repeats are printed. Of an encoder, the speed of -b texts of -p tokens is measured.",
		Example: "  atenia bench -p 256 -n 64 -r 3\n" +
			"  atenia bench model.gguf -d 1024,3072          # decode at these depths, too\n" +
			"  atenia bench model.gguf -p 0 -b 8             # decode eight sequences at once\n" +
			"  atenia bench path/to/all-MiniLM-L6-v2 -p 16 -b 200   # 200 texts of 16 tokens\n" +
			"  atenia bench model.gguf --counters            # count instructions and kernel launches\n" +
			"  atenia bench model.gguf --out before.json     # and later:\n" +
			"  atenia bench model.gguf --compare before.json\n" +
			"  atenia bench model.gguf -r 1 -t 8 --vs path/to/llama-bench --vs 'ik=other/llama-bench -rtr 1'\n" +
			"  atenia bench model.gguf -p 0 -b 8 --vs path/to/llama-batched-bench\n" +
			"  atenia bench model.gguf -p 0 -n 32 --neighbours 2",
		Args: cobra.MaximumNArgs(1),
	}
	f := c.Flags()
	b.register(f)
	f.BoolVar(&b.bc.Counters, "counters", false, "count instructions and kernel launches of a prompt and of one token")
	f.StringVar(&b.mf.cfg.Backend, "backend", "cpu", backendHelp)
	f.StringVar(&b.before, "compare", "", "compare with the result in `FILE`, written by --json or --out")
	f.StringVar(&b.out, "out", "", "also write the result as JSON to `FILE`")
	c.RunE = func(c *cobra.Command, args []string) error {
		b.path, b.given = optionalModel(args), c.Flags().Changed
		r, err := b.run(c.Context(), a)
		if err != nil {
			return err
		}
		print := a.printBench
		if a.json {
			print = func(r *benchResult) error { return a.printJSON(r) }
		}
		return errors.Join(print(r), saveJSON(b.out, r))
	}
	c.AddCommand(a.benchKernels(), a.benchTable(), a.benchImages(), a.benchServe(), benchTrainCommand(a.env()), benchStreamCommand(a.env()), benchMemoryCommand(a.env()),
		benchStorageCommand(a.env()), benchCodecsCommand(a.env()), a.benchPredict(), a.benchPolicy(), neighbour())
	return c
}

// register adds the flags of the measurement.
func (b *benchRun) register(f *pflag.FlagSet) {
	b.mf.registerRunning(f)
	f.IntVarP(&b.bc.Prompt, "prompt", "p", 512, "number of prompt tokens (0 = no prefill)")
	f.IntVarP(&b.bc.Decode, "decode", "n", 128, "number of tokens to generate (0 = no decode)")
	f.IntSliceVarP(&b.bc.Depths, "depth", "d", nil, "also measure decoding after this many tokens: `N,...`")
	f.IntVarP(&b.bc.Batch, "batch", "b", 1, "number of sequences decoded at once, or of texts for an encoder; speeds are totals")
	f.IntVarP(&b.bc.Repeats, "repeats", "r", 5, "number of repetitions; medians are printed")
	f.StringArrayVar(&b.vs.programs, "vs", nil, "take turns with `[NAME=]PROGRAM [ARGS]`, which has the options of llama-bench,\nor with --batch those of llama-batched-bench (may be repeated)")
	f.IntVar(&b.vs.rounds, "rounds", 3, "number of turns of every program with --vs")
	f.IntVar(&b.neighbours, "neighbours", 0, "number of busy processes to run beside every measurement")
}

func (b *benchRun) run(ctx context.Context, a *app) (res *benchResult, err error) {
	if err := errors.Join(b.check(), checkOut(b.out)); err != nil {
		return nil, err
	}
	var before *benchResult
	if b.before != "" {
		if before, err = readResult(b.before); err != nil {
			return nil, fmt.Errorf("--compare: %w", err)
		}
	}
	stop, err := bench.StartNeighbours(b.neighbours, "bench", "neighbour")
	if err != nil {
		return nil, err
	}
	defer stop()
	b.mf.cfg.Slots, b.mf.cfg.Placement.Batch = max(4, b.bc.Batch), b.bc.Batch // whose keys and values have room at once
	var opened *engine.Engine
	m, err := b.mf.open(engine.Capture(ctx, &opened), a.env().Err, b.path)
	if err != nil {
		return nil, err
	}
	b.mf.stats = b.mf.stats || m.Streaming().Streamed > 0 // a bench compares with the prediction
	defer b.mf.finish(a, m, &err)
	b.fit(m.Context())
	if opened.Plan.Model.Plans.Decode == nil && !b.given("decode") {
		b.bc.Decode = -1 // an encoder
	}
	fmt.Fprintln(a.progress(), "measuring …")
	if res, err = b.measure(ctx, m, opened); err != nil {
		return nil, err
	}
	if before != nil {
		res.Compare = compare(b.before, before, res)
	}
	return res, nil
}

// measure takes turns with the other program, if there is one.
func (b *benchRun) measure(ctx context.Context, m *atenia.Model, e *engine.Engine) (*benchResult, error) {
	var res *benchResult
	for range b.vs.rounds {
		r, err := bench.Run(ctx, e, b.bc)
		if err != nil {
			return nil, err
		}
		b.bc.Counters = false // the same in every round
		if one := resultOf(b.path, m, r); res == nil {
			res = one
		} else {
			res.merge(one)
		}
		if len(b.vs.peers) == 0 {
			return res, nil
		}
		if err := b.vs.run(ctx, r.Threads, &b.bc); err != nil {
			return nil, err
		}
	}
	var err error
	res.Versus, err = b.vs.result(res)
	return res, err
}

// check rejects 0 where it would select the library's default.
func (b *benchRun) check() error {
	for _, f := range []struct {
		name  string
		v     *int
		least int
	}{{"prompt", &b.bc.Prompt, 0}, {"decode", &b.bc.Decode, 0}, {"batch", &b.bc.Batch, 1}, {"repeats", &b.bc.Repeats, 1}, {"neighbours", &b.neighbours, 0}} {
		if *f.v < f.least {
			return command.Usagef("--%s is %d, want %d or more", f.name, *f.v, f.least)
		}
	}
	switch b.vs.model = b.path; {
	case len(b.vs.programs) > 0:
		if err := b.vs.check(b.bc.Batch); err != nil {
			return err
		}
	case b.given("rounds"):
		return command.Usagef("--rounds is for --vs")
	default:
		b.vs.rounds = 1
	}
	if b.bc.Prompt == 0 {
		b.bc.Prompt = -1
	}
	if b.bc.Decode == 0 {
		b.bc.Decode = -1
	}
	return nil
}

// fit shortens default sizes for a model with a short context.
func (b *benchRun) fit(context int) {
	if !b.given("prompt") {
		b.bc.Prompt = min(b.bc.Prompt, context)
	}
	if !b.given("decode") && b.bc.Decode > 0 && len(b.bc.Depths) == 0 && b.bc.Batch == 1 {
		b.bc.Decode = min(b.bc.Decode, context-1)
	}
}
