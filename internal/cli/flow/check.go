package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/view"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// A checked is what check prints with --json.
type checked struct {
	OK       bool          `json:"ok"`
	Error    *fault        `json:"error,omitempty"`
	Block    int           `json:"block_frames,omitempty"`
	Nodes    []checkedNode `json:"nodes,omitempty"`
	Edges    []checkedEdge `json:"edges,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
}

type checkedNode struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Stage    int      `json:"stage"`
	Rate     string   `json:"rate"`
	Tokens   int      `json:"tokens"`
	Shapes   [][2]int `json:"shapes,omitempty"` // batches and channels of each output
	Latency  float64  `json:"latency_frames"`   // base frames
	Cycle    bool     `json:"cycle,omitempty"`
	SubBlock string   `json:"sub_block,omitempty"`
	Adjoint  bool     `json:"adjoint"`
	Jacobian string   `json:"jacobian,omitempty"`     // class of the derivative with respect to the inputs
	Delay    int      `json:"delay_frames,omitempty"` // by which the outputs are late in band
	PDC      string   `json:"pdc,omitempty"`          // how that is compensated
}

type checkedEdge struct {
	Source    string `json:"source"`
	Target    string `json:"target"`
	Parameter string `json:"parameter,omitempty"`
	Rate      string `json:"rate"`
	Hold      int    `json:"hold,omitempty"`
	Prefill   int    `json:"prefill,omitempty"`
	Gates     []int  `json:"gates,omitempty"`
	Capacity  int    `json:"capacity_frames"`
}

func check(env *command.Env) *cobra.Command {
	var src source
	var text, table bool
	c := &cobra.Command{
		Use:   "check GRAPH",
		Short: "Check a plan and print what follows from it",
		Long: "Read and link a plan without running it, and print its stages, rates, delays, latencies in base frames, and the\n" +
			"number of frames each edge must hold. Errors name their JSON path; the exit code is 3 if the plan is wrong.\n\n" +
			"--text prints the plan with one line for each node and edge, a form that all commands read. --schedule prints\n" +
			"the calls of a block and two capacities of each edge: for one pass in order, and the minimum.",
		Example: "  atenia flow check effects.json\n  atenia flow check effects.json --block 256 --json\n  atenia flow check effects.json --schedule",
		Args:    cobra.ExactArgs(1),
	}
	src.flags(c)
	c.Flags().BoolVar(&text, "text", false, "print the plan as text")
	c.Flags().BoolVar(&table, "schedule", false, "print the schedule")
	c.RunE = func(c *cobra.Command, args []string) error {
		if text && table {
			return command.Usagef("--text and --schedule exclude each other")
		}
		if (text || table) && !*env.JSON {
			return src.printText(c.Context(), env, args[0], table)
		}
		r, err := src.check(c.Context(), env, args[0])
		f, wrong := faultOf(err)
		switch {
		case err != nil && !wrong:
			return err
		case *env.JSON:
			if wrong {
				r = &checked{Error: f}
			}
			if err := env.PrintJSON(r); err != nil || !wrong {
				return err
			}
			return &command.ExitError{Code: command.BadResult, Text: "atenia: " + args[0] + " is wrong"}
		case wrong:
			return &command.ExitError{Code: command.BadResult, Text: "atenia: " + err.Error()}
		}
		return r.print(env.Out, args[0])
	}
	return c
}

// printText prints the plan, or its schedule, as text that is read back.
func (s *source) printText(ctx context.Context, env *command.Env, path string, table bool) error {
	p, err := s.parse(path)
	text := ""
	if err == nil && !table {
		text = p.String()
	} else if err == nil {
		text, err = s.schedule(ctx, env, p, path)
	}
	if err != nil {
		if _, wrong := faultOf(err); wrong {
			return &command.ExitError{Code: command.BadResult, Text: "atenia: " + err.Error()}
		}
		return err
	}
	_, err = io.WriteString(env.Out, text)
	return err
}

func (s *source) schedule(ctx context.Context, env *command.Env, p *graph.Plan, path string) (text string, err error) {
	if err := s.complete(p, path); err != nil {
		return "", err
	}
	types, close, err := s.types(ctx, env, p)
	if err != nil {
		return "", err
	}
	defer closing(&err, close)
	l, err := s.link(p, types)
	if err != nil {
		return "", err
	}
	t, err := graph.NewSchedule(l)
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

func (s *source) check(ctx context.Context, env *command.Env, path string) (r *checked, err error) {
	p, err := s.parse(path)
	if err != nil {
		return nil, err
	}
	if err := s.complete(p, path); err != nil {
		return nil, err
	}
	types, close, err := s.types(ctx, env, p)
	if err != nil {
		return nil, err
	}
	defer closing(&err, close)
	l, err := s.link(p, types)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	session, err := flow.NewLinked[float32](l, flow.Options{SampleRate: s.rate, Catalog: types})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer session.Close()
	r = &checked{OK: true, Block: l.BlockFrames, Warnings: slices.Clone(l.Warnings)}
	for e := range session.Events() {
		r.Warnings = append(r.Warnings, e.Reason())
	}
	late, caps := view.Latency(l), session.Occupancies()
	for i := range l.Nodes {
		n := &l.Nodes[i]
		c := checkedNode{Name: n.Name, Type: n.Type, Stage: n.Stage, Rate: ratio(n.Rate), Tokens: n.Tokens, Latency: late[i],
			Cycle: n.Comp >= 0, Adjoint: n.Spec.Adjoint && n.SupportsV2, Delay: n.Spec.Delay, PDC: n.PDC}
		if len(n.In)*len(n.Out) > 0 {
			c.Jacobian = n.Jacobian().String()
		}
		for _, sh := range n.OutShape {
			c.Shapes = append(c.Shapes, [2]int{sh.B, sh.C})
		}
		if n.Comp >= 0 && n.Comp < len(l.Sub) {
			c.SubBlock = ratio(l.Sub[n.Comp])
		}
		r.Nodes = append(r.Nodes, c)
	}
	for i := range l.Edges {
		e := &l.Edges[i]
		c := checkedEdge{Source: e.Source, Target: e.Target, Rate: ratio(e.Rate), Hold: e.Hold, Prefill: e.Prefill, Gates: e.Gates, Capacity: caps[i].Capacity}
		if e.Param >= 0 {
			c.Parameter = l.Nodes[e.Dst].Spec.Params[e.Param].Name
		}
		r.Edges = append(r.Edges, c)
	}
	return r, nil
}

func ratio(r graph.Rat) string {
	if r.Den == 1 {
		return fmt.Sprint(r.Num)
	}
	return fmt.Sprintf("%d/%d", r.Num, r.Den)
}

func (r *checked) print(w io.Writer, path string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %s, %s, blocks of %s\n", path, spelling.Count(len(r.Nodes), "node"), spelling.Count(len(r.Edges), "edge"), spelling.Count(r.Block, "frame"))
	fmt.Fprintln(t, "NODE\tTYPE\tSTAGE\tRATE\tTOKENS\tSHAPE\tLATENCY\tNOTES")
	for _, n := range r.Nodes {
		var shapes, notes []string
		for _, s := range n.Shapes {
			shapes = append(shapes, fmt.Sprintf("%d×%d", s[0], s[1]))
		}
		if n.Cycle {
			notes = append(notes, "cycle, sub-blocks of "+n.SubBlock)
		}
		if n.Adjoint {
			notes = append(notes, strings.TrimSpace("∇ "+n.Jacobian))
		}
		if n.Delay > 0 && n.PDC == "" {
			notes = append(notes, "late by "+spelling.Count(n.Delay, "frame")+": \"pdc\" compensates")
		} else if n.Delay > 0 {
			notes = append(notes, "late by "+spelling.Count(n.Delay, "frame")+", compensated")
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%s\t%.6g\t%s\n", n.Name, n.Type, n.Stage, n.Rate, n.Tokens, dash(strings.Join(shapes, " ")), n.Latency, strings.Join(notes, ", "))
	}
	fmt.Fprintln(t, "\t\t\t\t\t\t\t")
	fmt.Fprintln(t, "EDGE\tTO\tRATE\tHOLD\tPREFILL\tCAPACITY\tGATES\t")
	for _, e := range r.Edges {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t\n", e.Source, e.Target, e.Rate, e.Hold, e.Prefill, e.Capacity, dash(strings.Trim(fmt.Sprint(e.Gates), "[]")))
	}
	var b strings.Builder
	for _, s := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", s)
	}
	err := t.Flush()
	_, e := io.WriteString(w, b.String())
	return errors.Join(err, e)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
