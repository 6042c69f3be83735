package graph

import (
	"errors"
	"fmt"
	"slices"
)

// maxBlock is the largest block, in base frames.
const maxBlock = 1 << 24

// A linker fills in a Linked, step by step.
type linker struct {
	*Linked
	catalog Catalog
	strict  bool
	auto    bool             // the block size may grow to suit the rates
	index   map[string]int   // node by name
	ports   []map[string]int // port index by name, for nodes with many ports; input and output alternate
	free    []arc            // edges without prefill
}

// linkSteps is the pipeline of Link. A plan with several errors is reported the
// one that the first step finds. Ports need types, rates need ports, delays
// need cycles, padding needs rates, and shapes need the order.
var linkSteps = []func(*linker) error{
	(*linker).name,      // node names are unique
	(*linker).ends,      // edges lead from nodes to nodes
	(*linker).describe,  // types and settings
	(*linker).connect,   // ports; one writer per input, no input unconnected
	(*linker).rates,     // balance equations, whole tokens in a block
	(*linker).cycles,    // components
	(*linker).delays,    // holds and prefills
	(*linker).pad,       // delay compensation by prefill
	(*linker).flow,      // no cycle without prefill
	(*linker).subBlocks, // the least prefill around a cycle
	(*linker).barriers,  // control edges; no gate waits for its own descendant
	(*linker).stages,    // given or derived
	(*linker).order,
	(*linker).shapes, // batches and channels, parameters, modulation
}

// ratesStep is the index of rates, after which the block size is known.
const ratesStep = 4

// Link resolves a plan against the types of its nodes. The plan must not be
// modified while the result is in use.
//
// Every error is an [Error]: [UnknownNode] for an unresolved name or type,
// [BadShape], [Deadlock] for a cycle without prefill or a gate that waits for
// itself, and [Malformed] for anything else.
func Link(p *Plan, c Catalog, o Options) (*Linked, error) {
	l, err := newLinker(p, c, o)
	if err != nil {
		return nil, err
	}
	for _, step := range linkSteps {
		if err := step(l); err != nil {
			return nil, err
		}
	}
	return l.Linked, nil
}

// BlockFrames returns the block size that Link chooses for a plan if its options
// give none: DefaultBlock, or the next larger size with which every node has a
// whole number of tokens in a block. Errors are those of Link.
func BlockFrames(p *Plan, c Catalog) (int, error) {
	l, err := newLinker(p, c, Options{})
	if err != nil {
		return 0, err
	}
	for _, step := range linkSteps[:ratesStep+1] {
		if err := step(l); err != nil {
			return 0, err
		}
	}
	return l.BlockFrames, nil
}

func newLinker(p *Plan, c Catalog, o Options) (*linker, error) {
	auto := o.BlockFrames == 0
	if auto {
		o.BlockFrames = DefaultBlock
	}
	if o.BlockFrames < 0 || o.BlockFrames > maxBlock {
		return nil, &Error{Code: InvalidArg, Path: p.Root, Text: fmt.Sprintf("a block has 1 to %d frames, not %d", maxBlock, o.BlockFrames)}
	}
	l := &linker{Linked: &Linked{Plan: p, BlockFrames: o.BlockFrames, Warnings: slices.Clone(p.Warnings),
		Nodes: make([]LinkedNode, len(p.Nodes)), Edges: make([]LinkedEdge, len(p.Edges))}, catalog: c, strict: o.Strict, auto: auto}
	for i := range p.Nodes {
		l.Nodes[i] = LinkedNode{Node: &p.Nodes[i], Index: i, Comp: -1}
	}
	for i := range p.Edges {
		l.Edges[i] = LinkedEdge{Edge: &p.Edges[i], Index: i, DstPort: -1, Param: -1}
	}
	return l, nil
}

// fault returns an error that names nodes.
func (l *linker) fault(code Code, path string, nodes []int, format string, args ...any) error {
	e := &Error{Code: code, Path: path, Text: fmt.Sprintf(format, args...)}
	for _, v := range nodes {
		e.Names = append(e.Names, l.Nodes[v].Name)
	}
	return e
}

// told fills in the fields that a catalog's error may omit.
func (l *linker) told(err error, code Code, path string, node int) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return l.fault(code, path, []int{node}, "%v", err)
	}
	e = &Error{e.Code, e.Path, e.Names, e.Text}
	if e.Path == "" {
		e.Path = path
	}
	if len(e.Names) == 0 {
		e.Names = []string{l.Nodes[node].Name}
	}
	return e
}

func (l *linker) name() error {
	l.index = make(map[string]int, len(l.Nodes))
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if _, twice := l.index[n.Name]; twice {
			return l.fault(Malformed, n.Path+".name", []int{i}, "the name %q is used by an earlier node", n.Name)
		}
		l.index[n.Name] = i
	}
	return nil
}

func (l *linker) ends() error {
	for i := range l.Edges {
		e := &l.Edges[i]
		for _, end := range []struct {
			ref, key string
			node     *int
		}{{e.Source, ".source", &e.Src}, {e.Target, ".target", &e.Dst}} {
			name, _ := l.split(end.ref)
			v, ok := l.index[name]
			if !ok {
				return &Error{UnknownNode, e.Path + end.key, []string{name}, fmt.Sprintf("unknown node %s", name)}
			}
			*end.node = v
		}
	}
	return nil
}

// split separates node.port. Since names may contain dots, the node is the
// longest existing name that is the whole reference or ends at one of its dots.
// If there is none, the last dot separates.
func (l *linker) split(ref string) (node, port string) {
	if _, ok := l.index[ref]; ok {
		return ref, ""
	}
	last := -1
	for i := len(ref) - 1; i >= 0; i-- {
		if ref[i] != '.' {
			continue
		}
		if _, ok := l.index[ref[:i]]; ok {
			return ref[:i], ref[i+1:]
		}
		if last < 0 {
			last = i
		}
	}
	if last > 0 {
		return ref[:last], ref[last+1:]
	}
	return ref, ""
}

func (l *linker) describe() error {
	for i := range l.Nodes {
		n := &l.Nodes[i]
		s, err := l.catalog.Describe(n.Node)
		if err != nil {
			path := n.Path
			if e, ok := errors.AsType[*Error](err); ok && e.Code == UnknownNode {
				path += ".type"
			}
			return l.told(err, Malformed, path, i)
		}
		positive := func(x int) bool { return x >= 1 && x <= maxInteger }
		count := func(all []int) bool { return !slices.ContainsFunc(all, func(x int) bool { return !positive(x) }) }
		if len(s.Ins) != len(s.Cons) || len(s.Outs) != len(s.Prod) || !count(s.Cons) || !count(s.Prod) || s.Shapes == nil {
			return l.fault(Malformed, n.Path+".type", []int{i}, "type %s is described with ports %v %v that move %v %v frames", n.Type, s.Ins, s.Outs, s.Cons, s.Prod)
		}
		if s.Delay > 0 && n.PDC != "" && n.DeclaredDelay == 0 {
			own := *n.Node
			own.DeclaredDelay = s.Delay
			n.Node = &own
		}
		n.Spec, n.Out = s, make([][]int, len(s.Outs))
		n.In = make([]int, len(s.Ins))
		for k := range n.In {
			n.In[k] = -1
		}
	}
	return nil
}

// manyPorts is the number of ports from which names are looked up in a map.
const manyPorts = 16

// port returns the port's index: the first one if name is empty.
func (l *linker) port(node, side int, ports []string, name, path string) (int, error) {
	if len(ports) == 0 {
		return 0, l.fault(Malformed, path, []int{node}, "node %s has no port on this side", l.Nodes[node].Name)
	}
	if name == "" {
		return 0, nil
	}
	k := -1
	if len(ports) < manyPorts {
		k = slices.Index(ports, name)
	} else {
		m := l.ports[2*node+side]
		if m == nil {
			m = make(map[string]int, len(ports))
			for i, p := range ports {
				m[p] = i
			}
			l.ports[2*node+side] = m
		}
		if i, ok := m[name]; ok {
			k = i
		}
	}
	if k < 0 {
		return 0, l.fault(Malformed, path, []int{node}, "node %s has no port %s, but %s", l.Nodes[node].Name, name, listed(ports))
	}
	return k, nil
}

// listed formats port names, shortened.
func listed(ports []string) string {
	if len(ports) > manyPorts {
		return fmt.Sprintf("%v and %d more", ports[:manyPorts], len(ports)-manyPorts)
	}
	return fmt.Sprint(ports)
}

func (l *linker) connect() error {
	l.ports = make([]map[string]int, 2*len(l.Nodes))
	for i := range l.Edges {
		if err := l.attach(&l.Edges[i]); err != nil {
			return err
		}
	}
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if k := slices.Index(n.In, -1); k >= 0 {
			return l.fault(Malformed, n.Path, []int{i}, "input %s of node %s is not connected", n.Spec.Ins[k], n.Name)
		}
	}
	return nil
}

func (l *linker) attach(e *LinkedEdge) (err error) {
	s, d := &l.Nodes[e.Src], &l.Nodes[e.Dst]
	_, from := l.split(e.Source)
	_, to := l.split(e.Target)
	if e.SrcPort, err = l.port(e.Src, 1, s.Spec.Outs, from, e.Path+".source"); err != nil {
		return err
	}
	s.Out[e.SrcPort] = append(s.Out[e.SrcPort], e.Index)
	e.Param = slices.IndexFunc(d.Spec.Params, func(p ParamSpec) bool { return p.Name == to })
	if e.Param >= 0 {
		if d.Spec.Params[e.Param].Table {
			return l.fault(Malformed, e.Path+".target", []int{e.Dst}, "parameter %s of node %s is a table, which cannot be modulated", to, d.Name)
		}
		e.Cons = 1
		d.Mods = append(d.Mods, e.Index)
		return nil
	}
	if e.DstPort, err = l.port(e.Dst, 0, d.Spec.Ins, to, e.Path+".target"); err != nil {
		return err
	}
	if e.Mode != "" {
		return l.fault(Malformed, e.Path+".mode", []int{e.Dst}, "%s is a signal input; a mode belongs to a parameter", e.Target)
	}
	if d.In[e.DstPort] >= 0 {
		return l.fault(Malformed, e.Path+".target", []int{e.Src, e.Dst}, "%s already has a writer, %s", e.Target, l.Edges[d.In[e.DstPort]].Path)
	}
	d.In[e.DstPort], e.Cons = e.Index, d.Spec.Cons[e.DstPort]
	return nil
}
