package graph

import (
	"fmt"
	"math/big"
	"slices"
)

// A Schedule describes how a linked plan runs with its gates open: the calls of a block once all
// channels are filled, and the capacities of the channels.
type Schedule struct {
	BlockFrames int
	Warmup      int // blocks before every node fires a whole block
	Nodes       []ScheduledNode
	Edges       []ScheduledEdge // in plan order
	Calls       []ScheduledCall // of a block after the warm-up
}

// A ScheduledNode is a node in visiting order.
type ScheduledNode struct {
	Name   string
	Stage  int
	Tokens int // per block
	First  int // block of its first call
	Late   Rat // base frames by which holds delay it behind the sources, along the longest path; 0/1 for none
	Sink   bool
}

// A ScheduledEdge is a channel. Frame counts include prefill.
type ScheduledEdge struct {
	Source, Target string // as in the plan
	Rate           Rat    // frames per base frame
	Hold, Prefill  int
	Capacity       int // frames that one pass per block in visiting order needs
	Least          int // frames with which blocks still complete, in some order
}

// A ScheduledCall is one call of a node within a block.
type ScheduledCall struct {
	Node   int // in visiting order
	Tokens int
}

// maxVisits bounds the work of a schedule's two rehearsals together: how often they look
// whether a node can fire, which takes a microsecond. A delay of a minute in blocks of 64
// frames takes a million for ten nodes.
const maxVisits = 1 << 23

// NewSchedule rehearses the plan by counts until every node fires a whole block, then searches for
// minimal capacities. An error is an [Error]: a capacity_frames of the plan that is too
// small is [Malformed], with the edge's path and the capacity that suffices; a plan with
// more blocks than can be rehearsed is [Unsupported].
//
// The search starts from what one call writes and one reads. When nothing moves although blocks
// without capacities would go on, every remaining node waits: for a frame or for room. A channel
// whose reader has finished the block must grow; of nodes that wait for each other in a cycle,
// the smallest full channel grows (Parks; cycles are searched among all waiting nodes, after
// Geilen and Basten). A cycle whose tokens are larger than its prefill is a [Deadlock].
func NewSchedule(l *Linked) (*Schedule, error) {
	s := &Schedule{BlockFrames: l.BlockFrames}
	longest := maxVisits / max(1, len(l.Nodes))
	tooLong := &Error{Code: Unsupported, Path: l.Plan.Root, Text: fmt.Sprintf("not every node fires within %d blocks: delays are too long for blocks of %d frames", longest, l.BlockFrames)}
	for i := range l.Edges {
		if e := &l.Edges[i]; int64(e.Hold)/int64(l.Frames(e)) > int64(longest) {
			return nil, tooLong
		}
	}
	free, tight := newRehearsal(l, nil), newRehearsal(l, least(l))
	visits := maxVisits
	free.visits, tight.visits = &visits, &visits
	short := -1 // first edge whose capacity in the plan is too small
	for {
		if s.Warmup > longest {
			return nil, tooLong
		}
		free.block(s.Warmup)
		tight.begin()
		for tight.pass(s.Warmup); !tight.even(free); tight.pass(s.Warmup) {
			if visits < 0 {
				return nil, tooLong
			}
			i, ok := tight.grow(free)
			if !ok {
				return nil, &Error{Code: Deadlock, Path: l.Plan.Root + ".edges", Text: "no capacities avoid deadlock"}
			}
			if i >= 0 && (short < 0 || i < short) {
				short = i
			}
		}
		if visits < 0 {
			return nil, tooLong
		}
		if free.full() {
			break
		}
		if c := free.starved(); c != nil {
			e := &Error{Code: Deadlock, Path: l.Plan.Root + ".edges", Text: "a cycle with too little prefill for the tokens of its nodes: every node waits for the one before it"}
			for _, v := range c {
				e.Names = append(e.Names, l.Nodes[v].Name)
			}
			return nil, e
		}
		s.Warmup++
	}
	if short >= 0 {
		e := &l.Edges[short]
		return nil, &Error{Code: Malformed, Path: e.Path + ".capacity_frames", Names: []string{l.Nodes[e.Src].Name, l.Nodes[e.Dst].Name},
			Text: fmt.Sprintf("capacity of %d frames is too small, want %d", e.CapacityFrames, tight.capacity[short])}
	}
	return s, s.fill(l, free, tight)
}

// fill takes over the results of the rehearsals.
func (s *Schedule) fill(l *Linked, free, tight *rehearsal) error {
	place := make([]int, len(l.Nodes))
	late := make([]*big.Rat, len(l.Nodes))
	for k, v := range l.Order {
		place[v] = k
	}
	for _, v := range byLateness(l) {
		late[v] = new(big.Rat)
		for _, i := range slices.Concat(l.Nodes[v].In, l.Nodes[v].Mods) {
			e := &l.Edges[i]
			if e.Inside {
				continue
			}
			x := big.NewRat(int64(e.Hold), e.Rate.Num)
			x.Mul(x, big.NewRat(e.Rate.Den, 1))
			if x.Add(x, late[e.Src]); x.Cmp(late[v]) > 0 {
				late[v] = x
			}
		}
		if !late[v].Num().IsInt64() || !late[v].Denom().IsInt64() {
			return &Error{Code: Malformed, Path: l.Nodes[v].Path, Names: []string{l.Nodes[v].Name}, Text: "its delay does not fit a fraction of 63 bits"}
		}
	}
	for _, v := range l.Order {
		n := &l.Nodes[v]
		sink := !slices.ContainsFunc(n.Out, func(edges []int) bool { return len(edges) > 0 })
		s.Nodes = append(s.Nodes, ScheduledNode{n.Name, n.Stage, n.Tokens, free.first[v], Rat{Num: late[v].Num().Int64(), Den: late[v].Denom().Int64()}, sink})
	}
	for i := range l.Edges {
		e := &l.Edges[i]
		s.Edges = append(s.Edges, ScheduledEdge{e.Source, e.Target, e.Rate, e.Hold, e.Prefill, free.most[i], tight.capacity[i]})
	}
	for _, c := range free.calls {
		s.Calls = append(s.Calls, ScheduledCall{place[c.Node], c.Tokens})
	}
	return nil
}

// byLateness orders the nodes along the edges outside cycles.
func byLateness(l *Linked) []int {
	var arcs []arc
	for i := range l.Edges {
		if e := &l.Edges[i]; !e.Inside {
			arcs = append(arcs, arc{From: e.Src, To: e.Dst})
		}
	}
	return byDepth(newDigraph(len(l.Nodes), arcs).Depths())
}

// least returns the initial capacities: the plan's, else the minimum of any channel. A reader
// outside the edge's cycle starts when it has a whole block, and the channel also stores what is
// held back.
func least(l *Linked) []int {
	out := make([]int, len(l.Edges))
	for i := range l.Edges {
		switch e := &l.Edges[i]; {
		case e.CapacityFrames > 0:
			out[i] = e.CapacityFrames
		case e.Inside:
			out[i] = max(e.Prefill, MinCapacity(l.Slice(e.Src)*l.Nodes[e.Src].Spec.Prod[e.SrcPort], l.Slice(e.Dst)*e.Cons, e.Prefill))
			if e.Src == e.Dst {
				out[i] = e.Prefill
			}
		default:
			out[i] = max(e.Prefill, l.Nodes[e.Dst].Tokens*e.Cons+e.Hold)
		}
	}
	return out
}

// A rehearsal runs counts without data: see [NewSchedule].
type rehearsal struct {
	l        *Linked
	capacity []int // nil: none
	done     []int64
	left     []int   // tokens left of this block
	read     []int64 // by edge
	waited   []int64 // by control edge: frames that its waiter has passed
	control  [][]int // control edges of a node
	skip     []int64 // frames that a trimmed output drops at its start, by node
	first    []int
	most     []int
	calls    []ScheduledCall // of the last block
	visits   *int            // that are left; below 0 nothing moves
}

func newRehearsal(l *Linked, capacity []int) *rehearsal {
	n := len(l.Nodes)
	r := &rehearsal{l: l, capacity: capacity, done: make([]int64, n), left: make([]int, n), read: make([]int64, len(l.Edges)),
		waited: make([]int64, len(l.Control)), control: make([][]int, n), skip: make([]int64, n), first: make([]int, n), most: make([]int, len(l.Edges))}
	for i, c := range l.Control {
		r.control[c.Dst] = append(r.control[c.Dst], i)
	}
	for v := range n {
		r.first[v] = -1
		if l.Nodes[v].PDC == "trim" {
			r.skip[v] = int64(l.Nodes[v].DeclaredDelay)
		}
	}
	for i := range l.Edges {
		r.most[i] = l.Edges[i].Prefill
	}
	return r
}

// written returns the frames of an edge after that many tokens of its source.
func (r *rehearsal) written(e *LinkedEdge, tokens int64) int64 {
	return max(0, tokens*int64(r.l.Nodes[e.Src].Spec.Prod[e.SrcPort])-r.skip[e.Src])
}

// lacks reports whether the edge has fewer than n frames for a cursor.
func (r *rehearsal) lacks(e *LinkedEdge, cursor int64, n int) bool {
	return e.Readable(r.written(e, r.done[e.Src]), cursor, false) < int64(n)
}

// over returns how many frames the edge would hold after t more tokens.
func (r *rehearsal) over(e *LinkedEdge, t int) int64 {
	return int64(e.Prefill) + r.written(e, r.done[e.Src]+int64(t)) - r.read[e.Index]
}

// blockers calls f for every edge that keeps the node from firing its next slice, with full set
// if the channel has no room. It returns the slice.
func (r *rehearsal) blockers(v int, f func(e *LinkedEdge, full bool)) int {
	n := &r.l.Nodes[v]
	begins := r.left[v] == n.Tokens
	if begins {
		for _, i := range r.control[v] {
			e := &r.l.Edges[r.l.Control[i].Edge]
			if r.lacks(e, r.waited[i], r.l.Frames(e)) {
				f(e, false)
			}
		}
	}
	t := min(r.left[v], r.l.Slice(v))
	for _, in := range [][]int{n.In, n.Mods} {
		for _, i := range in {
			e := &r.l.Edges[i]
			want := t
			if begins && !e.Inside {
				want = n.Tokens
			}
			if r.lacks(e, r.read[i], want*e.Cons) {
				f(e, false)
			}
		}
	}
	if r.capacity == nil {
		return t
	}
	for _, out := range n.Out {
		for _, i := range out {
			e := &r.l.Edges[i]
			extra := 0
			if e.Src == e.Dst { // a node reads before it writes
				extra = t * e.Cons
			}
			if r.over(e, t)-int64(extra) > int64(r.capacity[i]) {
				f(e, true)
			}
		}
	}
	return t
}

// begin starts a block.
func (r *rehearsal) begin() {
	r.calls = r.calls[:0]
	for v := range r.left {
		r.left[v] = r.l.Nodes[v].Tokens
	}
}

// block runs one block.
func (r *rehearsal) block(k int) {
	r.begin()
	r.pass(k)
}

// pass visits nodes until none can fire.
func (r *rehearsal) pass(k int) {
	for moved := true; moved; {
		moved = false
		for _, v := range r.l.Order {
			for r.left[v] > 0 && *r.visits >= 0 {
				*r.visits--
				blocked := false
				t := r.blockers(v, func(*LinkedEdge, bool) { blocked = true })
				if blocked {
					break
				}
				r.fire(v, t, k)
				moved = true
			}
		}
	}
}

func (r *rehearsal) fire(v, t, k int) {
	n := &r.l.Nodes[v]
	for _, in := range [][]int{n.In, n.Mods} {
		for _, i := range in {
			r.read[i] += int64(t * r.l.Edges[i].Cons)
		}
	}
	for _, i := range r.control[v] {
		e := &r.l.Edges[r.l.Control[i].Edge]
		r.waited[i] += int64(t) * int64(r.l.Frames(e)) / int64(n.Tokens)
	}
	r.done[v] += int64(t)
	r.left[v] -= t
	for _, out := range n.Out {
		for _, i := range out {
			r.most[i] = max(r.most[i], int(r.over(&r.l.Edges[i], 0)))
		}
	}
	if r.first[v] < 0 {
		r.first[v] = k
	}
	r.calls = append(r.calls, ScheduledCall{v, t})
}

// full reports whether every node fired all of the block.
func (r *rehearsal) full() bool {
	return !slices.ContainsFunc(r.left, func(t int) bool { return t > 0 })
}

// even reports whether this rehearsal got as far as free, the one without capacities.
func (r *rehearsal) even(free *rehearsal) bool { return slices.Equal(r.done, free.done) }

// starved returns nodes that wait for each other's frames in a cycle, a deadlock, or nil.
func (r *rehearsal) starved() []int {
	*r.visits -= 2 * len(r.left) // a graph is made and searched, too
	var arcs []arc
	for v := range r.left {
		if r.left[v] > 0 {
			r.blockers(v, func(e *LinkedEdge, _ bool) {
				if r.left[e.Src] > 0 {
					arcs = append(arcs, arc{From: e.Src, To: v})
				}
			})
		}
	}
	return newDigraph(len(r.left), arcs).Cycle()
}

// grow enlarges channels after nothing moved and reports whether it could. It returns the first
// edge whose capacity is the plan's and had to grow, or -1.
func (r *rehearsal) grow(free *rehearsal) (int, bool) {
	*r.visits -= 2 * len(r.left)
	var arcs []arc
	short, grew := -1, false
	need := func(e *LinkedEdge) {
		t := min(r.left[e.Src], r.l.Slice(e.Src))
		r.capacity[e.Index], grew = int(r.over(e, t)), true
		if e.CapacityFrames > 0 && (short < 0 || e.Index < short) {
			short = e.Index
		}
	}
	for v := range r.done {
		if r.done[v] == free.done[v] {
			continue
		}
		r.blockers(v, func(e *LinkedEdge, full bool) {
			w := e.Src
			if full {
				w = e.Dst
			}
			if full && r.done[w] == free.done[w] {
				need(e)
			}
			arcs = append(arcs, arc{From: v, To: w})
		})
	}
	if grew {
		return short, true
	}
	cycle := newDigraph(len(r.done), arcs).Cycle()
	var least *LinkedEdge
	for k, v := range cycle {
		w := cycle[(k+1)%len(cycle)]
		r.blockers(v, func(e *LinkedEdge, full bool) {
			if full && e.Src == v && e.Dst == w && (least == nil || r.capacity[e.Index] < r.capacity[least.Index]) {
				least = e
			}
		})
	}
	if least != nil {
		need(least)
	}
	return short, grew
}
