package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/media"
	"atenia/flow/node"
	"atenia/internal/cli/command"
)

// A binding joins a node of a plan and a file.
type binding struct {
	node *graph.Node
	path string
}

// bind reads NODE=FILE, or FILE where the graph has one node of the type.
func bind(p *graph.Plan, flag, typ string, given []string) ([]binding, error) {
	var of []*graph.Node
	for i := range p.Nodes {
		if p.Nodes[i].Type == typ {
			of = append(of, &p.Nodes[i])
		}
	}
	var all []binding
	for _, g := range given {
		name, path, named := strings.Cut(g, "=")
		i := slices.IndexFunc(of, func(n *graph.Node) bool { return named && n.Name == name })
		if i < 0 {
			if len(of) != 1 || named && !strings.ContainsAny(name, `/\`) {
				return nil, command.Usagef("--%s %s: want NODE=FILE, where NODE is one of %s", flag, g, names(of))
			}
			i, path = 0, g
		}
		if slices.ContainsFunc(all, func(b binding) bool { return b.node == of[i] }) {
			return nil, command.Usagef("--%s: two files for %s", flag, of[i].Name)
		}
		all = append(all, binding{of[i], path})
	}
	return all, nil
}

func names(nodes []*graph.Node) string {
	if len(nodes) == 0 {
		return "none: the graph has no such node"
	}
	var s []string
	for _, n := range nodes {
		s = append(s, n.Name)
	}
	return strings.Join(s, ", ")
}

// openInputs opens the files of Input nodes, and those that the plan names. A
// node without a number of channels gets that of its file, and the base rate
// defaults to that of the files.
func openInputs(p *graph.Plan, path string, src *source, given []string) (*media.Files, error) {
	bound, err := bind(p, "in", "Input", given)
	if err != nil {
		return nil, err
	}
	all, err := src.files(p, path)
	if err != nil {
		return nil, err
	}
	for _, b := range bound {
		s, err := media.OpenSource(b.node, b.path)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.Sources = append(all.Sources, s)
		if all.Rate == 0 {
			all.Rate = s.Base()
		}
		if math.Abs(s.Base()-all.Rate) > 1e-9*all.Rate {
			return nil, errors.Join(command.Usagef("%s has %d Hz, which is a base rate of %g Hz, and not %g: resample one of them", b.path, s.Rate(), s.Base(), all.Rate), all.Close())
		}
	}
	src.rate = cmp.Or(all.Rate, 48000)
	return all, nil
}

// files opens the files that a plan names, which are relative to the plan's
// folder. A base rate that was not given is then theirs.
func (s *source) files(p *graph.Plan, path string) (*media.Files, error) {
	all, err := media.OpenFiles(p, filepath.Dir(path), s.rate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.rate = all.Rate
	return all, nil
}

// complete gives the sources of a plan what their files say.
func (s *source) complete(p *graph.Plan, path string) error {
	all, err := s.files(p, path)
	if err != nil {
		return err
	}
	return all.Close()
}

// count returns a setting that is a number, 1 if it is left out.
func count(n *graph.Node, name string) float64 {
	if p := n.Param(name); p != nil && p.Value != nil && len(p.Value.Data) == 1 {
		return p.Value.Data[0]
	}
	return 1
}

// An output is a file that receives a probe's stream.
type output[F node.Float] struct {
	binding
	format media.Format
	block  int // frames of one
	w      *media.Writer
	frames int64
}

// openOutputs finds the formats of files for Probe nodes, and for the sinks
// that name theirs.
func openOutputs[F node.Float](l *graph.Linked, bound []binding, named []*media.Sink, src *source, bits int, float bool) ([]*output[F], error) {
	var all []*output[F]
	add := func(b binding, f media.Format) {
		i := slices.IndexFunc(l.Nodes, func(n graph.LinkedNode) bool { return n.Name == b.node.Name })
		all = append(all, &output[F]{binding: b, format: f, block: l.Nodes[i].Tokens})
	}
	for _, b := range bound {
		codec, ok := media.CodecOf(b.path)
		if !ok {
			return nil, command.Usagef("--out %s: want a name that ends with .wav, .flac or .npy", b.path)
		}
		f, err := media.FormatFor(l, b.node.Name, src.rate, codec, bits, float)
		if err != nil {
			return nil, &command.UsageError{Err: fmt.Errorf("--out %s: %w", b.path, err)}
		}
		add(b, f)
	}
	for _, k := range named {
		f, err := k.Format(l, src.rate)
		if err != nil {
			return nil, err
		}
		add(binding{k.Node, k.Path}, f)
	}
	return all, nil
}

// write calls run while all files are open; they are there afterwards if it
// returns nil, and none is otherwise.
func write[F node.Float](outs []*output[F], run func() error) error {
	if len(outs) == 0 {
		return run()
	}
	o := outs[0]
	return media.WriteFile(o.path, o.format, func(w *media.Writer) error {
		o.w = w
		return write(outs[1:], run)
	})
}

// take writes a block that a probe took.
func (o *output[F]) take(t node.Tensor[F]) error {
	rows := make([][]F, t.B*t.C)
	for r := range rows {
		rows[r] = t.Row(r)
	}
	o.frames += int64(t.N)
	return media.Write(o.w, rows)
}

// A player runs a session from files to files.
type player[F node.Float] struct {
	s       *flow.Session[F]
	memory  *flow.Arena // of the session in real time
	ins     []*media.Source
	outs    []*output[F]
	frames  int64             // base frames after which inputs other than files end
	block   func(block int64) // called for each block, if set
	changes []change          // still to come
	fade    int64             // frames of each
	waited  bool              // some input could not give its block
}

// play runs blocks until the inputs have ended, within the last one, and then the tail.
func (p *player[F]) play(ctx context.Context) error {
	block := int64(p.s.Linked().BlockFrames)
	for k := int64(0); ; k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := graph.Rat{Num: max(0, min(block, p.frames-k*block)), Den: 1}
		for _, in := range p.ins {
			n, err := p.feed(in)
			if err != nil {
				return err
			}
			part = part.Max(n)
		}
		if part.Num > 0 {
			if err := p.nextChange(k * block); err != nil {
				return err
			}
		}
		if part.Num < block*part.Den {
			return p.end(ctx, k*block, part)
		}
		if err := p.s.Block(); err != nil {
			return err
		}
		if err := p.collect(k); err != nil {
			return err
		}
	}
}

// feed gives an input its next block and returns how many base frames its file has for it. An input whose last block
// waits for room gets none.
func (p *player[F]) feed(in *media.Source) (graph.Rat, error) {
	none := graph.Rat{Den: 1}
	held, err := p.s.Waiting(in.Node.Name)
	if err != nil || held {
		p.waited = p.waited || held
		return none, err
	}
	t, err := p.s.Input(in.Node.Name)
	if err != nil {
		return none, err
	}
	n, err := media.Feed(in, t)
	return p.base(int64(n), t.N), err
}

// base is n frames of an input that has so many in a block, as base frames.
func (p *player[F]) base(n int64, block int) graph.Rat {
	return graph.Rat{Num: n * int64(p.s.Linked().BlockFrames), Den: int64(max(block, 1))}
}

// end runs the tail after the end of the inputs, part base frames after frame at. Inputs that waited may have more.
func (p *player[F]) end(ctx context.Context, at int64, part graph.Rat) error {
	if p.waited {
		part = part.Max(graph.Rat{Num: p.frames - at, Den: 1})
		for _, in := range p.ins {
			n, err := in.Frames()
			if err != nil {
				return err
			}
			t, err := p.s.Input(in.Node.Name)
			if err != nil {
				return err
			}
			all := p.base(n, t.N)
			all.Num -= at * all.Den
			part = part.Max(all)
		}
	}
	if err := p.s.Finish(part); err != nil {
		return err
	}
	for moved := true; moved; {
		var err error
		if err = ctx.Err(); err != nil {
			return err
		}
		if moved, err = p.s.Drain(); err != nil {
			return err
		}
		if err := p.collect(-1); err != nil {
			return err
		}
		if p.waited {
			if err := p.offer(); err != nil {
				return err
			}
		}
	}
	return nil
}

// offer gives inputs that had to wait what their files still have, after the end of the stream.
func (p *player[F]) offer() error {
	for _, in := range p.ins {
		held, err := p.s.Waiting(in.Node.Name)
		if err != nil {
			return err
		}
		if held {
			continue
		}
		if _, err := p.feed(in); err != nil {
			return err
		}
		if err := p.s.Offer(in.Node.Name); err != nil {
			return err
		}
	}
	return nil
}

// collect passes the results of the last block to the outputs.
func (p *player[F]) collect(k int64) error {
	for _, o := range p.outs {
		t, err := p.s.Probe(o.node.Name)
		if err != nil {
			return err
		}
		if t.N > 0 {
			if err := o.take(t); err != nil {
				return err
			}
		}
	}
	if p.block != nil && k >= 0 {
		p.block(k + 1)
	}
	return nil
}
