//go:build (amd64 || arm64) && !static

package amp

import (
	"errors"
	"slices"

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
	a.At = p.used
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

// simple makes a request of one call without data.
func (n *remoteInstance[F]) simple(op int32) graph.Code {
	raw := abi.OnSystemStack()
	l, code := n.p.acquire(raw)
	if code != graph.Success {
		return code
	}
	n.header(l).Op = op
	code = n.ask(l, raw)
	n.p.latch.unlock()
	return code
}

func (n *remoteInstance[F]) header(l *lane) *header { return at[header](&l.r, n.piece.head) }

// ask makes a request for this instance alone.
func (n *remoteInstance[F]) ask(l *lane, raw bool) graph.Code {
	values[uint32](&l.r, offList, 1)[0] = n.id
	if code := n.p.exchange(l, 1, raw); code != graph.Success {
		return code
	}
	return result(n.header(l).Code)
}

// result maps what a child answered to a code that it may return.
func result(code int32) graph.Code {
	if c := graph.Code(code); c <= graph.Success && c >= graph.End {
		return c
	}
	return graph.Fail
}

// Reset drops the state. If the child is gone, so is the state.
func (n *remoteInstance[F]) Reset() { n.simple(opReset) }

// Forward makes one call in the child.
func (n *remoteInstance[F]) Forward(c *node.Call[F]) graph.Code {
	raw := abi.OnSystemStack()
	l, code := n.p.acquire(raw)
	if code != graph.Success {
		return code
	}
	n.put(l, c)
	if code = n.ask(l, raw); code == graph.Success || code == graph.Pending || code == graph.End {
		n.take(l, c)
	}
	n.p.latch.unlock()
	return code
}

// put writes the inputs of a forward call into the region.
func (n *remoteInstance[F]) put(l *lane, c *node.Call[F]) {
	n.call(l, c, opForward)
	n.send(l, n.piece.in, c.In)
}

// call writes what forward and backward calls have in common.
func (n *remoteInstance[F]) call(l *lane, c *node.Call[F], op int32) {
	h := n.header(l)
	h.Op, h.Tokens, h.Frame0, h.Final, h.Code = op, int32(c.Tokens), c.Frame0, 0, int32(graph.Fail)
	if c.Final {
		h.Final = 1
	}
	n.sendEvents(l, c.Events)
	for i := range c.Param {
		p := &c.Param[i]
		d := &h.Tensor[i]
		*d = dims{uint32(p.B), uint32(p.C), uint32(p.N), 0}
		if p.Framed {
			d.Flag = 1
		}
		size := p.B * p.C * p.N
		copy(values[F](&l.r, n.piece.param[i], size), p.Data[:size])
	}
}

func (n *remoteInstance[F]) send(l *lane, to []int, list []node.Tensor[F]) {
	for i := range list {
		t := &list[i]
		if t.Data != nil {
			size := t.B * t.C * t.N
			copy(values[F](&l.r, to[i], size), t.Data[:size])
		}
	}
}

func (n *remoteInstance[F]) fetch(l *lane, from []int, list []node.Tensor[F]) {
	for i := range list {
		t := &list[i]
		if t.Data != nil {
			size := t.B * t.C * t.N
			copy(t.Data[:size], values[F](&l.r, from[i], size))
		}
	}
}

// take reads the outputs of a forward call.
func (n *remoteInstance[F]) take(l *lane, c *node.Call[F]) {
	h := n.header(l)
	n.fetch(l, n.piece.out, c.Out)
	c.Produced = min(max(int(h.Produced), 0), c.Tokens)
	c.Heat, c.Delay, c.Reserved = h.Heat, int(h.Delay), h.Reserved
}

// backward makes one call of the backward mode in the child.
func (n *remoteInstance[F]) backward(b *node.Back[F]) graph.Code {
	raw := abi.OnSystemStack()
	l, code := n.p.acquire(raw)
	if code != graph.Success {
		return code
	}
	defer n.p.latch.unlock()
	n.call(l, &b.Call, opBackward)
	n.send(l, n.piece.in, b.In)
	n.send(l, n.piece.out, b.Out)
	n.send(l, n.piece.dOut, b.DOut)
	h := n.header(l)
	h.Bytes = uint32(min(len(b.State0), n.bytes))
	copy(n.slot(l), b.State0)
	n.want(h, b.DParam)
	for i := range b.DIn {
		h.Tensor[maxRemotePorts+len(b.DParam)+i].Flag = 0
		if b.DIn[i].Data != nil {
			h.Tensor[maxRemotePorts+len(b.DParam)+i].Flag = 1
		}
	}
	if code = n.ask(l, raw); code != graph.Success {
		return code
	}
	n.fetch(l, n.piece.dIn, b.DIn)
	for i := range b.DParam {
		if t := &b.DParam[i].Framed; t.Data != nil {
			size := n.rows.B * n.rows.C * b.Tokens
			copy(t.Data[:size], values[F](&l.r, n.piece.dParm[i], size))
		}
	}
	n.sum(l, b.DParam)
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
func (n *remoteInstance[F]) sum(l *lane, list []node.Grad[F]) {
	for i := range list {
		if list[i].Sum != nil {
			for j, v := range values[float64](&l.r, n.piece.sum[i], len(list[i].Sum)) {
				list[i].Sum[j] += v
			}
		}
	}
}

func (n *remoteInstance[F]) finish(list []node.Grad[F]) {
	raw := abi.OnSystemStack()
	l, code := n.p.acquire(raw)
	if code != graph.Success {
		return
	}
	defer n.p.latch.unlock()
	h := n.header(l)
	h.Op = opFinishAdjoint
	n.want(h, list)
	if n.ask(l, raw) == graph.Success {
		n.sum(l, list)
	}
}

// slot returns the slot through which states are transferred.
func (n *remoteInstance[F]) slot(l *lane) []byte {
	return values[byte](&l.r, n.piece.slot(2, n.bytes), n.bytes)
}

func (n *remoteInstance[F]) save(dst []byte) int {
	raw := abi.OnSystemStack()
	l, code := n.p.acquire(raw)
	if code != graph.Success {
		return 0
	}
	defer n.p.latch.unlock()
	n.header(l).Op = opSave
	if n.ask(l, raw) != graph.Success {
		return 0
	}
	return copy(dst, n.slot(l)[:min(int(n.header(l).Bytes), n.bytes)])
}

func (n *remoteInstance[F]) load(src []byte) graph.Code {
	if len(src) > n.bytes {
		return graph.State
	}
	raw := abi.OnSystemStack()
	l, code := n.p.acquire(raw)
	if code != graph.Success {
		return code
	}
	defer n.p.latch.unlock()
	h := n.header(l)
	h.Op, h.Bytes = opLoad, uint32(copy(n.slot(l), src))
	return n.ask(l, raw)
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

// Forward makes the calls and stores their results in codes, one for each.
func (b *Batch[F]) Forward(codes []graph.Code) {
	raw := abi.OnSystemStack()
	l, code := b.p.acquire(raw)
	if code == graph.Success {
		list := values[uint32](&l.r, offList, len(b.nodes))
		for i, n := range b.nodes {
			list[i] = n.id
			n.put(l, b.calls[i])
		}
		code = b.p.exchange(l, len(b.nodes), raw)
		for i, n := range b.nodes {
			if codes[i] = code; code != graph.Success {
				continue
			}
			if codes[i] = result(n.header(l).Code); codes[i] == graph.Success || codes[i] == graph.Pending || codes[i] == graph.End {
				n.take(l, b.calls[i])
			}
		}
		b.p.latch.unlock()
		return
	}
	for i := range b.nodes {
		codes[i] = code
	}
}
