package flow

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Cue is an event at an exact frame of the stream: a note or a controller message for a node, or a change of a
// parameter. [Session.Post] queues cues. Frames count at the base rate from the start of the stream; a node at another
// rate gets a cue at its first frame that is not earlier. Unlike a [ControlToken] for a block, a cue gives the same
// frames for every block size.
//
//	{Frame: 480, Node: "synth", Event: node.Event{Kind: node.NoteOn, Key: 69, Value: 0.8}}
//	{Frame: 960, Node: "low", Param: "f0", Value: 800, Ramp: 4800}
type Cue struct {
	Frame int64
	Node  string // whom it is for; "" with an Event: every node that takes events
	// Param names the parameter that changes; "" if the cue is an Event. It must be among [Options.Automate].
	Param string
	Value float64 // of the parameter, in all rows
	Ramp  int64   // base frames in which it moves there in a straight line; 0: at once
	Clear bool    // the parameter moves back to the plan's value instead
	Event node.Event
}

// A cueRecord is an accepted cue. It holds no pointer, since the thread that runs blocks writes it, in real time.
type cueRecord struct {
	frame, ramp int64
	at, length  int64 // the same in tokens of the node
	proc, param int32 // param -1: an event
	next, prev  int32 // in the node's or the parameter's list, 0 for none
	clear       bool
	value       float64
	scale, add  float64 // the parameter is scale times the plan's value plus add where the ramp begins
	event       node.Event
}

// A cueList is the cues of one node or parameter, by frame and then by arrival. Indices count from 1.
type cueList struct{ head, tail, at int32 }

const (
	cueChunk  = 512
	cueChunks = 1 << 13
)

// A cueBook holds all cues of a session, so that they can be logged, replayed and gone through backward. Producers
// append; the thread that runs blocks sorts them into lists.
//
//	Post ──▶ records 1 2 3 … published │ taken ──▶ list of a node:      1 ⇄ 4 ⇄ 5
//	                                             └▶ list of a parameter: 2 ⇄ 3
type cueBook struct {
	posting sync.Mutex // of producers
	dir     [cueChunks]*[cueChunk]cueRecord
	n       atomic.Int64 // published
	taken   int64
}

func (b *cueBook) of(i int32) *cueRecord { return &b.dir[(i-1)/cueChunk][(i-1)%cueChunk] }

// insert puts cue i into its list.
func (b *cueBook) insert(l *cueList, i int32) {
	c := b.of(i)
	after := l.tail
	for after != 0 && b.of(after).frame > c.frame {
		after = b.of(after).prev
	}
	c.prev = after
	if after == 0 {
		c.next, l.head = l.head, i
	} else {
		c.next, b.of(after).next = b.of(after).next, i
	}
	if c.next == 0 {
		l.tail = i
	} else {
		b.of(c.next).prev = i
	}
}

// seek returns the last cue of a list at or before token n, 0 for none.
func (b *cueBook) seek(l *cueList, n int64) int32 {
	i := l.at
	for i != 0 && b.of(i).at > n {
		i = b.of(i).prev
	}
	for next := b.after(l, i); next != 0 && b.of(next).at <= n; next = b.after(l, i) {
		i = next
	}
	l.at = i
	return i
}

// after returns the cue behind i, the first one for 0.
func (b *cueBook) after(l *cueList, i int32) int32 {
	if i == 0 {
		return l.head
	}
	return b.of(i).next
}

// An automation is the cues of one parameter. Its value is a function of the token alone, so blocks can be computed
// again from any place, and in reverse.
//
//	         cue: to v        cue: to w in 6 tokens
//	plan  ────────┐ v                    ╱──── w
//	              └─────────────────────╱
type automation struct {
	book *cueBook
	list cueList
}

// link computes where the ramps begin, from cue i on.
func (a *automation) link(i int32) {
	for ; i != 0; i = a.book.of(i).next {
		c := a.book.of(i)
		c.scale, c.add = 1, 0
		if c.prev != 0 {
			c.scale, c.add = a.book.of(c.prev).weight(c.at)
		}
	}
}

// weight returns how token n, at or after the cue, follows from the plan's value: scale times it plus add.
func (c *cueRecord) weight(n int64) (scale, add float64) {
	if c.clear {
		scale = 1
	} else {
		add = c.value
	}
	if k := n - c.at; k < c.length {
		part := float64(k) / float64(c.length)
		scale = c.scale + float64((scale-c.scale)*part)
		add = c.add + float64((add-c.add)*part)
	}
	return scale, add
}

// automate replaces the plan's values of tokens [n0, n0+len(y)) by those of the cues.
func automate[F node.Float](a *automation, y []F, n0 int64) {
	b, i := a.book, a.book.seek(&a.list, n0)
	for k := 0; k < len(y); {
		end := len(y)
		next := b.after(&a.list, i)
		if next != 0 {
			end = int(min(int64(end), b.of(next).at-n0))
		}
		if i == 0 {
			k = max(end, 0)
			i = next
			continue
		}
		c := b.of(i)
		for ; k < end && n0+int64(k) < c.at+c.length; k++ {
			scale, add := c.weight(n0 + int64(k))
			y[k] = F(float64(scale*float64(y[k])) + add)
		}
		if !c.clear {
			for ; k < end; k++ {
				y[k] = F(c.value)
			}
		}
		k, i = max(k, end), next
	}
}

// weigh is the transpose of automate with regard to the plan's values.
func weigh[F node.Float](a *automation, g []F, n0 int64) {
	for k := range g {
		if i := a.book.seek(&a.list, n0+int64(k)); i != 0 {
			scale, _ := a.book.of(i).weight(n0 + int64(k))
			g[k] *= F(scale)
		}
	}
}

// gather gives the node's next call the events of tokens [n0, n0+t).
func (s *Session[F]) gather(p *process[F], n0 int64, t int) {
	b, e := s.cues, p.call.Events
	e.Clear()
	i := b.after(&p.cues, b.seek(&p.cues, n0-1))
	for ; i != 0; i = b.of(i).next {
		c := b.of(i)
		if c.at >= n0+int64(t) {
			break
		}
		x := c.event
		x.Offset = int32(c.at - n0)
		e.Add(x)
	}
}

// listen prepares a node for events, if it takes them.
func (s *Session[F]) listen(p *process[F]) {
	l, ok := p.inst.(node.Listener)
	if p.listens = ok && l.Listen(); p.listens {
		p.call.Events = &node.Events{}
		p.call.Events.Reserve(1)
		s.needCues()
	}
}

func (s *Session[F]) needCues() *cueBook {
	if s.cues == nil {
		s.cues = &cueBook{}
	}
	return s.cues
}

// automated makes the parameters of a process that [Options.Automate] names ready for cues.
func (s *Session[F]) automated(p *process[F]) {
	for i := range p.params {
		if !p.params[i].Table && slices.Contains(s.opt.Automate, p.Name+"."+p.Spec.Params[i].Name) {
			p.params[i].auto = &automation{book: s.needCues()}
		}
	}
}

// checkAutomate returns an error for a name that is no parameter, or a table.
func (s *Session[F]) checkAutomate() error {
	for _, name := range s.opt.Automate {
		found := false
		for _, p := range s.procs {
			for i := range p.params {
				found = found || p.Name+"."+p.Spec.Params[i].Name == name && p.params[i].auto != nil
			}
		}
		if !found {
			return &graph.Error{Code: graph.InvalidArg, Path: s.link.Plan.Root + ".nodes", Names: []string{name},
				Text: "no parameter that can change at a frame (NODE.PARAM; tables, such as matrices and taps, cannot)"}
		}
	}
	return nil
}

// Listeners returns the names of the nodes that take events, in plan order.
func (s *Session[F]) Listeners() (names []string) {
	for _, p := range s.procs {
		if p.listens {
			names = append(names, p.Name)
		}
	}
	return names
}

// Post queues cues, each for its frame, in any order; those of one frame happen in the order given. It may be called
// by any goroutine, also while blocks run, by [Session.Step] too. A cue whose frame has been computed when it is taken
// happens at the first frame of the next block: [Session.Control] has the frame it got. If one of the cues is faulty
// none is queued.
//
// A session keeps all of its cues, up to 4 million, until [Session.Reset].
func (s *Session[F]) Post(cues ...Cue) error {
	var all []cueRecord
	for i := range cues {
		var err error
		if all, err = s.resolve(all, &cues[i]); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	b := s.cues
	b.posting.Lock()
	defer b.posting.Unlock()
	n := b.n.Load()
	if n+int64(len(all)) > cueChunk*cueChunks {
		return &RunError{Code: graph.NoMemory, Text: fmt.Sprintf("more than %d cues in one session", cueChunk*cueChunks)}
	}
	for _, c := range all {
		if b.dir[n/cueChunk] == nil {
			b.dir[n/cueChunk] = new([cueChunk]cueRecord)
		}
		b.dir[n/cueChunk][n%cueChunk] = c
		if p := s.procs[c.proc]; c.param < 0 {
			p.posted++
			p.call.Events.Reserve(p.posted)
		}
		n++
	}
	b.n.Store(n)
	return nil
}

// resolve checks a cue and appends a record for each node that it is for.
func (s *Session[F]) resolve(all []cueRecord, c *Cue) ([]cueRecord, error) {
	bad := func(code graph.Code, format string, args ...any) ([]cueRecord, error) {
		return nil, &graph.Error{Code: code, Path: s.link.Plan.Root, Names: []string{c.Node}, Text: fmt.Sprintf("cue at frame %d: ", c.Frame) + fmt.Sprintf(format, args...)}
	}
	r := cueRecord{frame: c.Frame, ramp: c.Ramp, param: -1, clear: c.Clear, value: c.Value, event: c.Event}
	r.event.Offset = 0
	switch {
	case c.Frame < 0 || c.Frame > math.MaxInt64/4 || c.Ramp < 0 || c.Ramp > math.MaxInt32:
		return bad(graph.InvalidArg, "want a frame and a ramp of 0 frames or more")
	case c.Param != "":
		p, err := s.find(c.Node, graph.Inner)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(p.Spec.Params, func(x graph.ParamSpec) bool { return x.Name == c.Param })
		if i < 0 {
			return bad(graph.InvalidArg, "no parameter %s", c.Param)
		}
		if p.params[i].auto == nil {
			return bad(graph.Unsupported, "%s.%s is not among the parameters that change at frames (Options.Automate)", c.Node, c.Param)
		}
		if v := float64(F(c.Value)); v-v != 0 {
			return bad(graph.InvalidArg, "%g is no value for %s", c.Value, c.Param)
		}
		r.proc, r.param = int32(p.Index), int32(i)
		return append(all, r), nil
	}
	if e := c.Event; e.Kind < node.NoteOn || e.Kind > node.PitchBend || e.Channel > 15 || e.Key > 127 || !(e.Value >= -1 && e.Value <= 1) || !(e.Tune > -128 && e.Tune < 128) {
		return bad(graph.InvalidArg, "no event: kind %v, channel %d, key %d, value %g, tune %g", e.Kind, e.Channel, e.Key, e.Value, e.Tune)
	}
	n := len(all)
	for _, p := range s.procs {
		if p.listens && (c.Node == "" || c.Node == p.Name) {
			r.proc = int32(p.Index)
			all = append(all, r)
		}
	}
	if len(all) == n {
		return bad(graph.Unsupported, "no node takes events")
	}
	return all, nil
}

// takeCues sorts new cues into the lists, before a block.
func (s *Session[F]) takeCues() {
	b := s.cues
	now := s.position()
	for n := b.n.Load(); b.taken < n; {
		b.taken++
		i := int32(b.taken)
		c := b.of(i)
		c.frame = max(c.frame, now)
		p := s.procs[c.proc]
		c.at, c.length = p.tokensBy(c.frame), p.tokensBy(c.frame+c.ramp)
		c.length -= c.at
		if c.param < 0 {
			b.insert(&p.cues, i)
			continue
		}
		a := p.params[c.param].auto
		b.insert(&a.list, i)
		a.link(i)
	}
}

// tokensBy returns the index of the first token that is not earlier than a base frame.
func (p *process[F]) tokensBy(frame int64) int64 {
	num, den := p.Rate.Num, p.Rate.Den
	return frame/den*num + (frame%den*num+den-1)/den
}

// cueLog returns the cues accepted so far.
func (s *Session[F]) cueLog() (all []ControlToken) {
	if s.cues == nil {
		return nil
	}
	for i := range s.cues.n.Load() {
		c := s.cueAt(int32(i + 1))
		all = append(all, ControlToken{Cue: &c})
	}
	return all
}

// cueAt returns a cue of the book.
func (s *Session[F]) cueAt(i int32) Cue {
	c := s.cues.of(i)
	q := Cue{Frame: c.frame, Node: s.procs[c.proc].Name, Value: c.value, Ramp: c.ramp, Clear: c.clear, Event: c.event}
	if c.param >= 0 {
		q.Param = s.procs[c.proc].Spec.Params[c.param].Name
	}
	if int64(i) > s.cues.taken { // it waits for the next block
		q.Frame = max(q.Frame, s.position())
	}
	return q
}

// dropCues forgets all cues.
func (s *Session[F]) dropCues() {
	if s.cues == nil {
		return
	}
	s.cues.posting.Lock()
	defer s.cues.posting.Unlock()
	s.cues.n.Store(0)
	s.cues.taken = 0
	for _, p := range s.procs {
		p.cues, p.posted = cueList{}, 0
		for i := range p.params {
			if a := p.params[i].auto; a != nil {
				a.list = cueList{}
			}
		}
	}
}
