package flow

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/cli/command"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// Command returns the command.
func Command(env *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "flow",
		Short: "Run signal graphs, forward and backward",
		Long: "Run dataflow graphs: streams of frames through nodes such as oscillators, filters and C plug-ins. Results do\n" +
			"not depend on scheduling, and gradients are exact.\n\n" +
			"GRAPH is a plan: JSON with nodes and edges, or the text printed by \"atenia flow check --text\". See\n" +
			"docs/flow.md.",
		Example: "  atenia flow nodes\n" +
			"  atenia flow run effects.json --in dry.wav --out wet.flac",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(run(env), play(env), check(env), drawing(env), gradient(env), fitting(env), nodes(env), bench(env))
	c.AddCommand(children()...)
	return c
}

// A source is a plan and how its nodes are made.
type source struct {
	libraries
	block  int
	rate   float64
	set    []string
	strict bool
}

// flags adds what all commands that read a plan have in common.
func (s *source) flags(c *cobra.Command) {
	s.libraries.flags(c)
	f := c.Flags()
	f.IntVar(&s.block, "block", 0, "number of frames in a block; results do not depend on it (default: 64, or the next that suits the rates)")
	f.Float64Var(&s.rate, "rate", 0, "base frames per second (default: that of the first file, or 48000)")
	f.StringArrayVar(&s.set, "set", nil, "`NODE.PARAMETER=VALUE` to change a parameter or setting (may be repeated)")
	f.BoolVar(&s.strict, "strict", false, "reject delays below the declared delay of their source")
}

// largestPlan bounds the text of a plan.
const largestPlan = 256 << 20

// parse reads a plan and changes what --set says.
func (s *source) parse(path string) (*graph.Plan, error) {
	if s.block < 0 {
		return nil, command.Usagef("--block %d: want 1 or more", s.block)
	}
	if s.rate < 0 {
		return nil, command.Usagef("--rate %g: want a positive number", s.rate)
	}
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := command.ReadMost(f, largestPlan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, a := range s.set {
		if err := assign(p, a); err != nil {
			return nil, err
		}
	}
	if s.block == 0 {
		// A plan that is wrong, or has types of libraries, is linked with the usual size.
		if s.block, err = graph.BlockFrames(p, flow.ShippedTypes()); err != nil {
			s.block = graph.DefaultBlock
		}
	}
	return p, nil
}

// read takes a plan in either form: JSON, which begins with a brace, or a line a
// record, which begins with graph or a comment.
func read(text []byte) (*graph.Plan, error) {
	if t := bytes.TrimSpace(text); bytes.HasPrefix(t, []byte("graph")) || bytes.HasPrefix(t, []byte("#")) {
		return graph.ParseText(string(text))
	}
	return graph.Parse(text)
}

// assign applies one --set.
func assign(p *graph.Plan, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return command.Usagef("--set %q: want NODE.PARAMETER=VALUE", text)
	}
	n, param, err := parameter(p, name)
	if err != nil {
		return err
	}
	set := graph.Param{Name: param}
	if v, err := strconv.ParseFloat(value, 64); err == nil {
		if v-v != 0 {
			return command.Usagef("--set %q: want a finite number", text)
		}
		_, whole := strconv.ParseInt(value, 10, 64)
		set.Value, set.Integer = &graph.Tensor{B: 1, C: 1, F: 1, Data: []float64{v}}, whole == nil
	} else {
		set.Text = &value
	}
	if old := n.Param(param); old != nil {
		*old = set
	} else {
		n.Params = append(n.Params, set)
	}
	return nil
}

// parameter finds the node of NODE.PARAMETER: that with the longest name, as in
// a plan's edges.
func parameter(p *graph.Plan, name string) (*graph.Node, string, error) {
	var best *graph.Node
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if rest, ok := strings.CutPrefix(name, n.Name+"."); ok && rest != "" && (best == nil || len(n.Name) > len(best.Name)) {
			best = n
		}
	}
	if best == nil {
		return nil, "", command.Usagef("%q: want NODE.PARAMETER of a node of the graph", name)
	}
	return best, name[len(best.Name)+1:], nil
}

// link links a plan.
func (s *source) link(p *graph.Plan, types node.Table) (*graph.Linked, error) {
	return graph.Link(p, types, graph.Options{BlockFrames: s.block, Strict: s.strict})
}

// A fault is how an error of a plan looks as JSON.
type fault struct {
	Code  int      `json:"code"`
	Name  string   `json:"name"`
	Path  string   `json:"path"`
	Names []string `json:"names,omitempty"`
	Text  string   `json:"text"`
}

func faultOf(err error) (*fault, bool) {
	e, ok := errors.AsType[*graph.Error](err)
	if !ok {
		return nil, false
	}
	return &fault{int(e.Code), e.Code.String(), e.Path, e.Names, e.Text}, true
}
