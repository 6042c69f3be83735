package flow

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/pool"
)

// Options configure a session. The zero value is ready to use.
//
// Training, Log, Timing, Limit, ScanAll, DisableFusion and DisableStatic cost time in every block; none changes
// results, except that Limit silences calls that exceed it.
type Options struct {
	BlockFrames int        // base frames per block; zero means 64, or the next size that suits the plan's rates
	SampleRate  float64    // base rate in Hz; zero means 48000
	Threads     int        // upper bound; zero means 1
	Strict      bool       // a delay below the source's declared one is an error
	Training    bool       // backward calls will be requested
	Catalog     node.Table // nil: the shipped types
	// Automate names parameters, NODE.PARAM, that cues may change at any frame. Each costs a value per frame.
	Automate []string
	// Schedule, if not zero, seeds a random order of visits, another one in every block. It exists for tests, which
	// check that results do not depend on it.
	Schedule uint64
	// DisableFusion calls every node separately.
	DisableFusion bool
	// DisableStatic keeps the session on the dynamic path: every node is polled in every block.
	DisableStatic bool
	// Memory is the region from which frames are allocated: it never moves, as nodes in C and real time require. The
	// caller closes it, after the session. Nil: Go's heap.
	Memory *Arena
	// Policy says what happens when a node returns an error.
	Policy Policy
	// Scan says where NaN and infinities are searched for.
	Scan Scan
	// Log keeps every firing, for [Session.Log].
	Log bool

	// Timing measures each node's calls; fused nodes share the time of their call evenly.
	Timing bool
	// Limit, if not zero, is the deadline of one call and implies Timing. A call that takes longer is an event and its
	// outputs are zeroed; after three in a row the node is suspended, silent and not called, for a second of the stream,
	// each further time for twice as long, up to 64 s, or until [Session.Resume]. Calls recorded for a backward sweep have no limit.
	Limit time.Duration

	clock func() int64 // nil: the runtime's
	eager bool         // use threads for any amount of work
}

func (o *Options) defaults() {
	o.BlockFrames = max(o.BlockFrames, 0)
	if o.SampleRate <= 0 {
		o.SampleRate = 48000
	}
	o.Threads = max(o.Threads, 1)
	if o.Catalog == nil {
		o.Catalog = ShippedTypes()
	}
}

// A Session is a running graph: the state of its nodes, the frames between them, and every cursor. Its methods must be
// called by one goroutine at a time, [Session.Resume] excepted.
//
// [New] makes one from a plan. Call [Session.Close] when done: it ends the threads and frees native state.
type Session[F node.Float] struct {
	link     *graph.Linked
	opt      Options
	procs    []*process[F] // by index
	order    []*process[F] // in visiting order
	readers  []*reader[F]  // by edge
	gates    []*gate
	meter    *meter
	watch    *watch // nil: time is not measured
	thermal  thermal
	faults   faults
	arenaErr error // of memory
	static   static[F]
	dice     *rand.Rand
	rec      recorder[F]

	block    int64     // blocks run
	phase    int64     // base frames before the first block, of an heir that began within one
	origin   int64     // base frames of the stream before the first of this session, after a change
	heir     *heir[F]  // the session that a change goes over to
	until    graph.Rat // base frames of the host's stream, when it has ended
	live     bool      // the block is run by Step
	enlarged bool      // a channel got more room, see enlarge
	blocked  bool      // some process waits for room that the plan limits
	seen     []bool
	stack    []int                  // processes whose reasons to wait are followed
	turned   func(node, blocks int) // rested
	draining bool
	dry      bool // counts move, data does not
	stopped  graph.Code

	applied []ControlToken // control tokens accepted so far
	queued  []ControlToken // queued until their blocks begin
	staged  []*paramValue[F]
	cues    *cueBook // nil: no node takes events, no parameter is automated
	log     Log

	probes []*process[F]
	groups []Group
	pool   *pool.Pool // nil: one thread
}

// New links a plan and allocates everything that running it needs.
func New[F node.Float](p *graph.Plan, o Options) (*Session[F], error) {
	o.defaults()
	l, err := graph.Link(p, o.Catalog, graph.Options{BlockFrames: o.BlockFrames, Strict: o.Strict})
	if err != nil {
		return nil, err
	}
	return NewLinked[F](l, o)
}

// NewLinked is [New] for a graph that is already linked, with o.Catalog.
func NewLinked[F node.Float](l *graph.Linked, o Options) (*Session[F], error) {
	o.defaults()
	o.BlockFrames = l.BlockFrames
	s := &Session[F]{link: l, opt: o}
	s.turned = s.rested
	if err := s.build(); err != nil {
		return nil, err
	}
	if err := s.rehearse(); err != nil {
		return nil, err
	}
	return s, nil
}

// Linked returns the linked graph.
func (s *Session[F]) Linked() *graph.Linked { return s.link }

// Blocks returns the number of blocks run so far.
func (s *Session[F]) Blocks() int64 { return s.block }

// find returns the process of a node of that name and kind; Inner stands for any kind.
func (s *Session[F]) find(name string, kind graph.Endpoint) (*process[F], error) {
	for _, p := range s.procs {
		if p.Name == name && (kind == graph.Inner || p.Spec.Endpoint == kind) {
			return p, nil
		}
	}
	return nil, &graph.Error{Code: graph.UnknownNode, Path: s.link.Plan.Root, Names: []string{name}, Text: fmt.Sprintf("no node of type %v", kind)}
}

// Input returns the buffer of an Input node, or of another source that the host feeds: [B, C, frames of a block]. Fill
// it before each [Session.Block]; its contents are the node's output for that block.
func (s *Session[F]) Input(name string) (node.Tensor[F], error) {
	p, err := s.find(name, graph.Fed)
	if err != nil {
		return node.Tensor[F]{}, err
	}
	t := p.call.Out[0]
	t.N = p.Tokens // the last block of a stream may have been shorter
	return t, nil
}

// Probe returns a view of what a Probe node, or another sink that the host reads, took in the last block: [B, C, n], n
// = 0 when nothing arrived. It is valid until the next block and must not be written to, since a record may keep the
// same memory.
func (s *Session[F]) Probe(name string) (node.Tensor[F], error) {
	p, err := s.find(name, graph.Taken)
	if err != nil {
		return node.Tensor[F]{}, err
	}
	return s.shown(p), nil
}

// shown is what the host sees of a probe: that of an heir too.
func (s *Session[F]) shown(p *process[F]) node.Tensor[F] {
	switch h := s.heir; {
	case h == nil || !h.began:
		return s.taken(p)
	case h.drained:
		t, _ := h.next.Probe(p.Name)
		return t
	default:
		return h.mixed[slices.Index(s.probes, p)]
	}
}

// taken is what a probe took in the last block.
func (s *Session[F]) taken(p *process[F]) node.Tensor[F] {
	t := p.in[0].in
	if s.static.on && p.in[0].direct {
		t = p.in[0].from.block
		t.Data = p.in[0].from.data()
	}
	t.N = p.Tokens - p.left
	return t
}

// Block runs one block and consumes a block of every input. It allocates nothing once the graph has warmed up.
func (s *Session[F]) Block() error {
	if s.draining {
		return &RunError{Code: graph.State, Block: s.block, Text: "block after the end of the stream"}
	}
	if s.heir != nil {
		return s.changing()
	}
	return s.blockOrDrain()
}

func (s *Session[F]) blockOrDrain() error {
	if s.stopped != graph.Success {
		return &RunError{Code: s.stopped, Block: s.block, Text: "stopped by an earlier error"}
	}
	if len(s.staged)+len(s.queued) > 0 {
		if err := s.applyControl(); err != nil {
			return err
		}
	}
	if !s.static.on || len(s.static.polled) > 0 {
		if err := s.reserve(); err != nil {
			return err
		}
	}
	if code := s.stepFlushed(); code != graph.Success {
		s.stopped = code
		return s.explain(code)
	}
	return nil
}

// stepFlushed runs one block on a thread that flushes denormals to zero, as the threads of a real-time executor do.
func (s *Session[F]) stepFlushed() graph.Code {
	runtime.LockOSThread()
	before := cpu.FlushDenormals()
	s.live = false
	code := s.step()
	cpu.SetFloatEnv(before)
	runtime.UnlockOSThread()
	return code
}

// Step returns the function behind [Session.Block], for an executor that may not allocate, lock or panic. Channels do not
// grow there: what waits behind a gate for longer than there is room, see [Session.Reserve], is lost, with an event.
func (s *Session[F]) Step() func() graph.Code {
	err := s.Reserve(max(1, readyFrames/s.link.BlockFrames-1))
	return func() graph.Code {
		if s.live = true; err != nil {
			return graph.NoMemory // of the arena
		}
		return s.step()
	}
}

// step runs one block.
func (s *Session[F]) step() graph.Code {
	if s.rec != nil {
		s.rec.Begin()
	}
	if s.cues != nil && s.cues.n.Load() > s.cues.taken {
		s.takeCues()
	}
	if s.static.on {
		return s.steady()
	}
	s.updateGates()
	code := s.end(s.rounds(s.order))
	s.enter()
	return code
}

// rounds visits the processes until none of them can fire.
func (s *Session[F]) rounds(order []*process[F]) graph.Code {
	for _, p := range order {
		p.left = p.Tokens
	}
	for moved := true; moved; {
		moved = false
		if s.dice != nil {
			s.dice.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		for _, p := range order {
			for t := s.want(p); t > 0; t = s.want(p) {
				if p.team != nil && !s.dry && s.rec == nil {
					if code := s.fireTeam(p.team); code != graph.Success {
						return code
					}
					moved = true
					continue
				}
				if s.dry {
					s.static.note(p, t)
				}
				if s.opt.Log && !s.dry {
					s.log = append(s.log, Firing{Block: s.block, Node: p.Name, Tokens: t})
				}
				if code := s.fire(p, t); code != graph.Success {
					return code
				}
				moved = true
			}
		}
		moved = moved || s.enlarge()
		if s.draining && !moved {
			var code graph.Code
			if moved, code = s.drainNodes(); code != graph.Success {
				return code
			}
		}
	}
	s.keep(order)
	for _, p := range order {
		if n := p.Tokens - p.left; p.probe() && n > 0 && n < p.Tokens {
			t := &p.in[0].in
			for r := range t.B * t.C {
				copy(t.Data[r*n:(r+1)*n], t.Data[r*p.Tokens:])
			}
		}
	}
	return graph.Success
}

// Drain runs one block after the end of the stream: delays empty, gates count as open, and nodes take partial blocks.
// It reports whether anything moved. Call it until it returns false; later calls do nothing.
func (s *Session[F]) Drain() (bool, error) {
	if !s.draining {
		if err := s.Finish(graph.Rat{Den: 1}); err != nil {
			return false, err
		}
	}
	if s.heir != nil && s.heir.began {
		return s.drainChange()
	}
	before := int64(0)
	for _, p := range s.procs {
		before -= p.n0 + p.drained
	}
	if err := s.blockOrDrain(); err != nil {
		return false, err
	}
	for _, p := range s.procs {
		before += p.n0 + p.drained
	}
	return before > 0, nil
}

// Run is [Session.RunTo] for a whole number of blocks.
func (s *Session[F]) Run(inputs map[string]node.Tensor[F], blocks int) (map[string]node.Tensor[F], error) {
	return s.RunTo(inputs, graph.Rat{Num: int64(blocks) * int64(s.link.BlockFrames), Den: 1})
}

// RunTo feeds whole streams, [B, C, frames] by the name of their Input, for that many base frames and then drains. A
// stream that is shorter continues with zeros. It returns what each Probe took, [B, C, frames] by name: the same for every
// block size. A cycle whose delays are too short for its nodes to run gives nothing; [Session.Events] names it. Use RunTo
// offline; a host with live input fills [Session.Input] and calls [Session.Block].
func (s *Session[F]) RunTo(inputs map[string]node.Tensor[F], end graph.Rat) (map[string]node.Tensor[F], error) {
	feeds, err := s.feeds(inputs)
	if err != nil {
		return nil, err
	}
	if end.Den < 1 || end.Num < 0 {
		return nil, s.badEnd(end)
	}
	block := end.Den * int64(s.link.BlockFrames)
	blocks := int(end.Num / block)
	kept := make([]*blockTake[F], len(s.probes))
	for i, p := range s.probes {
		kept[i] = newBlockTake[F](p.in[0].in.B, p.in[0].in.C, max(blocks, 1)*p.Tokens)
	}
	for moved, k := true, 0; moved; k++ {
		for _, f := range feeds {
			if f.owed == 0 {
				f.next()
				if k > blocks {
					f.owed = s.share(f.process)
				}
			}
		}
		if k < blocks {
			err = s.Block()
		} else {
			if k == blocks {
				err = s.Finish(graph.Rat{Num: end.Num % block, Den: end.Den})
			}
			if err == nil {
				moved, err = s.Drain()
			}
		}
		if err != nil {
			return nil, err
		}
		for i, t := range kept {
			t.Add(s.shown(s.probes[i]))
		}
	}
	out := make(map[string]node.Tensor[F], len(kept))
	for i, t := range kept {
		out[s.probes[i].Name] = t.Join()
	}
	return out, nil
}
