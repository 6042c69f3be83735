//go:build (amd64 || arm64) && !static

package amp

import (
	"errors"
	"slices"
	"sync/atomic"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A remoteInstance is a node in the child. The types below add the optional
// interfaces.
type remoteInstance[F node.Float] struct {
	p      *Process
	id     uint32
	piece  piece
	rows   graph.Shape
	tokens int
	bytes  int // of a snapshot
	need   node.Needs
	per    float64 // ns of the stream per token
	passed float64 // ns of the stream
}

type remoteState[F node.Float] struct{ *remoteInstance[F] }

type remoteAdjoint[F node.Float] struct{ *remoteInstance[F] }

type remoteBoth[F node.Float] struct{ *remoteInstance[F] }

func newRemoteInstance[F node.Float](p *Process, cfg node.Config) (node.Instance[F], error) {
	n := cfg.Node
	_, wide := any(F(0)).(float64)
	a := &addition{Wide: wide, Node: *n.Node, Rate: n.Rate, InShape: n.InShape, OutShape: n.OutShape, Rows: n.Rows,
		SampleRate: cfg.SampleRate, MaxTokens: max(cfg.MaxTokens, 1), Training: cfg.Training, Params: len(n.Spec.Params)}
	if max(len(n.InShape), len(n.Spec.Params)+len(n.InShape)) > maxRemotePorts {
		return nil, errors.New("too many ports for an isolated node")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.added) == maxInstances {
		return nil, errors.New("too many nodes of one library")
	}
	a.At, a.Queue = p.used, max(min(queueBytes, (regionBytes-3*maxSnapshot-p.used)/queueShare), 0)
	place := lay(a, n.Spec)
	if place.end+3*maxSnapshot > regionBytes {
		return nil, &graph.Error{Code: graph.NoMemory, Path: n.Path, Names: []string{n.Name}, Text: "the memory shared with the library's process is exhausted"}
	}
	l := p.active.Load()
	r, err := l.ask(order{Add: a})
	if err != nil {
		return nil, err
	}
	if r.Instance != len(p.added) || r.State < 0 || r.State > maxSnapshot {
		return nil, errors.New("the library's process gave an invalid answer")
	}
	if p.spare != nil {
		if _, err := p.spare.ask(order{Add: a}); err != nil {
			p.spare.cmd.Process.Kill()
			p.spare = nil
		}
	}
	p.used = (place.slot(3, r.State) + pageBytes - 1) &^ (pageBytes - 1)
	p.added, p.states, p.pieces = append(p.added, a), append(p.states, r.State), append(p.pieces, place)
	i := &remoteInstance[F]{p: p, id: uint32(r.Instance), piece: place, rows: n.Rows, tokens: a.MaxTokens, bytes: r.State, need: r.Needs}
	if rate := cfg.SampleRate * float64(n.Rate.Num); rate > 0 {
		i.per = 1e9 * float64(n.Rate.Den) / rate
	}
	switch {
	case r.Stateful && n.Spec.Adjoint:
		return remoteBoth[F]{i}, nil
	case r.Stateful:
		return remoteState[F]{i}, nil
	case n.Spec.Adjoint:
		return remoteAdjoint[F]{i}, nil
	}
	return i, nil
}

// request makes a request of this instance alone, without a call in the queue. prepare, if not nil, writes what it needs;
// after it, the caller holds the latch if the code is Success.
func (n *remoteInstance[F]) request(op int32, prepare func(h *header)) graph.Code {
	raw := abi.OnSystemStack()
	l, code := n.p.enter(raw)
	if code == graph.Success {
		code = n.p.ready(l, raw)
	}
	if code == graph.Success {
		n.header().Op = op
		if prepare != nil {
			prepare(n.header())
		}
		code = n.ask(l, raw)
	}
	if code != graph.Success {
		n.p.latch.unlock()
	}
	return code
}

// simple makes a request without data.
func (n *remoteInstance[F]) simple(op int32) {
	if n.request(op, nil) == graph.Success {
		n.p.latch.unlock()
	}
}

func (n *remoteInstance[F]) header() *header { return at[header](&n.p.r, n.piece.head) }

// ask makes a request for this instance alone.
func (n *remoteInstance[F]) ask(l *lane, raw bool) graph.Code {
	values[uint32](&n.p.r, offList, 1)[0] = n.id
	if code := n.p.exchange(l, 1, raw); code != graph.Success {
		return code
	}
	return result(n.header().Code)
}

// result maps what a child answered to a code that it may return.
func result(code int32) graph.Code {
	if c := graph.Code(code); c <= graph.Success && c >= graph.End {
		return c
	}
	return graph.Fail
}

// Reset drops the state. It is queued as a call is, so that a late child, or the next one, drops it in its place of the
// stream.
func (n *remoteInstance[F]) Reset() {
	l, code := n.p.enter(abi.OnSystemStack())
	defer n.p.latch.unlock()
	if l == nil {
		return
	}
	if e := n.p.next(n.header(), &n.piece, code == graph.Success); e != nil {
		e.Op = opReset
		h := n.header()
		h.Restart = h.Head + 1
		atomic.AddUint64(&h.Head, 1)
	}
}

// Forward makes one call in the child. A call whose answer is late is not lost to the node: it stays in the queue.
func (n *remoteInstance[F]) Forward(c *node.Call[F]) graph.Code {
	raw := abi.OnSystemStack()
	l, code := n.p.enter(raw)
	if l != nil {
		taken := n.put(c, code == graph.Success)
		if code == graph.Success {
			code = n.p.ready(l, raw)
		}
		if code == graph.Success && !taken {
			if taken = n.put(c, true); !taken { // full of resets, which nothing waits for
				n.header().Op = opForward
				code = n.ask(l, raw)
				taken = n.put(c, true)
			}
		}
		if code == graph.Success && taken {
			n.header().Op = opForward
			if code = n.ask(l, raw); answered(code) {
				n.take(c)
			}
		} else if !taken {
			n.p.gaps.Add(1)
		}
	}
	n.p.latch.unlock()
	return code
}

// answered reports whether a forward call gave outputs.
func answered(code graph.Code) bool {
	return code == graph.Success || code == graph.Pending || code == graph.End
}

// put queues a forward call, and reports false if there is no room yet.
func (n *remoteInstance[F]) put(c *node.Call[F], running bool) bool {
	h := n.header()
	e := n.p.next(h, &n.piece, running)
	if e == nil {
		return false
	}
	n.passed += n.per * float64(c.Tokens)
	n.p.pass(int64(n.passed))
	*e = queued{Op: opForward, Tokens: int32(c.Tokens), Frame0: c.Frame0}
	if c.Final {
		e.Final = 1
	}
	at := n.piece.call(h.Head + 1)
	n.params(c, values[dims](&n.p.r, at+entryBytes, len(c.Param)), at)
	n.send(at, n.piece.in, c.In)
	e.Events = n.sendEvents(at, c.Events)
	atomic.AddUint64(&h.Head, 1)
	return true
}

// params writes the parameters of a call, to offsets from at.
func (n *remoteInstance[F]) params(c *node.Call[F], shapes []dims, at int) {
	for i := range c.Param {
		p := &c.Param[i]
		shapes[i] = dims{uint32(p.B), uint32(p.C), uint32(p.N), 0}
		if p.Framed {
			shapes[i].Flag = 1
		}
		size := p.B * p.C * p.N
		copy(values[F](&n.p.r, at+n.piece.param[i], size), p.Data[:size])
	}
}

// send writes tensors to offsets from at.
func (n *remoteInstance[F]) send(at int, to []int, list []node.Tensor[F]) {
	for i := range list {
		t := &list[i]
		if t.Data != nil {
			size := t.B * t.C * t.N
			copy(values[F](&n.p.r, at+to[i], size), t.Data[:size])
		}
	}
}

func (n *remoteInstance[F]) fetch(from []int, list []node.Tensor[F]) {
	for i := range list {
		t := &list[i]
		if t.Data != nil {
			size := t.B * t.C * t.N
			copy(t.Data[:size], values[F](&n.p.r, from[i], size))
		}
	}
}

// take reads the outputs of a forward call.
func (n *remoteInstance[F]) take(c *node.Call[F]) {
	h := n.header()
	n.fetch(n.piece.out, c.Out)
	c.Produced = min(max(int(h.Produced), 0), c.Tokens)
	c.Heat, c.Delay, c.Reserved = h.Heat, int(h.Delay), h.Reserved
}

// backward makes one call of the backward mode in the child.
func (n *remoteInstance[F]) backward(b *node.Back[F]) graph.Code {
	code := n.request(opBackward, func(h *header) {
		h.Tokens, h.Frame0, h.Final = int32(b.Tokens), b.Frame0, 0
		if b.Final {
			h.Final = 1
		}
		at := n.piece.call(0)
		n.params(&b.Call, h.Tensor[:], at)
		n.send(at, n.piece.in, b.In)
		n.send(0, n.piece.out, b.Out)
		n.send(0, n.piece.dOut, b.DOut)
		h.Events = n.sendEvents(at, b.Events)
		h.Bytes = uint32(min(len(b.State0), n.bytes))
		copy(n.slot(), b.State0)
		n.want(h, b.DParam)
		for i := range b.DIn {
			h.Tensor[maxRemotePorts+len(b.DParam)+i].Flag = 0
			if b.DIn[i].Data != nil {
				h.Tensor[maxRemotePorts+len(b.DParam)+i].Flag = 1
			}
		}
	})
	if code != graph.Success {
		return code
	}
	defer n.p.latch.unlock()
	n.fetch(n.piece.dIn, b.DIn)
	for i := range b.DParam {
		if t := &b.DParam[i].Framed; t.Data != nil {
			size := n.rows.B * n.rows.C * b.Tokens
			copy(t.Data[:size], values[F](&n.p.r, n.piece.dParm[i], size))
		}
	}
	n.sum(b.DParam)
	h := n.header()
	b.Heat, b.Delay = h.Heat, int(h.Delay)
	return code
}

// want marks the gradients that are requested.
func (n *remoteInstance[F]) want(h *header, list []node.Grad[F]) {
	for i := range list {
		flag := uint32(0)
		if list[i].Framed.Data != nil {
			flag |= wantFramed
		}
		if list[i].Sum != nil {
			flag |= wantSum
		}
		h.Tensor[maxRemotePorts+i].Flag = flag
	}
}

// sum adds the sums of the child.
func (n *remoteInstance[F]) sum(list []node.Grad[F]) {
	for i := range list {
		if list[i].Sum != nil {
			for j, v := range values[float64](&n.p.r, n.piece.sum[i], len(list[i].Sum)) {
				list[i].Sum[j] += v
			}
		}
	}
}

func (n *remoteInstance[F]) finish(list []node.Grad[F]) {
	if n.request(opFinishAdjoint, func(h *header) { n.want(h, list) }) == graph.Success {
		n.sum(list)
		n.p.latch.unlock()
	}
}

// slot returns the slot through which states are transferred.
func (n *remoteInstance[F]) slot() []byte {
	return values[byte](&n.p.r, n.piece.slot(2, n.bytes), n.bytes)
}

func (n *remoteInstance[F]) save(dst []byte) int {
	if n.request(opSave, nil) != graph.Success {
		return 0
	}
	defer n.p.latch.unlock()
	return copy(dst, n.slot()[:min(int(n.header().Bytes), n.bytes)])
}

func (n *remoteInstance[F]) load(src []byte) graph.Code {
	if len(src) > n.bytes {
		return graph.State
	}
	code := n.request(opLoad, func(h *header) { h.Bytes = uint32(copy(n.slot(), src)) })
	if code == graph.Success {
		n.p.latch.unlock()
	}
	return code
}

func (n remoteState[F]) StateBytes() int            { return n.bytes }
func (n remoteState[F]) Save(dst []byte) int        { return n.save(dst) }
func (n remoteState[F]) Load(src []byte) graph.Code { return n.load(src) }

func (n remoteBoth[F]) StateBytes() int                     { return n.bytes }
func (n remoteBoth[F]) Save(dst []byte) int                 { return n.save(dst) }
func (n remoteBoth[F]) Load(src []byte) graph.Code          { return n.load(src) }
func (n remoteBoth[F]) Needs() node.Needs                   { return n.need }
func (n remoteBoth[F]) Backward(b *node.Back[F]) graph.Code { return n.backward(b) }
func (n remoteBoth[F]) ResetAdjoint()                       { n.simple(opResetAdjoint) }
func (n remoteBoth[F]) FinishAdjoint(p []node.Grad[F])      { n.finish(p) }

func (n remoteAdjoint[F]) Needs() node.Needs                   { return n.need }
func (n remoteAdjoint[F]) Backward(b *node.Back[F]) graph.Code { return n.backward(b) }
func (n remoteAdjoint[F]) ResetAdjoint()                       { n.simple(opResetAdjoint) }
func (n remoteAdjoint[F]) FinishAdjoint(p []node.Grad[F])      { n.finish(p) }

// A Batch is the forward calls of several nodes of one library, made by one
// request. The nodes must not depend on each other within a block. [NewBatch]
// makes one.
type Batch[F node.Float] struct {
	p     *Process
	nodes []*remoteInstance[F]
	calls []*node.Call[F]
}

// NewBatch makes a batch of calls, one per instance. It returns false unless
// all are nodes of one isolated library, without repetition.
func NewBatch[F node.Float](instances []node.Instance[F], calls []*node.Call[F]) (*Batch[F], bool) {
	b := &Batch[F]{calls: calls}
	for _, i := range instances {
		n, ok := unwrap(i)
		if !ok || b.p != nil && b.p != n.p || slices.Contains(b.nodes, n) {
			return nil, false
		}
		b.p = n.p
		b.nodes = append(b.nodes, n)
	}
	return b, len(b.nodes) > 0 && len(b.nodes) <= maxBatch && len(b.nodes) == len(calls)
}

func unwrap[F node.Float](i node.Instance[F]) (*remoteInstance[F], bool) {
	switch n := i.(type) {
	case *remoteInstance[F]:
		return n, true
	case remoteState[F]:
		return n.remoteInstance, true
	case remoteAdjoint[F]:
		return n.remoteInstance, true
	case remoteBoth[F]:
		return n.remoteInstance, true
	}
	return nil, false
}

// Join implements [node.Joiner]: one request for nodes of one library.
func (n *remoteInstance[F]) Join(others []node.Instance[F], calls []*node.Call[F]) (func([]bool, []graph.Code), bool) {
	b, ok := NewBatch(append([]node.Instance[F]{n}, others...), calls)
	if !ok {
		return nil, false
	}
	return b.Some, true
}

// Forward makes the calls and stores their results in codes, one for each.
func (b *Batch[F]) Forward(codes []graph.Code) { b.Some(nil, codes) }

// Some is Forward of those calls whose flag is set; nil stands for all.
func (b *Batch[F]) Some(which []bool, codes []graph.Code) {
	raw := abi.OnSystemStack()
	l, code := b.p.enter(raw)
	defer b.p.latch.unlock()
	for i, n := range b.nodes {
		if codes[i] = code; l != nil && (which == nil || which[i]) && !n.put(b.calls[i], code == graph.Success) {
			codes[i] = graph.Timeout
			b.p.gaps.Add(1)
		}
	}
	if code == graph.Success {
		code = b.p.ready(l, raw)
	}
	if code == graph.Success {
		list := values[uint32](&b.p.r, offList, maxBatch)
		count := 0
		for i, n := range b.nodes {
			if which == nil || which[i] {
				n.header().Op = opForward
				list[count] = n.id
				count++
			}
		}
		code = b.p.exchange(l, count, raw)
	}
	for i, n := range b.nodes {
		if which != nil && !which[i] || codes[i] != graph.Success {
			continue
		}
		if codes[i] = code; code == graph.Success {
			if codes[i] = result(n.header().Code); answered(codes[i]) {
				n.take(b.calls[i])
			}
		}
	}
}
