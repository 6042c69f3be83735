package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"atenia/flow"
	"atenia/flow/fit"
	"atenia/flow/graph"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// A fitter is the flags of fit.
type fitter struct {
	libraries
	set   []string
	out   string
	steps int
}

// A fitted is what fit prints with --json.
type fitted struct {
	Loss   string      `json:"loss"`
	First  float64     `json:"first"`
	Last   float64     `json:"best"`
	Steps  int         `json:"steps"`
	Out    string      `json:"out"`
	Params []fittedRow `json:"parameters"`
}

type fittedRow struct {
	Name   string    `json:"parameter"`
	Before []float64 `json:"before"`
	After  []float64 `json:"after"`
}

func fitting(env *command.Env) *cobra.Command {
	var f fitter
	c := &cobra.Command{
		Use:   "fit RECIPE",
		Short: "Fit parameters of a graph so that it makes a given sound",
		Long: "Find parameters of a graph, by exact gradients of the whole stream and Adam in float64, that make it turn one\n" +
			"sound into another, such as the settings of an equaliser or a reverb that a recording went through. RECIPE is\n" +
			"TOML:\n\n" +
			"  graph  = \"equaliser.json\"  # all names are relative to the recipe's folder\n" +
			"  in     = \"dry.wav\"         # or { left = \"a.wav\", right = \"b.wav\" }: by Input node\n" +
			"  target = \"wet.wav\"         # by Probe node\n" +
			"  loss   = \"spectral\"        # mse, or spectral: magnitudes at the sizes of spectra in sizes = [2048, 512, 64]\n" +
			"  out    = \"fitted.json\"     # the graph with what was found\n" +
			"  steps  = 200               # also rate, last, enough, seconds, samplerate, block, checkpoint\n\n" +
			"  [[param]]                  # none = all that have a gradient\n" +
			"  name     = \"band*.f0\"\n" +
			"  positive = true            # optimized by its logarithm\n" +
			"  scale    = 1               # larger = moves faster\n\n" +
			"Ctrl-C ends the fit; the best graph so far is written.",
		Example: "  atenia flow fit match.toml\n" +
			"  atenia flow fit match.toml --steps 1000 --out better.json",
		Annotations: command.Patient,
		Args:        cobra.ExactArgs(1),
	}
	f.libraries.flags(c)
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil, "`NODE.PARAMETER=VALUE` to start at (may be repeated)")
	fl.StringVarP(&f.out, "out", "o", "", "`FILE` for the graph, instead of the recipe's")
	fl.IntVar(&f.steps, "steps", 0, "number of steps, instead of the recipe's")
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := f.run(c.Context(), env, args[0])
		if r == nil {
			return err
		}
		if *env.JSON {
			return errors.Join(err, env.PrintJSON(r))
		}
		return errors.Join(err, r.print(env.Out))
	}
	return c
}

// recipe reads the file, and what flags change of it.
func (f *fitter) recipe(path string) (*fit.Recipe, error) {
	r, err := fit.ReadRecipe(path)
	if errors.Is(err, fit.ErrRecipe) {
		return nil, &command.UsageError{Err: err}
	}
	if err != nil {
		return nil, err
	}
	if f.steps < 0 {
		return nil, command.Usagef("--steps %d: want 1 or more", f.steps)
	}
	if f.steps > 0 {
		r.Steps = f.steps
	}
	if f.out != "" {
		r.Out = f.out
	}
	return r, nil
}

// bindings returns names of files as flags give them.
func bindings(files fit.Files) (out []string) {
	for _, node := range slices.Sorted(maps.Keys(files)) {
		if node == "" {
			out = append(out, files[node])
			continue
		}
		out = append(out, node+"="+files[node])
	}
	return out
}

// run fits and writes the graph. After an interruption it returns what was reached,
// with the context's error.
func (f *fitter) run(ctx context.Context, env *command.Env, path string) (out *fitted, err error) {
	r, err := f.recipe(path)
	if err != nil {
		return nil, err
	}
	g := grader{
		source: source{libraries: f.libraries, block: r.Block, rate: r.SampleRate, set: f.set},
		in:     bindings(r.In), target: bindings(r.Target), seconds: r.Seconds, cut: true, every: r.Checkpoint,
	}
	if g.every == 0 {
		g.every = flow.EverySqrt
	}
	err = g.with(ctx, env, r.Graph, func(t *task) error {
		target, err := g.targets(t.plan)
		if err != nil {
			return err
		}
		t.cfg.Loss = fit.SquaredError(target)
		if r.Loss == "spectral" {
			if t.cfg.Loss, err = fit.Spectral(target, r.Sizes...); err != nil {
				return &command.UsageError{Err: fmt.Errorf("%s: %w", path, err)}
			}
		}
		if t.cfg.Params, err = r.Free(t.linked); err != nil {
			return &command.UsageError{Err: fmt.Errorf("%s: %w", path, err)}
		}
		q, err := fit.New(t.plan, t.cfg)
		if errors.Is(err, fit.ErrParam) {
			return &command.UsageError{Err: fmt.Errorf("%s: %w", path, err)}
		}
		if err != nil {
			return err
		}
		found, ended := fit.Fit(ctx, q, fit.Settings{Steps: r.Steps, Rate: r.Rate, Last: r.Last, Enough: r.Enough, Each: func(step int, loss float64) {
			if step%10 == 0 {
				fmt.Fprintf(env.Progress, "step %d  loss %.6g\n", step, loss)
			}
		}})
		if found == nil || found.First == 0 && found.Steps == 0 && ended != nil {
			return ended
		}
		text, err := found.Plan.Encode()
		if err != nil {
			return err
		}
		if err := durable.WriteFile(r.Out, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return err
		}
		out = &fitted{Loss: r.Loss, First: found.First, Last: found.Loss, Steps: found.Steps, Out: r.Out}
		before := q.Plan(q.Start())
		for _, p := range t.cfg.Params {
			out.Params = append(out.Params, fittedRow{p.String(), valueOf(before, p), valueOf(found.Plan, p)})
		}
		return ended
	})
	return out, err
}

// valueOf returns the numbers of a parameter that a plan sets.
func valueOf(p *graph.Plan, w fit.Param) []float64 {
	i := slices.IndexFunc(p.Nodes, func(n graph.Node) bool { return n.Name == w.Node })
	return p.Nodes[i].Param(w.Name).Value.Data
}

func (r *fitted) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PARAMETER\tBEFORE\tAFTER")
	for _, p := range r.Params {
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Name, few(p.Before), few(p.After))
	}
	fmt.Fprintf(t, "%s %.6g at the start, %.6g after %s: %s\n", r.Loss, r.First, r.Last, spelling.Count(r.Steps, "step"), r.Out)
	return t.Flush()
}
