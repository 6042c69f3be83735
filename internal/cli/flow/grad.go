package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"atenia/flow"
	"atenia/flow/fit"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/flow/node"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// A grader is the flags of grad.
type grader struct {
	source
	in, target, params []string
	loss               string
	seconds            float64
	check              bool
	elements           int
	cut                bool // files end after seconds
	every, truncate    int
	strictly           bool
	arrays             string
}

// checkTolerance is the relative difference that --check allows between a
// derivative and its central difference: rounding and curvature cause about a
// tenth of it.
const checkTolerance = 1e-4

// A graded is what grad prints with --json.
type graded struct {
	Loss        string       `json:"loss"`
	Value       float64      `json:"value"`
	Params      []gradRow    `json:"parameters"`
	Inputs      []inputRow   `json:"inputs"`
	Unsupported []string     `json:"unsupported"`
	Truncated   int          `json:"truncated_blocks,omitempty"`
	PeakBytes   int64        `json:"peak_bytes"`
	Blocks      int          `json:"blocks"`
	Recomputed  int          `json:"recomputed_blocks,omitempty"`
	Check       []checkedRow `json:"check,omitempty"`
}

type gradRow struct {
	Node     string    `json:"node"`
	Name     string    `json:"parameter"`
	Shape    [3]int    `json:"shape"`
	Value    []float64 `json:"value"`
	Gradient []float64 `json:"gradient"`
}

type inputRow struct {
	Node   string  `json:"node"`
	Frames int     `json:"frames"`
	Norm   float64 `json:"norm"`
}

type checkedRow struct {
	Param      string  `json:"parameter"`
	Element    int     `json:"element"`
	Exact      float64 `json:"exact"`
	Difference float64 `json:"difference"`
	Error      float64 `json:"relative_error"`
}

func gradient(env *command.Env) *cobra.Command {
	var g grader
	c := &cobra.Command{
		Use:   "grad GRAPH --loss LOSS",
		Short: "Compute the gradient of a loss by parameters of a graph",
		Long: "Run a graph forward over files and backward over the whole stream, in float64, and print the exact\n" +
			"derivatives of a loss by its parameters. Losses are of what Probe nodes receive: sum, energy (half the sum of\n" +
			"squares), or mse, the mean squared error against --target files.\n\n" +
			"Only nodes with supports_v2 have a backward mode; the others are listed and give zeros. --check compares with\n" +
			"central differences; the exit code is 3 if they differ by more than 1e-4.",
		Example: "  atenia flow grad equaliser.json --in dry.wav --loss mse --target wet.wav --param low.f0 --param low.gain_db\n" +
			"  atenia flow grad synth.json --seconds 0.1 --loss energy --check",
		Args: cobra.ExactArgs(1),
	}
	g.flags(c)
	f := c.Flags()
	f.StringArrayVarP(&g.in, "in", "i", nil, "`[NODE=]FILE` to feed to an Input node (may be repeated)")
	f.StringVar(&g.loss, "loss", "energy", "loss to differentiate: sum, energy or mse")
	f.StringArrayVar(&g.target, "target", nil, "`[NODE=]FILE` that a Probe node should receive (may be repeated)")
	f.StringArrayVar(&g.params, "param", nil, "`NODE.PARAMETER` to differentiate by (default: all; may be repeated)")
	f.Float64Var(&g.seconds, "seconds", 0, "duration of a graph without inputs")
	f.BoolVar(&g.check, "check", false, "compare with central differences")
	f.IntVar(&g.elements, "most", 8, "with --check: number of elements of a parameter to compare")
	f.IntVar(&g.every, "checkpoint", 0, "save the state every so many blocks instead of at every call (-1 = the square root of their number)")
	f.IntVar(&g.truncate, "truncate", 0, "cut the gradient through time every so many blocks; it is then not that of the whole stream")
	f.BoolVar(&g.strictly, "strict-grad", false, "reject nodes without a backward mode")
	f.StringVar(&g.arrays, "npy", "", "`FOLDER` to write gradients to, as NumPy arrays [batches, channels, numbers or frames]")
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := g.run(c.Context(), env, args[0])
		if err != nil {
			return err
		}
		if *env.JSON {
			err = env.PrintJSON(r)
		} else {
			err = r.print(env.Out)
		}
		if err != nil {
			return err
		}
		if k := slices.IndexFunc(r.Check, func(c checkedRow) bool { return !(c.Error <= checkTolerance) }); k >= 0 {
			return fmt.Errorf("%w: %s[%d] differs by %.2g", command.ErrVerify, r.Check[k].Param, r.Check[k].Element, r.Check[k].Error)
		}
		return nil
	}
	return c
}

// run finds the gradients.
func (g *grader) run(ctx context.Context, env *command.Env, path string) (r *graded, err error) {
	err = g.with(ctx, env, path, func(t *task) error {
		if t.cfg.Loss, err = g.losses(t.plan); err != nil {
			return err
		}
		if t.cfg.Params, err = g.chosen(t.plan, t.linked); err != nil {
			return err
		}
		q, err := fit.New(t.plan, t.cfg)
		if errors.Is(err, fit.ErrParam) {
			return &command.UsageError{Err: err}
		}
		if err != nil {
			return err
		}
		r, err = g.evaluate(ctx, q, t.cfg.Params)
		return err
	})
	return r, err
}

// A task is a plan with its files read: a [fit.Problem] but for parameters and loss.
type task struct {
	plan   *graph.Plan
	linked *graph.Linked
	cfg    fit.Config[float64]
}

// with calls f with the plan in a file, while its node types are there.
func (g *grader) with(ctx context.Context, env *command.Env, path string, f func(*task) error) (err error) {
	p, err := g.parse(path)
	if err != nil {
		return err
	}
	types, close, err := g.types(ctx, env, p)
	if err != nil {
		return err
	}
	defer closing(&err, close)
	ins, err := openInputs(p, path, &g.source, g.in)
	if err != nil {
		return err
	}
	defer closing(&err, ins.Close)
	if err := (&runner{seconds: g.seconds}).supplied(p, ins.Sources); err != nil {
		return err
	}
	t := &task{plan: p, cfg: fit.Config[float64]{
		Options: flow.Options{BlockFrames: g.block, SampleRate: g.source.rate, Strict: g.strict, Catalog: types, Threads: runtime.GOMAXPROCS(0)},
		Inputs:  fit.Streams[float64]{},
		End:     graph.Rat{Num: int64(g.seconds * g.source.rate), Den: 1},
		Record:  flow.Recording{Every: g.every},
		Sweep:   flow.Sweep{TruncateBlocks: g.truncate, Strict: g.strictly},
	}}
	for _, in := range ins.Sources {
		if t.cfg.Inputs[in.Node.Name], err = stream(in.Reader(), count(in.Node, "batches"), g.most()); err != nil {
			return fmt.Errorf("%s: %w", in.Path, err)
		}
	}
	if t.linked, err = g.link(p, types); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(ins.Sources) > 0 {
		t.cfg.End = t.cfg.End.Max(fit.Length(t.linked, t.cfg.Inputs))
	}
	return f(t)
}

// evaluate finds the derivatives and, with --check, differences.
func (g *grader) evaluate(ctx context.Context, q *fit.Problem[float64], params []fit.Param) (*graded, error) {
	x := q.Start()
	pt, err := q.Gradient(x)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := g.write(pt.All); err != nil {
		return nil, err
	}
	rep := pt.All.Report
	r := &graded{Value: pt.Loss, Loss: g.loss, Unsupported: append([]string{}, pt.All.Unsupported...), Truncated: rep.TruncateBlocks,
		PeakBytes: rep.PeakBytes(), Blocks: rep.Blocks, Recomputed: rep.Recomputed, Params: []gradRow{}, Inputs: []inputRow{}}
	at := 0
	for _, w := range params {
		v := pt.All.Param(w.Node, w.Name)
		n := len(v.Data)
		r.Params = append(r.Params, gradRow{w.Node, w.Name, [3]int{v.B, v.C, v.F}, x[at : at+n], v.Data})
		at += n
	}
	names := make([]string, 0, len(pt.All.Inputs))
	for name := range pt.All.Inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := pt.All.Inputs[name]
		sum := 0.0
		for _, v := range t.Data {
			sum += v * v
		}
		r.Inputs = append(r.Inputs, inputRow{name, t.N, math.Sqrt(sum)})
	}
	if !g.check {
		return r, nil
	}
	largest := 0.0
	for _, v := range pt.Gradient {
		largest = max(largest, math.Abs(v))
	}
	all, err := q.Check(x, g.elements)
	for _, d := range all {
		r.Check = append(r.Check, checkedRow{d.Param.String(), d.Element, d.Exact, d.Numerical, d.Error(largest)})
	}
	return r, err
}

// write writes gradients to the folder of --npy: NODE.PARAMETER.npy, NODE.npy.
func (g *grader) write(all *flow.Gradients[float64]) error {
	if g.arrays == "" {
		return nil
	}
	if err := os.MkdirAll(g.arrays, 0o777); err != nil {
		return err
	}
	put := func(name string, values []float64, shape ...int) error {
		if filepath.Base(name) != name {
			return fmt.Errorf("--npy: %q is no name of a file", name)
		}
		return media.WriteArray(filepath.Join(g.arrays, name+".npy"), values, shape...)
	}
	for _, p := range all.Params {
		if err := put(p.Node+"."+p.Name, p.Value.Data, p.Value.B, p.Value.C, p.Value.F); err != nil {
			return err
		}
	}
	for name, t := range all.Inputs {
		if err := put(name, t.Data, t.B, t.C, t.N); err != nil {
			return err
		}
	}
	return nil
}

// most returns the seconds of files that are read.
func (g *grader) most() float64 {
	if g.cut && g.seconds > 0 {
		return g.seconds
	}
	return math.Inf(1)
}

// stream reads a file as one stream, at most so many seconds of it.
func stream(f *media.Reader, batches, seconds float64) (node.Tensor[float64], error) {
	rows := make([][]float64, f.Channels)
	part := make([][]float64, f.Channels)
	for c := range part {
		part[c] = make([]float64, 4096)
	}
	for most := seconds * float64(f.Rate); float64(len(rows[0])) < most; {
		n, err := media.Read(f, part)
		n = int(min(float64(n), math.Ceil(most)-float64(len(rows[0]))))
		for c := range rows {
			rows[c] = append(rows[c], part[c][:n]...)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return node.Tensor[float64]{}, err
		}
	}
	b := max(int(batches), 1)
	return node.Tensor[float64]{Data: slices.Concat(rows...), B: b, C: f.Channels / b, N: len(rows[0])}, nil
}

// losses returns the loss that the flags name.
func (g *grader) losses(p *graph.Plan) (fit.Loss[float64], error) {
	if g.loss != "mse" && len(g.target) > 0 {
		return nil, command.Usagef("--target needs --loss mse")
	}
	switch g.loss {
	case "sum":
		return fit.Sum[float64], nil
	case "energy":
		return fit.Energy[float64], nil
	case "mse":
	default:
		return nil, command.Usagef("--loss %s: want sum, energy or mse", g.loss)
	}
	target, err := g.targets(p)
	if err != nil {
		return nil, err
	}
	if len(target) == 0 {
		return nil, command.Usagef("--loss mse needs --target FILE")
	}
	return fit.SquaredError(target), nil
}

// targets reads what Probe nodes should receive.
func (g *grader) targets(p *graph.Plan) (fit.Streams[float64], error) {
	bound, err := bind(p, "target", "Probe", g.target)
	if err != nil {
		return nil, err
	}
	target := fit.Streams[float64]{}
	for _, b := range bound {
		f, err := media.Open(b.path)
		if err != nil {
			return nil, err
		}
		t, err := stream(f.Reader, 1, g.most())
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", b.path, err)
		}
		target[b.node.Name] = t
	}
	return target, nil
}

// chosen returns the parameters of --param, or all that have a gradient.
func (g *grader) chosen(p *graph.Plan, l *graph.Linked) ([]fit.Param, error) {
	var all []fit.Param
	for _, name := range g.params {
		n, param, err := parameter(p, name)
		if err != nil {
			return nil, err
		}
		all = append(all, fit.Param{Node: n.Name, Name: param})
	}
	if len(all) > 0 {
		return all, nil
	}
	return fit.All(l), nil
}

func (r *graded) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s %.8g over %s\n", r.Loss, r.Value, spelling.Count(r.Blocks, "block"))
	fmt.Fprintln(t, "PARAMETER\tSHAPE\tVALUE\tGRADIENT")
	for _, p := range r.Params {
		fmt.Fprintf(t, "%s.%s\t%v\t%s\t%s\n", p.Node, p.Name, p.Shape, few(p.Value), few(p.Gradient))
	}
	for _, in := range r.Inputs {
		fmt.Fprintf(t, "%s\t%s\t\tnorm %.8g\n", in.Node, spelling.Count(in.Frames, "frame"), in.Norm)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	if len(r.Unsupported) > 0 {
		fmt.Fprintf(&b, "without a backward mode, so that their inputs' gradients are zero: %s\n", strings.Join(r.Unsupported, ", "))
	}
	if r.Truncated > 0 {
		fmt.Fprintf(&b, "truncated every %s: this is not the gradient of the whole stream\n", spelling.Count(r.Truncated, "block"))
	}
	if len(r.Check) > 0 {
		worst := r.Check[0]
		for _, c := range r.Check {
			if !(c.Error <= worst.Error) {
				worst = c
			}
		}
		fmt.Fprintf(&b, "%s within %.1e of central differences (%s[%d])\n", spelling.Count(len(r.Check), "derivative"), worst.Error, worst.Param, worst.Element)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// few prints the first numbers of some.
func few(x []float64) string {
	const most = 4
	var s []string
	for _, v := range x[:min(len(x), most)] {
		s = append(s, fmt.Sprintf("%.6g", v))
	}
	if len(x) > most {
		s = append(s, "…")
	}
	return strings.Join(s, " ")
}
