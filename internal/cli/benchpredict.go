package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"atenia/place"
	"github.com/spf13/cobra"
)

// A predictRun is one run of bench predict, in a budget and a load that were
// drawn.
type predictRun struct {
	RAM        int64   `json:"ram"`
	Neighbours int     `json:"neighbours"` // busy processes beside it
	Streamed   float64 `json:"streamed"`   // part of the weights
	Predicted  float64 `json:"predicted_seconds"`
	Low        float64 `json:"low_seconds"`
	High       float64 `json:"high_seconds"`
	Measured   float64 `json:"measured_seconds"`
	Corrected  int     `json:"corrected_by_runs"`
	Within     bool    `json:"within"`
}

// predictResult is what bench predict prints with --json.
type predictResult struct {
	Model  string       `json:"model"`
	Seed   uint64       `json:"seed"`
	Runs   []predictRun `json:"runs"`
	Within int          `json:"within"`
	Widest float64      `json:"widest"` // range, as a part of the prediction to either side
}

// A predictBench is one call of bench predict.
type predictBench struct {
	mf         modelFlags
	runs, n    int
	neighbours int
	warm       int
	seed       uint64
}

func (a *app) benchPredict() *cobra.Command {
	var b predictBench
	c := &cobra.Command{
		Use:   "predict MODEL",
		Short: "Compare predicted with measured seconds a token",
		Long: "Open MODEL again and again, each time in another budget between the least that it needs and what all of it\n" +
			"needs, and beside another number of busy processes, both drawn by chance from --seed. Print what was predicted\n" +
			"when it was opened, with the range, what a token then took, and how often that was within the range. What runs\n" +
			"measure corrects the predictions of later ones; --warm runs come first and are not counted.",
		Example: "  atenia bench predict model.gguf --runs 20\n  atenia bench predict model.gguf --runs 5 --neighbours 0 --ctx 256 --batch-tokens 64",
		Args:    cobra.ExactArgs(1),
	}
	f := c.Flags()
	b.mf.register(f)
	f.IntVar(&b.runs, "runs", 20, "number of runs")
	f.IntVarP(&b.n, "decode", "n", 32, "number of tokens to generate in each, 16 or more")
	f.IntVar(&b.neighbours, "neighbours", 1, "maximum number of busy processes to run beside a run")
	f.IntVar(&b.warm, "warm", 0, "number of runs before those that are counted")
	f.Uint64Var(&b.seed, "seed", 1, "seed of budgets and loads")
	c.RunE = func(c *cobra.Command, args []string) error {
		if b.runs < 1 || b.n < 16 || b.neighbours < 0 || b.warm < 0 {
			return command.Usagef("want --runs 1 or more, --decode 16 or more, --neighbours and --warm 0 or more")
		}
		r, err := b.run(c.Context(), a, args[0])
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(r)
		}
		return a.printPredicted(r)
	}
	return c
}

// run makes the runs.
func (b *predictBench) run(ctx context.Context, a *app, path string) (*predictResult, error) {
	least, most, err := b.budgets(path)
	if err != nil {
		return nil, err
	}
	res := &predictResult{Model: path, Seed: b.seed, Runs: []predictRun{}}
	rng := rand.New(rand.NewPCG(b.seed, 0))
	for i := range b.warm + b.runs {
		r := predictRun{Neighbours: rng.IntN(b.neighbours + 1)}
		r.RAM = least + int64(rng.Float64()*float64(most-least))
		fmt.Fprintf(a.progress(), "run %d of %d: %s, %s …\n", i+1, b.warm+b.runs, spelling.Size(r.RAM), spelling.Count(r.Neighbours, "neighbour"))
		if err := b.once(ctx, a, path, &r); err != nil {
			return nil, err
		}
		if i < b.warm {
			continue
		}
		res.Runs = append(res.Runs, r)
		if r.Within {
			res.Within++
		}
		res.Widest = max(res.Widest, r.High/r.Predicted-1)
	}
	return res, nil
}

// budgets returns the least memory that the model runs in, with some to spare for
// the program, and that in which nothing is streamed.
func (b *predictBench) budgets(path string) (least, most int64, err error) {
	c := b.mf.cfg
	c.Placement.NoProbe = true
	of := func(ram int64) (*atenia.Placement, error) {
		c.Budget.RAM = ram
		p, err := atenia.OpenPlan(path, &c)
		if err != nil {
			return nil, err
		}
		return p.Place()
	}
	_, err = of(1)
	floor, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		return 0, 0, fmt.Errorf("%s has no least memory: %w", path, err)
	}
	pl, err := of(math.MaxInt64 >> 10)
	if err != nil {
		return 0, 0, err
	}
	const spare = 16 << 20
	return floor.Floor + spare, max(pl.RAM(), floor.Floor+spare) + spare, nil
}

// once runs the model in a budget, beside neighbours.
func (b *predictBench) once(ctx context.Context, a *app, path string, r *predictRun) (err error) {
	stop, err := bench.StartNeighbours(r.Neighbours, "bench", "neighbour")
	if err != nil {
		return err
	}
	defer stop()
	mf := b.mf
	mf.cfg.Budget.RAM = r.RAM
	m, err := mf.open(ctx, a.env().Err, path)
	if err != nil {
		return err
	}
	defer mf.finish(a, m, &err)
	d := &m.Placement().Decode
	r.Predicted = d.At(float64(len(measured) + b.n/2))
	off := r.Predicted / max(d.Seconds, 1e-9)
	r.Low, r.High, r.Corrected = d.Low*off, d.High*off, d.Runs
	r.Streamed = d.SSDBytes / max(d.RAMBytes, 1)
	if r.Measured, err = b.measure(ctx, m); err == nil {
		r.Within = r.Measured >= r.Low && r.Measured <= r.High
	}
	return err
}

// measured is the prompt that tokens are measured after.
var measured = []int32{1, 2, 3}

// measure returns the median of what tokens took after the first ones.
func (b *predictBench) measure(ctx context.Context, m *atenia.Model) (float64, error) {
	const first = 3 // bring weights in
	var took []float64
	last := time.Now()
	p := atenia.Prompt{Tokens: measured, Options: atenia.Options{MaxTokens: b.n, IgnoreEnd: true}}
	i := 0
	for t, err := range m.Generate(ctx, p) {
		if err != nil {
			return 0, err
		}
		now := time.Now()
		if i++; i > first && t.Finish == "" {
			took = append(took, now.Sub(last).Seconds())
		}
		last = now
	}
	if len(took) == 0 {
		return 0, errors.New("too few tokens came to measure them")
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func (a *app) printPredicted(r *predictResult) error {
	w := table(a.out)
	fmt.Fprintln(w, "memory\tstreamed\tneighbours\tpredicted s\trange\tmeasured s\toff\tcorrected by\twithin")
	for _, x := range r.Runs {
		within := "yes"
		if !x.Within {
			within = "no"
		}
		fmt.Fprintf(w, "%s\t%.0f %%\t%d\t%s\t%s–%s\t%s\t%+.0f %%\t%s\t%s\n", spelling.Size(x.RAM), 100*x.Streamed, x.Neighbours, spelling.Seconds(x.Predicted),
			spelling.Seconds(x.Low), spelling.Seconds(x.High), spelling.Seconds(x.Measured), 100*(x.Measured/x.Predicted-1), spelling.Count(x.Corrected, "run"), within)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "%d of %s within the range, of at most %.0f %% to either side\n", r.Within, spelling.Count(len(r.Runs), "run"), 100*r.Widest)
	return err
}
