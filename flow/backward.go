package flow

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"atenia/flow/graph"

	"atenia/flow/node"
	"atenia/internal/machine/cpu"
)

// Recording configures what a session keeps of its forward calls for backward sweeps. The zero value keeps everything
// a sweep may need.
//
// Keeping every call is fastest and takes memory in proportion to the stream. Every and Slots trade time for memory by
// checkpointing: a sweep restores a snapshot and computes the blocks after it again. The gradients are the same bits
// either way.
type Recording struct {
	// Every is the number of blocks between snapshots. Calls between them are not kept; a sweep computes them again. 0
	// or 1 keeps every call. [EverySqrt] uses the square root of the number of blocks, which minimizes peak memory for
	// one recomputation.
	Every int
	// Slots, used instead of Every, bounds the number of snapshots held at one time. A sweep places them by the
	// revolve schedule and computes blocks again as often as that takes.
	Slots int
	// NoParams declares that no parameter gradient will be requested. Linear time-invariant nodes then keep nothing.
	NoParams bool
}

// EverySqrt as [Recording.Every] spaces snapshots by the square root of the number of blocks.
const EverySqrt = -1

// Sweep holds the options of a backward sweep. The zero value computes the gradient of the whole stream.
type Sweep struct {
	// TruncateBlocks k resets the adjoint state of all nodes whenever the sweep crosses from block i·k to block i·k −
	// 1 (truncated backpropagation through time). The result is then not the gradient of the stream, which the report
	// states. 0: never.
	TruncateBlocks int
	// Strict makes a node without an adjoint on a gradient's path an error; otherwise its inputs have gradient zero.
	Strict bool
}

// A ParamGrad is the gradient of one parameter, in the parameter's own shape.
type ParamGrad struct {
	Node, Name string
	Value      graph.Tensor
}

// Gradients is the result of a backward sweep.
type Gradients[F node.Float] struct {
	Inputs map[string]node.Tensor[F] // by Input node: [B, C, frames fed]
	Params []ParamGrad               // in the order of the plan and of the types' parameters
	// Unsupported names the nodes without an adjoint that the sweep met, in plan order. Gradients upstream of them are
	// incomplete: their inputs counted as having gradient zero.
	Unsupported []string
	Report      SweepReport
}

// Param returns the gradient of a node's parameter, or nil if it has none.
func (g *Gradients[F]) Param(nodeName, param string) *graph.Tensor {
	i := slices.IndexFunc(g.Params, func(p ParamGrad) bool { return p.Node == nodeName && p.Name == param })
	if i < 0 {
		return nil
	}
	return &g.Params[i].Value
}

// A Record keeps what a session's forward calls leave for backward sweeps. [Session.Record] makes one.
//
// A record grows with the stream until [Session.Reset]; bound it with [Recording.Every] or [Recording.Slots].
type Record[F node.Float] struct {
	s       *Session[F]
	journal *callJournal[F]
	points  *snapshots[F] // nil: every call is kept
	sweep   *adjointSweep[F]
	forced  []string
}

// Record starts recording what backward sweeps need. It must be called before the first block; a later call is an
// error of code [graph.State]. A session has one record at a time.
func (s *Session[F]) Record(o Recording) (*Record[F], error) {
	if s.heir != nil {
		return nil, &RunError{Code: graph.Unsupported, Block: s.block, Text: "a change of the plan has no gradient: no recording"}
	}
	if s.block > 0 || s.draining {
		return nil, &RunError{Code: graph.State, Block: s.block, Text: "recording must begin before the first block"}
	}
	inst, params := make([]node.Instance[F], len(s.procs)), make([][]node.Tensor[F], len(s.procs))
	for v, p := range s.procs {
		inst[v] = p.inst
		for i := range p.params {
			params[v] = append(params[v], p.params[i].Base)
		}
	}
	meter := s.meter // recomputed blocks are accounted separately
	r := &Record[F]{s: s, journal: newCallJournal(s.link, inst, !o.NoParams)}
	r.sweep = newAdjointSweep(s.link, inst, params, r.journal, !o.NoParams, func(v int, joules float64) { meter.Add(v, Backward, joules) })
	for v, p := range s.procs {
		n := &r.sweep.nodes[v]
		for i := range p.params {
			n.auto[i] = p.params[i].auto
		}
		if p.listens {
			n.back.Events, n.cues = p.call.Events, func(n0 int64, t int) { s.gather(p, n0, t) }
		}
	}
	if s.watch != nil {
		r.sweep.Time(s.watch.Now, func(v int, ns int64) { meter.Time(v, Backward, ns) })
	}
	r.spread()
	again := o.Every == EverySqrt || o.Every > 1 || o.Slots > 0
	if again {
		r.forced = unsavedNodes(s.link, inst)
	}
	if again && len(r.forced) == 0 {
		r.points = newSnapshots(s, o.Every, o.Slots)
		s.record(r.points)
	} else {
		s.record(r.journal)
	}
	return r, nil
}

// Stop ends the recording. What was recorded stays and can still be swept.
func (r *Record[F]) Stop() { r.s.record(nil) }

// Backward computes the gradients of a scalar whose derivatives with respect to the probes' frames are out: [B, C,
// frames] by probe name. A probe that out does not name has gradient zero. The session can run further blocks
// afterwards, as if there had been no sweep.
//
// It is an error if a parameter was set in the middle of the recorded stream, since a step in time has no gradient;
// modulate the parameter instead.
func (r *Record[F]) Backward(out map[string]node.Tensor[F], o Sweep) (*Gradients[F], error) {
	g := &Gradients[F]{}
	if err := r.BackwardInto(g, out, o); err != nil {
		return nil, err
	}
	return g, nil
}

// BackwardInto is [Record.Backward] with the result stored in g, whose memory is reused. Pass the gradients of the
// previous training step, or a zero Gradients: steps of equal length then allocate no frames. The tensors in out are
// read in place.
func (r *Record[F]) BackwardInto(g *Gradients[F], out map[string]node.Tensor[F], o Sweep) error {
	for _, t := range r.s.applied {
		if t.Node != "" && t.Block > 0 {
			return &RunError{Code: graph.Unsupported, Node: t.Node, Block: t.Block, Text: "a parameter was set during the stream, which has no gradient: modulate it instead"}
		}
	}
	if g.Inputs == nil {
		g.Inputs = map[string]node.Tensor[F]{}
	}
	g.Params, g.Unsupported = g.Params[:0], g.Unsupported[:0]
	if err := r.seed(out, g); err != nil {
		return err
	}
	for v, p := range r.s.procs {
		if o.Strict && r.sweep.Unsupported(v) {
			return noAdjoint(p.LinkedNode)
		}
	}
	r.s.syncCounts()
	r.sweep.Start(o.TruncateBlocks, func(e int) int64 { return r.s.readers[e].cursor })
	g.Report = SweepReport{Every: 1, Forced: r.forced, TruncateBlocks: o.TruncateBlocks, Blocks: int(r.s.block)}
	if err := r.replay(&g.Report); err != nil {
		return err
	}
	r.sweep.Finish()
	g.Report.Firings, g.Report.EdgeBytes = r.sweep.Firings(), r.sweep.EdgeBytes()
	return r.gather(g, o.Strict)
}

// replay recomputes blocks and sweeps over them, in the floating-point environment of the original run.
func (r *Record[F]) replay(report *SweepReport) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer cpu.SetFloatEnv(cpu.FlushDenormals())
	if r.points != nil {
		return r.points.replay(r.sweep, r.journal, report)
	}
	report.KeptBytes = r.journal.Bytes()
	return r.sweep.Replay(r.journal)
}

func noAdjoint(n *graph.LinkedNode) error {
	return &graph.Error{Code: graph.Unsupported, Path: n.Path, Names: []string{n.Name}, Text: "the node has no adjoint, and the sweep is strict"}
}

// seed sets the probes' output gradients and allocates the inputs' gradients.
func (r *Record[F]) seed(out map[string]node.Tensor[F], g *Gradients[F]) error {
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if _, err := r.s.find(name, graph.Taken); err != nil {
			return err
		}
	}
	for v, p := range r.s.procs {
		switch p.Spec.Endpoint {
		case graph.Taken:
			x, ok := out[p.Name]
			if !ok {
				sh, n := p.InShape[0], int(p.n0)
				x = node.Tensor[F]{Data: make([]F, sh.B*sh.C*n), B: sh.B, C: sh.C, N: n}
			}
			if x.N != int(p.n0) {
				return &graph.Error{Code: graph.BadShape, Path: p.Path, Names: []string{p.Name}, Text: fmt.Sprintf("gradient of %d frames for a probe that took %d", x.N, p.n0)}
			}
			if err := r.sweep.Seed(v, x); err != nil {
				return err
			}
		case graph.Fed:
			g.Inputs[p.Name] = r.sweep.Input(v, p.n0, g.Inputs[p.Name].Data)
		}
	}
	return nil
}

// gather collects the sums of the sweep. Each node without an adjoint becomes an event.
func (r *Record[F]) gather(g *Gradients[F], strict bool) error {
	for v, p := range r.s.procs {
		if r.sweep.Unsupported(v) {
			if strict {
				return noAdjoint(p.LinkedNode)
			}
			g.Unsupported = append(g.Unsupported, p.Name)
			r.s.faults.add(Event{Block: r.s.block, Node: v, Code: graph.Unsupported})
		}
		for i := range p.params {
			spec := &p.Spec.Params[i]
			if sum := r.sweep.Param(v, i); sum != nil {
				own := spec.Value
				own.Data = sum
				g.Params = append(g.Params, ParamGrad{Node: p.Name, Name: spec.Name, Value: own})
			}
		}
	}
	return nil
}
