package graph

import "fmt"

// rates solves the balance equations (Lee and Messerschmitt, Synchronous data
// flow, 1987) along the edges from the sources: a node's rate is its tokens per
// base frame. A cycle that no source reaches runs at the base rate.
func (l *linker) rates() error {
	queue := make([]int, 0, len(l.Nodes))
	fed := make([]bool, len(l.Nodes))
	for i := range l.Edges {
		fed[l.Edges[i].Dst] = true
	}
	for i := range l.Nodes {
		if s := l.Nodes[i].Spec; !fed[i] {
			l.Nodes[i].Rate = reduced(int64(max(s.SourceNum, 1)), int64(max(s.SourceDen, 1)))
			l.Nodes[i].Fed = true
			queue = append(queue, i)
		}
	}
	for first := 0; ; first++ {
		var err error
		if queue, err = l.spread(queue); err != nil {
			return err
		}
		for first < len(l.Nodes) && l.Nodes[first].Rate.Den != 0 {
			first++
		}
		if first == len(l.Nodes) {
			break
		}
		l.Nodes[first].Rate = Rat{1, 1}
		queue = append(queue, first)
	}
	for i := range l.Edges {
		e := &l.Edges[i]
		s, d := &l.Nodes[e.Src], &l.Nodes[e.Dst]
		var ok, fits bool
		var want Rat
		e.Rate, ok = s.Rate.times(int64(s.Spec.Prod[e.SrcPort]), 1)
		want, fits = d.Rate.times(int64(e.Cons), 1)
		if !ok || !fits {
			return l.tooFast(e)
		}
		if e.Rate != want {
			return l.fault(Malformed, e.Path, []int{e.Src, e.Dst}, "inconsistent rates: %s writes %v frames per base frame where %s reads %v", s.Name, e.Rate, d.Name, want)
		}
	}
	return l.whole()
}

// spread propagates rates from the queue's nodes and returns it empty.
func (l *linker) spread(queue []int) ([]int, error) {
	for len(queue) > 0 {
		s := &l.Nodes[queue[0]]
		queue = queue[1:]
		for port, edges := range s.Out {
			for _, i := range edges {
				e := &l.Edges[i]
				d := &l.Nodes[e.Dst]
				if d.Rate.Den != 0 {
					continue
				}
				r, ok := s.Rate.times(int64(s.Spec.Prod[port]), int64(e.Cons))
				if !ok {
					// Some node on the path already had a rate with too large a
					// denominator for a whole number of tokens per block:
					// report that one.
					if err := l.whole(); err != nil {
						return nil, err
					}
					return nil, l.tooFast(e)
				}
				d.Rate, d.Fed = r, s.Fed
				queue = append(queue, e.Dst)
			}
		}
	}
	return queue, nil
}

func (l *linker) tooFast(e *LinkedEdge) error {
	return l.fault(Malformed, e.Path, []int{e.Src, e.Dst}, "more than %d frames in a block", maxInteger)
}

// multiples names block sizes.
func multiples(quantum int64) string {
	if quantum > maxBlock {
		return "no number of"
	}
	return fmt.Sprintf("%d, %d, …", quantum, 2*quantum)
}

// whole checks that a block is a whole number of tokens for every node.
func (l *linker) whole() error {
	quantum := int64(1) // the smallest block, and the common divisor of all others
	for i := range l.Nodes {
		if den := l.Nodes[i].Rate.Den; den != 0 && quantum <= maxBlock {
			quantum = quantum / gcd(quantum, den) * den
		}
	}
	if l.auto && quantum <= maxBlock {
		l.BlockFrames = int((DefaultBlock + quantum - 1) / quantum * quantum)
	}
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if n.Rate.Den == 0 {
			continue
		}
		if int64(l.BlockFrames)%n.Rate.Den != 0 {
			return l.fault(Malformed, n.Path, []int{i}, "a block of %d frames is not a whole number of tokens of node %s, which has %v per base frame: blocks of %s frames suit the plan", l.BlockFrames, n.Name, n.Rate, multiples(quantum))
		}
		var ok bool
		if n.Tokens, ok = n.Rate.Frames(l.BlockFrames); !ok {
			return l.fault(Malformed, n.Path, []int{i}, "more than %d tokens in a block", maxInteger)
		}
	}
	for i := range l.Edges {
		if e := &l.Edges[i]; e.Rate.Den != 0 {
			if _, ok := e.Rate.Frames(l.BlockFrames); !ok {
				return l.tooFast(e)
			}
		}
	}
	return nil
}
