//go:build (amd64 || arm64) && !static

package amp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/watch"
)

// File descriptors that a child inherits. What a library prints to the standard
// ones is kept by the host.
const (
	fdRegion = 3 + iota
	fdOrders
	fdReplies
)

// A server is the child's side.
type server struct {
	lib   Host
	r     region
	nodes [maxInstances]atomic.Pointer[served] // indexed by instance
	count int
}

// A served instance runs the operation prepared in its piece. After the host
// has been answered and may prepare the next one, it takes a snapshot.
type served struct {
	do      func()
	keep    func()
	restore func(slot, bytes int) graph.Code
	inst    any
}

// Serve is the child's main function: it loads one library, makes instances and
// answers requests until the host is gone. Libraries of other formats need
// theirs among the arguments. It returns an error if the program was started by
// hand.
func Serve(formats ...Format) error {
	orders, replies := os.NewFile(fdOrders, "orders"), os.NewFile(fdReplies, "replies")
	if orders == nil || replies == nil {
		return errors.New("a node host is started by the program that uses it, not by hand")
	}
	watch.DefaultFaults()
	in, out := bufio.NewReader(orders), json.NewEncoder(replies)
	var h hello
	if err := receive(in, &h); err != nil {
		return fmt.Errorf("a node host is started by the program that uses it, not by hand: %w", err)
	}
	s := &server{}
	err := s.open(&h, formats)
	if err != nil {
		return errors.Join(err, out.Encode(reply{Error: err.Error()}))
	}
	if err := out.Encode(reply{}); err != nil {
		return err
	}
	for {
		var o order
		if err := receive(in, &o); err != nil {
			os.Exit(0) // the host is gone or finished; a node may still be running
		}
		answer, err := s.obey(&o)
		if err != nil {
			answer.Error = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			os.Exit(0)
		}
	}
}

// receive reads a line.
func receive(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return err
		}
		if line = append(line, part...); len(line) > lineLimit {
			return errors.New("a control message is too long")
		}
		if !more {
			return json.Unmarshal(line, v)
		}
	}
}

func (s *server) open(h *hello, formats []Format) (err error) {
	if s.r, err = mapRegion(os.NewFile(fdRegion, "region")); err != nil {
		return err
	}
	o := Options{NoMetrics: h.NoMetrics}
	if h.Log == offLogs || h.Log == offLogs+logBytes {
		o.log = values[byte](&s.r, h.Log, abi.LogBytes)
	}
	if h.Format != "" {
		s.lib, err = openFormat(formats, h.Format, h.Library, o.log)
		return err
	}
	if h.Manifest != nil {
		if o.Manifest, err = ParseManifest(h.Manifest); err != nil {
			return err
		}
	}
	l, err := Open(h.Library, o)
	s.lib = l
	return err
}

func (s *server) obey(o *order) (reply, error) {
	switch {
	case o.Events:
		return reply{Events: s.lib.Events()}, nil
	case o.Serve:
		go s.answer(s.r.load(offRequest))
	case o.Add != nil && o.Add.Wide:
		return add[float64](s, o.Add)
	case o.Add != nil:
		return add[float32](s, o.Add)
	case o.State != nil:
		return s.state(*o.State)
	case o.Restore != nil:
		n := s.nodes[min(max(o.Restore.Instance, 0), maxInstances-1)].Load()
		if n == nil {
			return reply{}, errors.New("no such instance")
		}
		if code := n.restore(o.Restore.Slot&1, o.Restore.Bytes); code != graph.Success {
			return reply{}, fmt.Errorf("the snapshot is refused: %v", code)
		}
	}
	return reply{}, nil
}

// add makes an instance whose tensors are in the region.
func add[F node.Float](s *server, a *addition) (reply, error) {
	if s.count == maxInstances {
		return reply{}, errors.New("too many instances")
	}
	types := s.lib.Types()
	spec, err := types.Describe(&a.Node)
	if err != nil {
		return reply{}, err
	}
	if len(spec.Params) != a.Params || len(spec.Ins) != len(a.InShape) {
		return reply{}, &FormatError{a.Node.Type, "the library describes another number of parameters or inputs than when it was scanned"}
	}
	inst, err := node.New[F](types, node.Config{SampleRate: a.SampleRate, MaxTokens: a.MaxTokens, Node: a.linked(spec), Training: a.Training})
	if err != nil {
		return reply{}, err
	}
	w := &worker[F]{s: s, a: a, spec: spec, p: lay(a, spec), inst: inst, h: at[header](&s.r, a.At)}
	w.state, _ = inst.(node.Stateful[F])
	w.adjoint, _ = inst.(node.Adjoint[F])
	answer := reply{Instance: s.count}
	if w.adjoint != nil {
		answer.Needs = w.adjoint.Needs()
	}
	if w.state != nil {
		w.bytes = w.state.StateBytes()
		if answer.State, answer.Stateful = w.bytes, true; w.bytes > maxSnapshot {
			return reply{}, fmt.Errorf("a snapshot of %d bytes is too long", w.bytes)
		}
	}
	w.views(spec)
	s.nodes[s.count].Store(&served{w.do, w.keep, w.restore, inst})
	s.count++
	return answer, nil
}

// answer serves the requests after the given one, on a dedicated thread.
func (s *server) answer(last uint32) {
	runtime.LockOSThread()
	list, caller := make([]uint32, maxBatch), uint32(0)
	for {
		if t := s.r.load(offCaller); t != caller {
			caller = t
			s.follow(int(t))
		}
		number := s.r.load(offRequest)
		if number == last {
			if changed(s.r.word(offRequest), last) {
				continue
			}
			sleep(s.r.word(offRequest), last, 1e12, false)
			continue
		}
		last = number
		if env := *at[cpu.FloatEnv](&s.r, offEnv); !cpu.SameFloatEnv(env, cpu.GetFloatEnv()) {
			cpu.SetFloatEnv(env)
		}
		n := copy(list, values[uint32](&s.r, offList, maxBatch)[:min(s.r.load(offCount), maxBatch)])
		for _, i := range list[:n] {
			if n := s.nodes[i%maxInstances].Load(); n != nil {
				n.do()
			}
		}
		s.r.store(offResponse, number)
		wake(s.r.word(offResponse))
		for _, i := range list[:n] {
			if n := s.nodes[i%maxInstances].Load(); n != nil {
				n.keep()
			}
		}
	}
}

// A worker runs one instance on its piece.
type worker[F node.Float] struct {
	s       *server
	a       *addition
	spec    *graph.Spec
	p       piece
	h       *header
	inst    node.Instance[F]
	state   node.Stateful[F]
	adjoint node.Adjoint[F]
	bytes   int
	moved   bool // since the last snapshot
	back    node.Back[F]
	framed  [][]F
	sums    [][]float64
	dIn     [][]F
}

// views makes the tensors, whose memory never moves.
func (w *worker[F]) views(spec *graph.Spec) {
	tensors := func(offsets []int, shapes []graph.Shape) (list []node.Tensor[F]) {
		for i, o := range offsets {
			s := shapes[i]
			list = append(list, node.Tensor[F]{Data: values[F](&w.s.r, o, s.B*s.C*w.a.MaxTokens), B: s.B, C: s.C})
		}
		return list
	}
	b := &w.back
	inside := make([]int, len(w.p.in)) // moved to an entry by each call
	for i, o := range w.p.in {
		inside[i] = w.p.call(0) + o
	}
	b.In, b.Out = tensors(inside, w.a.InShape), tensors(w.p.out, w.a.OutShape)
	b.DIn, b.DOut = tensors(w.p.dIn, w.a.InShape), tensors(w.p.dOut, w.a.OutShape)
	rows := w.a.Rows.B * w.a.Rows.C
	for i, s := range spec.Params {
		n := max(rows*w.a.MaxTokens, len(s.Value.Data))
		b.Param = append(b.Param, node.Param[F]{Tensor: node.Tensor[F]{Data: values[F](&w.s.r, w.p.call(0)+w.p.param[i], n)}})
		w.framed = append(w.framed, values[F](&w.s.r, w.p.dParm[i], n))
		w.sums = append(w.sums, values[float64](&w.s.r, w.p.sum[i], w.p.sumLen[i]))
	}
	for _, t := range b.DIn {
		w.dIn = append(w.dIn, t.Data)
	}
	b.DParam = make([]node.Grad[F], len(b.Param))
}

// do makes the calls that wait, and then the operation.
func (w *worker[F]) do() {
	w.catchUp()
	h, b := w.h, &w.back
	code := graph.Success
	switch h.Op {
	case opForward:
		return
	case opBackward:
		code = w.backward()
	case opResetAdjoint:
		w.adjoint.ResetAdjoint()
	case opFinishAdjoint:
		w.wants()
		w.adjoint.FinishAdjoint(b.DParam)
	case opSave:
		h.Bytes = uint32(w.state.Save(w.slot(2)))
	case opLoad:
		code = w.state.Load(w.slot(2)[:min(int(h.Bytes), w.bytes)])
		w.moved = code == graph.Success
	}
	h.Code = int32(code)
}

// catchUp makes the calls in the queue. The results of all but the last are for nobody: the host has muted those blocks.
func (w *worker[F]) catchUp() {
	h := w.h
	head := atomic.LoadUint64(&h.Head)
	for number := h.Done + 1; number <= head; number++ {
		reset := at[queued](&w.s.r, w.p.call(number)).Op == opReset
		if reset || w.spec.Caps&abi.CapStateless == 0 || number == head {
			atomic.StoreUint64(&h.Doing, number)
			h.Code = int32(w.forward(number))
		}
		atomic.StoreUint64(&h.Done, number)
	}
	atomic.StoreUint64(&h.Doing, h.Done)
}

// keep takes a snapshot if the state changed, while the host is not waiting.
// The count is written last, so that a child that dies in between leaves the
// older snapshot valid.
func (w *worker[F]) keep() {
	if w.state == nil || !w.moved {
		return
	}
	w.moved = false
	next := w.h.Saved + 1
	w.h.SavedBytes[next&1] = uint32(w.state.Save(w.slot(int(next & 1))))
	w.h.SavedCall[next&1] = w.h.Done
	atomic.StoreUint32(&w.h.Saved, next)
}

// restore loads one of the two snapshots, which an earlier child took.
func (w *worker[F]) restore(slot, bytes int) graph.Code {
	if w.state == nil {
		return graph.Unsupported
	}
	return w.state.Load(w.slot(slot)[:min(max(bytes, 0), w.bytes)])
}

func (w *worker[F]) slot(i int) []byte {
	return values[byte](&w.s.r, w.p.slot(i, w.bytes), w.bytes)
}

// forward makes a call of the queue.
func (w *worker[F]) forward(number uint64) graph.Code {
	from := w.p.call(number)
	e, h, c := *at[queued](&w.s.r, from), w.h, &w.back.Call
	switch e.Op {
	case opReset:
		w.inst.Reset()
		return graph.Success
	case opNone:
		return graph.Fail
	}
	w.frames(int(e.Tokens), e.Frame0, e.Final)
	w.place(from, values[dims](&w.s.r, from+entryBytes, len(c.Param)))
	if code := w.takeEvents(from, e.Events); code != graph.Success {
		return code
	}
	code := w.inst.Forward(c)
	w.moved = w.moved || code == graph.Success || code == graph.Pending
	h.Produced, h.Heat, h.Delay, h.Reserved = int32(c.Produced), c.Heat, int32(c.Delay), c.Reserved
	return code
}

// frames sets what forward and backward calls have in common.
func (w *worker[F]) frames(tokens int, frame0 int64, final uint32) {
	b := &w.back
	tokens = min(max(tokens, 0), w.a.MaxTokens)
	b.Frame0, b.Tokens, b.Produced, b.Final, b.Heat, b.Delay, b.Reserved = frame0, tokens, tokens, final != 0, 0, 0, [6]float32{}
	for _, list := range [][]node.Tensor[F]{b.In, b.Out, b.DIn, b.DOut} {
		for i := range list {
			list[i].N = tokens
		}
	}
}

// place sets inputs and parameters to an entry's memory.
func (w *worker[F]) place(at int, shapes []dims) {
	b := &w.back
	for i := range b.In {
		b.In[i].Data = values[F](&w.s.r, at+w.p.in[i], len(b.In[i].Data))
	}
	for i := range b.Param {
		d, p := shapes[i], &b.Param[i]
		p.B, p.C, p.N, p.Framed = int(d.B), int(d.C), int(d.N), d.Flag != 0
		p.Data = values[F](&w.s.r, at+w.p.param[i], len(p.Data))
	}
}

// backward makes a backward call.
func (w *worker[F]) backward() graph.Code {
	h, b := w.h, &w.back
	w.frames(int(h.Tokens), h.Frame0, h.Final)
	w.place(w.p.call(0), h.Tensor[:len(b.Param)])
	for i := range b.DIn {
		b.DIn[i].Data = w.dIn[i]
		if h.Tensor[maxRemotePorts+len(b.Param)+i].Flag == 0 {
			b.DIn[i].Data = nil
		}
	}
	b.State0 = nil
	if h.Bytes > 0 {
		b.State0 = w.slot(2)[:min(int(h.Bytes), w.bytes)]
	}
	w.wants()
	if code := w.takeEvents(w.p.call(0), h.Events); code != graph.Success {
		return code
	}
	code := w.adjoint.Backward(b)
	h.Heat, h.Delay = b.Heat, int32(b.Delay)
	return code
}

// wants sets the requested gradients, with sums at zero.
func (w *worker[F]) wants() {
	for i := range w.back.DParam {
		d := &w.h.Tensor[maxRemotePorts+i]
		g := &w.back.DParam[i]
		*g = node.Grad[F]{}
		if d.Flag&wantFramed != 0 {
			g.Framed = node.Tensor[F]{Data: w.framed[i], B: w.a.Rows.B, C: w.a.Rows.C, N: w.back.Tokens}
		}
		if d.Flag&wantSum != 0 {
			clear(w.sums[i])
			g.Sum = w.sums[i]
		}
	}
}
