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

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/cpu"
)

// File descriptors that a child inherits. The standard ones lead to /dev/null,
// since a library may print.
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
	at   int
	do   func()
	keep func()
	inst any
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
	defaultFaultSignals()
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
	go s.answer()
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
	if h.Format != "" {
		s.lib, err = openFormat(formats, h.Format, h.Library)
		return err
	}
	o := Options{NoMetrics: h.NoMetrics}
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
		h := at[header](&s.r, n.at)
		h.Op, h.Bytes = opLoad, uint32(o.Restore.Bytes)
		n.do()
		if h.Code != 0 {
			return reply{}, fmt.Errorf("the snapshot is refused: %v", graph.Code(h.Code))
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
	w := &worker[F]{s: s, a: a, p: lay(a, spec), inst: inst, h: at[header](&s.r, a.At)}
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
	s.nodes[s.count].Store(&served{a.At, w.do, w.keep, inst})
	s.count++
	return answer, nil
}

// answer serves requests, on a dedicated thread.
func (s *server) answer() {
	runtime.LockOSThread()
	last, list := uint32(0), make([]uint32, maxBatch)
	for {
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
	b.In, b.Out = tensors(w.p.in, w.a.InShape), tensors(w.p.out, w.a.OutShape)
	b.DIn, b.DOut = tensors(w.p.dIn, w.a.InShape), tensors(w.p.dOut, w.a.OutShape)
	rows := w.a.Rows.B * w.a.Rows.C
	for i, s := range spec.Params {
		n := max(rows*w.a.MaxTokens, len(s.Value.Data))
		b.Param = append(b.Param, node.Param[F]{Tensor: node.Tensor[F]{Data: values[F](&w.s.r, w.p.param[i], n)}})
		w.framed = append(w.framed, values[F](&w.s.r, w.p.dParm[i], n))
		w.sums = append(w.sums, values[float64](&w.s.r, w.p.sum[i], w.p.sumLen[i]))
	}
	for _, t := range b.DIn {
		w.dIn = append(w.dIn, t.Data)
	}
	b.DParam = make([]node.Grad[F], len(b.Param))
}

func (w *worker[F]) do() {
	h, b := w.h, &w.back
	code := graph.Success
	switch h.Op {
	case opForward, opBackward:
		code = w.call()
	case opReset:
		w.inst.Reset()
		h.Saved = 0 // the snapshots are of an earlier state
	case opResetAdjoint:
		w.adjoint.ResetAdjoint()
	case opFinishAdjoint:
		w.wants()
		w.adjoint.FinishAdjoint(b.DParam)
	case opSave:
		h.Bytes = uint32(w.state.Save(w.slot(2)))
	case opLoad:
		code = w.state.Load(w.slot(2)[:min(int(h.Bytes), w.bytes)])
	}
	w.moved = (h.Op == opForward || h.Op == opLoad) && (code == graph.Success || code == graph.Pending)
	h.Code = int32(code)
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
	atomic.StoreUint32(&w.h.Saved, next)
}

func (w *worker[F]) slot(i int) []byte {
	return values[byte](&w.s.r, w.p.slot(i, w.bytes), w.bytes)
}

// call makes a forward or a backward call.
func (w *worker[F]) call() graph.Code {
	h, b := w.h, &w.back
	tokens := min(max(int(h.Tokens), 0), w.a.MaxTokens)
	b.Frame0, b.Tokens, b.Produced, b.Final, b.Heat, b.Delay, b.Reserved = h.Frame0, tokens, tokens, h.Final != 0, 0, 0, [6]float32{}
	for _, list := range [][]node.Tensor[F]{b.In, b.Out, b.DIn, b.DOut} {
		for i := range list {
			list[i].N = tokens
		}
	}
	for i := range b.Param {
		d := &h.Tensor[i]
		p := &b.Param[i]
		p.B, p.C, p.N, p.Framed = int(d.B), int(d.C), int(d.N), d.Flag != 0
	}
	code := w.takeEvents()
	if code != graph.Success {
		return code
	}
	if h.Op == opForward {
		code = w.inst.Forward(&b.Call)
	} else {
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
		code = w.adjoint.Backward(b)
	}
	h.Produced, h.Heat, h.Delay, h.Reserved = int32(b.Produced), b.Heat, int32(b.Delay), b.Reserved
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
