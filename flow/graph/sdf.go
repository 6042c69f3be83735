package graph

import (
	"fmt"
	"math/big"
)

// A Channel joins two actors of synchronous data flow, whose firings write and
// read fixed numbers of tokens.
type Channel struct {
	Source, Target   int
	Produce, Consume int // tokens per firing, at least one
	Prefill          int // tokens before the first firing
}

// Balance returns how often each of n actors fires in the smallest iteration
// that leaves every channel as it was, separately for each connected component.
// An error of code [Malformed] names the first channel that does not
// balance.
func Balance(n int, channels []Channel) ([]int, error) {
	arcs := make([]arc, 0, 2*len(channels))
	for i, c := range channels {
		if min(c.Source, c.Target) < 0 || max(c.Source, c.Target) >= n || min(c.Produce, c.Consume) < 1 || max(c.Produce, c.Consume, c.Prefill) > 1<<maxBits || c.Prefill < 0 {
			return nil, &Error{Code: InvalidArg, Path: fmt.Sprintf("edges[%d]", i), Text: fmt.Sprintf("%+v is not a channel between %d actors", c, n)}
		}
		arcs = append(arcs, arc{From: c.Source, To: i}, arc{From: c.Target, To: i})
	}
	ends := channelsOf(n, arcs, len(channels))
	rate, q := make([]*big.Rat, n), make([]int, n)
	for root := range n {
		if rate[root] != nil {
			continue
		}
		rate[root] = big.NewRat(1, 1)
		part := []int{root}
		for k := 0; k < len(part); k++ {
			v := part[k]
			for _, i := range ends.Next(v) {
				c := channels[i]
				w, up, down := c.Target, c.Produce, c.Consume
				if v == c.Target && rate[c.Source] == nil {
					w, up, down = c.Source, c.Consume, c.Produce
				}
				if rate[w] != nil {
					continue
				}
				rate[w] = new(big.Rat).Mul(rate[v], big.NewRat(int64(up), int64(down)))
				if rate[w].Num().BitLen() > maxBits || rate[w].Denom().BitLen() > maxBits {
					return nil, tooMany(i)
				}
				part = append(part, w)
			}
		}
		if !iterations(rate, part, q) {
			return nil, tooMany(0)
		}
	}
	for i, c := range channels {
		if a, b := int64(q[c.Source])*int64(c.Produce), int64(q[c.Target])*int64(c.Consume); a != b {
			return nil, &Error{Code: Malformed, Path: fmt.Sprintf("edges[%d]", i),
				Text: fmt.Sprintf("inconsistent rates: in an iteration, %d tokens are written and %d are read", a, b)}
		}
	}
	return q, nil
}

// channelsOf returns the graph of arcs from actors to their channels.
func channelsOf(n int, arcs []arc, channels int) *digraph {
	return newDigraph(max(n, channels), arcs)
}

// maxBits bounds firings per iteration and tokens per firing, so that the
// tokens of an iteration fit an int64.
const maxBits = 31

func tooMany(channel int) error {
	return &Error{Code: Malformed, Path: fmt.Sprintf("edges[%d]", channel), Text: fmt.Sprintf("an iteration has more firings than %d bits count", maxBits)}
}

// iterations scales the rates of one component to the smallest whole numbers.
func iterations(rate []*big.Rat, part []int, q []int) bool {
	common, least := big.NewInt(1), new(big.Int)
	for _, v := range part {
		d := rate[v].Denom()
		g := new(big.Int).GCD(nil, nil, common, d)
		if common.Mul(common, g.Div(d, g)); common.BitLen() > maxBits {
			return false
		}
	}
	whole := func(v int) *big.Int {
		n := new(big.Int).Div(common, rate[v].Denom())
		return n.Mul(n, rate[v].Num())
	}
	for _, v := range part {
		least.GCD(nil, nil, least, whole(v))
	}
	for _, v := range part {
		n := whole(v)
		if n.Div(n, least).BitLen() > maxBits {
			return false
		}
		q[v] = int(n.Int64())
	}
	return true
}

// MinCapacity returns the least capacity with which a channel between two actors
// that write p and read c tokens per firing, with d initial tokens, lets both
// fire forever.
func MinCapacity(p, c, d int) int {
	g := gcd(p, c)
	if d <= p+c-g {
		return p + c - g + d%g
	}
	return d
}

// An Iteration is the progress of one iteration of a graph.
type Iteration struct {
	Q       []int // firings of a whole iteration
	Fired   []int // firings reached, which do not depend on the firing order
	Blocked []int // actors that fired too few times; any means deadlock
	// Cycle is a cycle of blocked actors, the first of which waits for the
	// second: for tokens of an empty channel or for room in a full one.
	Cycle []int
}

// Deadlock reports whether the iteration cannot be completed.
func (r *Iteration) Deadlock() bool { return len(r.Blocked) > 0 }

// Iterate fires actors as long as their channels allow, for at most one
// iteration. capacity, in tokens including prefill, may be nil. Errors are
// those of [Balance].
func Iterate(n int, channels []Channel, capacity []int) (*Iteration, error) {
	q, err := Balance(n, channels)
	if err != nil {
		return nil, err
	}
	s := newFiring(n, channels, q, capacity)
	s.run()
	return s.result(), nil
}

// Capacities returns capacities with which iterations can go on forever. It
// starts from [MinCapacity] and, as long as actors wait for each other in a
// cycle with a full channel, enlarges the smallest full channel of that cycle
// (Parks, Bounded scheduling of process networks, 1995). Cycles are searched
// among all blocked actors, so that a deadlocked component is found while
// others run on (Geilen and Basten, Requirements on the execution of Kahn
// process networks, 2003). An error of code [Deadlock] means that no
// capacities suffice; its names are the numbers of the actors that wait for
// each other.
func Capacities(n int, channels []Channel) ([]int, error) {
	q, err := Balance(n, channels)
	if err != nil {
		return nil, err
	}
	capacity := make([]int, len(channels))
	for i, c := range channels {
		if capacity[i] = MinCapacity(c.Produce, c.Consume, c.Prefill); c.Source == c.Target {
			capacity[i] = c.Prefill
		}
	}
	s := newFiring(n, channels, q, capacity)
	for {
		s.run()
		cycle := s.waitCycle()
		if cycle == nil {
			return capacity, nil
		}
		smallest := -1
		for k, v := range cycle {
			if i := s.full(v, cycle[(k+1)%len(cycle)]); i >= 0 && (smallest < 0 || capacity[i] < capacity[smallest]) {
				smallest = i
			}
		}
		if smallest < 0 {
			e := &Error{Code: Deadlock, Path: "edges", Text: "a cycle with too little prefill: no capacities avoid deadlock"}
			for _, v := range cycle {
				e.Names = append(e.Names, fmt.Sprint(v))
			}
			return nil, e
		}
		capacity[smallest] = s.tokens[smallest] + channels[smallest].Produce
	}
}

// A firing is an execution of counts.
type firing struct {
	channels []Channel
	capacity []int
	q, fired []int
	tokens   []int
	ends     *digraph // channels at each actor
}

func newFiring(n int, channels []Channel, q, capacity []int) *firing {
	s := &firing{channels: channels, capacity: capacity, q: q, fired: make([]int, n), tokens: make([]int, len(channels))}
	var arcs []arc
	for i, c := range channels {
		s.tokens[i] = c.Prefill
		if arcs = append(arcs, arc{From: c.Source, To: i}); c.Source != c.Target {
			arcs = append(arcs, arc{From: c.Target, To: i})
		}
	}
	s.ends = channelsOf(n, arcs, len(channels))
	return s
}

// times returns how often the actor may fire in sequence.
func (s *firing) times(v int) int {
	k := s.q[v] - s.fired[v]
	for _, i := range s.ends.Next(v) {
		c := &s.channels[i]
		if c.Target == v && s.tokens[i] < c.Consume {
			return 0
		}
		switch {
		case c.Source == c.Target: // produces what it consumes, or it would not balance
			if s.capacity != nil && s.tokens[i] > s.capacity[i] {
				return 0
			}
		case c.Target == v:
			k = min(k, s.tokens[i]/c.Consume)
		case s.capacity != nil:
			k = min(k, max(0, s.capacity[i]-s.tokens[i])/c.Produce)
		}
	}
	return k
}

// run fires until no actor can.
func (s *firing) run() {
	var todo []int
	waiting := make([]bool, len(s.q))
	for v := range s.q {
		todo, waiting[v] = append(todo, v), true
	}
	for len(todo) > 0 {
		v := todo[0]
		todo, waiting[v] = todo[1:], false
		k := s.times(v)
		if k == 0 {
			continue
		}
		s.fired[v] += k
		for _, i := range s.ends.Next(v) {
			c := &s.channels[i]
			if c.Source == v {
				s.tokens[i] += k * c.Produce
			}
			if c.Target == v {
				s.tokens[i] -= k * c.Consume
			}
			if w := c.Source + c.Target - v; !waiting[w] {
				todo, waiting[w] = append(todo, w), true
			}
		}
	}
}

// waits returns the actors that a blocked actor waits for.
func (s *firing) waits(v int) (who []int) {
	for _, i := range s.ends.Next(v) {
		switch c := &s.channels[i]; {
		case c.Target == v && s.tokens[i] < c.Consume:
			who = append(who, c.Source)
		case c.Source == v && c.Target != v && s.capacity != nil && s.tokens[i]+c.Produce > s.capacity[i]:
			who = append(who, c.Target)
		}
	}
	return who
}

// full returns the smallest full channel for which v waits for w, or -1.
func (s *firing) full(v, w int) int {
	smallest := -1
	for _, i := range s.ends.Next(v) {
		c := &s.channels[i]
		if c.Source == v && c.Target == w && v != w && s.tokens[i]+c.Produce > s.capacity[i] && (smallest < 0 || s.capacity[i] < s.capacity[smallest]) {
			smallest = i
		}
	}
	return smallest
}

// waitCycle returns a cycle of blocked actors that wait for each other, or nil.
func (s *firing) waitCycle() []int {
	var arcs []arc
	for v := range s.q {
		if s.fired[v] < s.q[v] {
			for _, w := range s.waits(v) {
				arcs = append(arcs, arc{From: v, To: w})
			}
		}
	}
	return newDigraph(len(s.q), arcs).Cycle()
}

func (s *firing) result() *Iteration {
	r := &Iteration{Q: s.q, Fired: s.fired}
	for v := range s.q {
		if s.fired[v] < s.q[v] {
			r.Blocked = append(r.Blocked, v)
		}
	}
	if r.Deadlock() {
		r.Cycle = s.waitCycle()
	}
	return r
}
