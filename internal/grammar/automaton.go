package grammar

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// An Automaton is a grammar over the tokens of a vocabulary. Its states are made
// when a text first leads to them, and kept. It is safe for concurrent use.
type Automaton struct {
	v    *Vocabulary
	net  *net
	need []int32    // by node: tokens to the end of its rule at least
	kind [256]uint8 // bytes that no edge tells apart are of one class
	some []byte     // a byte of each class

	mu     sync.Mutex
	wanted atomic.Int32 // who wait for mu and need it for a moment only: see lock
	states map[string]*state
	made   int // states and …
	masks  int // … masks since the last reset
	work   int // steps of all masks
	begin  *state
	dead   *state

	// Scratch of follow, key and walk.
	todo, found []config
	seen        map[configID]bool
	text        []byte
	path        []*state // [deepest token + 1]
	costed      []tokenCost
}

// A frame is a call that has not returned: where it goes on, and in which call
// that is. Frames with the same calls have the same hash, which stands for them.
type frame struct {
	to   int32
	up   *frame // nil for the two below
	need int32  // tokens from the return of the call to the end of the text
	hash [2]uint64
	// Of what to counts and not of a call: how often it was there before.
	counts bool
	count  int32
}

// The bottoms of stacks: of a text, and of a text whose surroundings are not
// known, which masks of parts have.
var (
	bottom = &frame{hash: [2]uint64{1, 1}}
	hole   = &frame{hash: [2]uint64{2, 2}}
)

// A config is a node with the calls that led to it.
type config struct {
	node int32
	on   *frame
}

type configID struct {
	node int32
	hash [2]uint64
}

// A state is the set of all configurations that a text can lead to.
type state struct {
	configs []config // nodes that read, ordered
	popped  bool     // the bottom was reached: the text may end
	trims   bool     // a space leads to begin instead
	need    int32    // tokens to the end of a text at least
	next    []*state // by class; nil = not yet made
	mask    *mask
	part    *part  // of a state whose only frame is the hole
	costs   *costs // once an answer came near its end here
}

// terminal reports whether the text is complete and nothing can follow.
func (s *state) terminal() bool { return s.popped && len(s.configs) == 0 }

// Compile joins a grammar to the vocabulary. It computes the masks that are
// likely to be used, and so reports a grammar that is too ambiguous.
func (v *Vocabulary) Compile(b *Budget, g *Grammar) (*Automaton, error) {
	a := &Automaton{v: v, net: g.net, seen: map[configID]bool{}, path: make([]*state, v.deep+1)}
	a.classify()
	var can [256]bool
	for c := range can {
		can[c] = v.writes(byte(c))
	}
	var err error
	a.need, err = g.net.shortest(b, func(e edge) bool {
		for c := int(e.lo); c <= int(e.hi); c++ {
			if can[c] {
				return true
			}
		}
		return false
	}, v.shortcuts(g.net))
	if err != nil {
		return nil, b.spent(err, g.where(0))
	}
	if a.need[g.net.entry[0]] >= never {
		return nil, &Error{Why: "the model's vocabulary cannot write any text of it"}
	}
	a.dead = &state{need: never}
	a.dead.next = a.fill(a.dead)
	if err := a.reset(); err != nil {
		return nil, err
	}
	return a, a.prepare(b, g)
}

// classify groups the bytes that every edge treats alike.
func (a *Automaton) classify() {
	var bound [257]bool
	bound[0], bound[' '], bound[' '+1] = true, true, true
	for i := range a.net.nodes {
		for _, e := range a.net.nodes[i].edges {
			bound[e.lo], bound[int(e.hi)+1] = true, true
		}
	}
	for c := range 256 {
		if bound[c] {
			a.some = append(a.some, byte(c))
		}
		a.kind[c] = uint8(len(a.some) - 1)
	}
}

// reset forgets all states. Those that matchers hold stay valid.
func (a *Automaton) reset() error {
	a.states, a.made, a.masks = map[string]*state{}, 0, 0
	s, err := a.follow(append(a.todo[:0], config{a.net.entry[0], bottom}))
	if err != nil {
		return err
	}
	if a.begin = s; a.v.trims {
		t := *s
		t.trims, t.mask, t.next = true, nil, nil
		a.begin = &t
	}
	return nil
}

// fill returns a row of transitions to s.
func (a *Automaton) fill(s *state) []*state {
	row := make([]*state, len(a.some))
	for i := range row {
		row[i] = s
	}
	return row
}

// step returns the state after a byte.
func (a *Automaton) step(s *state, c byte) (*state, error) {
	k := a.kind[c]
	if s.next != nil && s.next[k] != nil {
		return s.next[k], nil
	}
	if s.trims && c == ' ' {
		return a.link(s, k, func() (*state, error) {
			return a.follow(append(a.todo[:0], config{a.net.entry[0], bottom}))
		})
	}
	return a.link(s, k, func() (*state, error) {
		todo := a.todo[:0]
		for _, f := range s.configs {
			for _, e := range a.net.nodes[f.node].edges {
				if e.lo <= c && c <= e.hi {
					todo = append(todo, config{e.to, f.on})
				}
			}
		}
		return a.follow(todo)
	})
}

// link records the state that make returns as the one after class k.
func (a *Automaton) link(s *state, k uint8, make func() (*state, error)) (*state, error) {
	t, err := make()
	if err != nil {
		return nil, err
	}
	if a.made <= 8*maxStates { // within one mask; then it goes on without memory
		if s.next == nil {
			s.next = a.fill(nil)
		}
		s.next[k] = t
	}
	return t, nil
}

// follow returns the state of all configurations that todo, which is scratch,
// leads to without a byte.
func (a *Automaton) follow(todo []config) (*state, error) {
	clear(a.seen)
	found := a.found[:0]
	popped, need := false, int32(never)
	for len(todo) > 0 {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		id := configID{c.node, c.on.hash}
		if a.seen[id] {
			continue
		}
		if len(a.seen) >= maxConfigs {
			return nil, &LimitError{What: "ways to read the same text", Most: maxConfigs}
		}
		a.seen[id] = true
		switch x := &a.net.nodes[c.node]; x.kind {
		case reads:
			if a.net.least[c.node] < never {
				found = append(found, c)
				need = min(need, a.need[c.node]+c.on.need)
			}
		case splits:
			for _, to := range x.to {
				todo = append(todo, config{to, c.on})
			}
		case calls:
			on := c.on
			if a.net.nodes[x.to[1]].kind != ends { // else a tail call, which needs no frame
				on = push(frame{to: x.to[1], need: a.need[x.to[1]], up: on})
			}
			todo = append(todo, config{x.to[0], on})
		case counts:
			if todo = append(todo, config{x.to[0], a.pushCount(c.node, 0, c.on)}); x.least == 0 {
				todo = append(todo, config{x.to[1], c.on})
			}
		case ends:
			if c.on.up == nil {
				popped = true
			} else {
				todo = a.back(c.on, todo)
			}
		}
	}
	if popped {
		need = 0
	}
	a.todo, a.found = todo, found
	if len(found) == 0 && !popped {
		return a.dead, nil
	}
	slices.SortFunc(found, func(x, y config) int { return x.compare(y) })
	key := a.key(found, popped)
	if s, ok := a.states[string(key)]; ok {
		return s, nil
	}
	s := &state{configs: slices.Clone(found), popped: popped, need: min(need, never)}
	if a.made <= 8*maxStates {
		a.states[string(key)] = s
	}
	a.made++
	return s, nil
}

// lock locks mu for a moment: a walk, which may take a second, lets it go for that.
func (a *Automaton) lock() {
	a.wanted.Add(1)
	a.mu.Lock()
	a.wanted.Add(-1)
}

// yield lets those have mu who need it for a moment. What a walk has seen stays valid,
// and what belongs to it alone is not in a meanwhile.
func (a *Automaton) yield() {
	if a.wanted.Load() == 0 {
		return
	}
	a.mu.Unlock()
	for a.wanted.Load() > 0 {
		runtime.Gosched()
	}
	a.mu.Lock()
}

// push returns a frame whose need is that until its return, with its hash.
func push(f frame) *frame {
	f.need = min(f.need+f.up.need, never)
	x := uint64(f.to) | uint64(f.count)<<32
	if f.counts {
		x |= 1 << 63
	}
	f.hash[0] = mix(f.up.hash[0] ^ x*0x9e3779b97f4a7c15)
	f.hash[1] = mix(f.up.hash[1] + x*0xd1342543de82ef95 + 0x2545f4914f6cdd1d)
	return &f
}

// pushCount returns the frame of what a node counts, which was there so often before.
func (a *Automaton) pushCount(node, count int32, up *frame) *frame {
	x := &a.net.nodes[node]
	return push(frame{to: node, need: again(max(0, x.least-count-1), a.need[x.to[0]], a.need[x.to[1]]), up: up, counts: true, count: count})
}

// back appends where the return of a frame leads to.
func (a *Automaton) back(f *frame, todo []config) []config {
	if !f.counts {
		return append(todo, config{f.to, f.up})
	}
	x, n := &a.net.nodes[f.to], f.count+1
	if n >= x.least {
		todo = append(todo, config{x.to[1], f.up})
	}
	if x.most == endless {
		n = min(n, x.least)
	}
	if n < x.most {
		todo = append(todo, config{x.to[0], a.pushCount(f.to, n, f.up)})
	}
	return todo
}

// usual returns the state that has the same mask because the bounds of what is counted are
// further than a token reaches.
func (a *Automaton) usual(s *state) (*state, error) {
	far := func(on *frame) bool {
		x := &a.net.nodes[on.to]
		return on.counts && on.count > x.least && int(x.most-on.count) > a.v.deep+1
	}
	if s.trims || !slices.ContainsFunc(s.configs, func(c config) bool { return far(c.on) }) {
		return s, nil
	}
	todo := a.todo[:0]
	for _, c := range s.configs {
		if far(c.on) {
			c.on = a.pushCount(c.on.to, a.net.nodes[c.on.to].least, c.on.up)
		}
		todo = append(todo, c)
	}
	t, err := a.follow(todo)
	if err == nil && t.popped != s.popped {
		return s, nil // what pops is no configuration
	}
	return t, err
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// compare orders configurations by frame, so that those of one frame are neighbours.
func (c config) compare(d config) int {
	for i := range c.on.hash {
		if x, y := c.on.hash[i], d.on.hash[i]; x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return int(c.node - d.node)
}

// key returns what tells a state from others; it is valid until the next call.
func (a *Automaton) key(configs []config, popped bool) []byte {
	k := a.text[:0]
	if popped {
		k = append(k, 1)
	}
	for _, c := range configs {
		k = binary.LittleEndian.AppendUint32(k, uint32(c.node))
		k = binary.LittleEndian.AppendUint64(k, c.on.hash[0])
		k = binary.LittleEndian.AppendUint64(k, c.on.hash[1])
	}
	a.text = k
	return k
}

// Accepts reports whether a text is in the language, byte by byte; tokens do not
// matter.
func (a *Automaton) Accepts(text string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.follow(append(a.todo[:0], config{a.net.entry[0], bottom}))
	for i := 0; i < len(text) && err == nil; i++ {
		s, err = a.step(s, text[i])
	}
	return err == nil && s.popped, err
}

// String describes what the automaton holds.
func (a *Automaton) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return fmt.Sprintf("%d rules, %d nodes, %d classes of bytes; %d states and %d masks made", len(a.net.entry), len(a.net.nodes), len(a.some), a.made, a.masks)
}
