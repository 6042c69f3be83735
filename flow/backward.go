package flow

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"atenia/flow/graph"
	"atenia/flow/internal/adjoint"
	"atenia/flow/node"
	"atenia/internal/fpenv"
)

// Recording says how a session's forward calls are kept for backward sweeps.
// The zero value keeps all that is needed.
type Recording struct {
	// Every keeps, instead of every call, the state of the whole session once in
	// so many blocks; a sweep then computes the blocks between again. Gradients
	// are the same bits. 0 or 1: every call is kept. [EverySqrt]: the square root
	// of the number of blocks, which makes the peak smallest.
	Every int
	// Slots instead of Every is how many snapshots there may be at one time. A
	// sweep takes them where they save most and runs blocks again as often as
	// that takes.
	Slots int
	// NoParams says that no parameter's gradient will be asked for. Linear
	// time-invariant nodes then keep nothing.
	NoParams bool
}

// EverySqrt is [Recording.Every] chosen by the number of blocks.
const EverySqrt = -1

// Sweep are the options of a backward sweep.
type Sweep struct {
	// TruncateBlocks resets what nodes carry backwards in time whenever the sweep
	// comes from block i·k to block i·k − 1. That is another gradient than that
	// of the stream, and the report says so. 0: never.
	TruncateBlocks int
	// Strict makes a node without an adjoint on the way an error, not zeros.
	Strict bool
}

// A ParamGrad is the gradient of one parameter, in the parameter's own shape.
type ParamGrad struct {
	Node, Name string
	Value      graph.Tensor
}

// Gradients are what a backward sweep found.
type Gradients[F node.Float] struct {
	Inputs map[string]node.Tensor[F] // by Input node: [B, C, frames fed]
	Params []ParamGrad               // in the order of the plan and of the types' parameters
	// Unsupported are the nodes without an adjoint that the sweep met, in the
	// order of the plan: their inputs had gradient zero.
	Unsupported []string
	Report      SweepReport
}

// Param returns the gradient of a node's parameter, or nil.
func (g *Gradients[F]) Param(nodeName, param string) *graph.Tensor {
	i := slices.IndexFunc(g.Params, func(p ParamGrad) bool { return p.Node == nodeName && p.Name == param })
	if i < 0 {
		return nil
	}
	return &g.Params[i].Value
}

// A SweepReport says how gradients were found and what that took.
type SweepReport = adjoint.Report

// A Record keeps what a session's forward calls leave for backward sweeps. It
// is made by [Session.Record].
type Record[F node.Float] struct {
	s       *Session[F]
	journal *adjoint.Journal[F]
	points  *snapshots[F] // nil: every call is kept
	sweep   *adjoint.Sweep[F]
	forced  []string
}

// Record keeps from now on what backward sweeps need. It must be called before
// the first block. A session has one record at a time.
func (s *Session[F]) Record(o Recording) (*Record[F], error) {
	if s.block > 0 || s.draining {
		return nil, &RunError{Code: graph.State, Block: s.block, Text: "recording begins before the first block"}
	}
	inst, params := make([]node.Instance[F], len(s.procs)), make([][]node.Tensor[F], len(s.procs))
	for v, p := range s.procs {
		inst[v] = p.inst
		for i := range p.params {
			params[v] = append(params[v], p.params[i].Base)
		}
	}
	meter := s.meter // blocks that are run again are counted elsewhere
	r := &Record[F]{s: s, journal: adjoint.NewJournal(s.link, inst, !o.NoParams)}
	r.sweep = adjoint.New(s.link, inst, params, r.journal, !o.NoParams, func(v int, joules float64) { meter.Add(v, Backward, joules) })
	if s.watch != nil {
		r.sweep.Time(s.watch.Now, func(v int, ns int64) { meter.Time(v, Backward, ns) })
	}
	again := o.Every == EverySqrt || o.Every > 1 || o.Slots > 0
	if again {
		r.forced = adjoint.Unsaved(s.link, inst)
	}
	if again && len(r.forced) == 0 {
		r.points = newSnapshots(s, o.Every, o.Slots)
		s.record(r.points)
	} else {
		s.record(r.journal)
	}
	return r, nil
}

// Stop ends the recording; what is kept stays.
func (r *Record[F]) Stop() { r.s.record(nil) }

// Backward finds the gradients of a number whose derivatives by what the probes
// took are out, [B, C, frames] by the probe's name; a probe that is not named
// counts for nothing. The session goes on afterwards as if there had been no
// sweep.
func (r *Record[F]) Backward(out map[string]node.Tensor[F], o Sweep) (*Gradients[F], error) {
	g := &Gradients[F]{}
	if err := r.BackwardInto(g, out, o); err != nil {
		return nil, err
	}
	return g, nil
}

// BackwardInto is [Record.Backward] that takes the memory of g, what an earlier
// sweep found or zero: training steps of one length allocate no frames. The
// gradients in out are read where they lie.
func (r *Record[F]) BackwardInto(g *Gradients[F], out map[string]node.Tensor[F], o Sweep) error {
	for _, t := range r.s.told {
		if t.Node != "" && t.Block > 0 {
			return &RunError{Code: graph.Unsupported, Node: t.Node, Block: t.Block, Text: "a parameter was set within the stream, which has no gradient: modulate it instead"}
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
			return strict(p.LinkedNode)
		}
	}
	r.sweep.Start(o.TruncateBlocks, func(v int) int64 { return r.s.procs[v].n0 })
	g.Report = SweepReport{Every: 1, Forced: r.forced, TruncateBlocks: o.TruncateBlocks, Blocks: int(r.s.block)}
	if err := r.replay(&g.Report); err != nil {
		return err
	}
	r.sweep.Finish()
	g.Report.Firings, g.Report.EdgeBytes = r.sweep.Firings(), r.sweep.EdgeBytes()
	return r.gather(g, o.Strict)
}

// replay goes back over the blocks in the floating-point environment in which
// they ran.
func (r *Record[F]) replay(report *SweepReport) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer fpenv.Set(fpenv.FlushDenormals())
	if r.points != nil {
		return r.points.replay(r.sweep, r.journal, report)
	}
	report.KeptBytes = r.journal.Bytes()
	return r.sweep.Replay(r.journal)
}

func strict(n *graph.LinkedNode) error {
	return &graph.Error{Code: graph.Unsupported, Path: n.Path, Names: []string{n.Name}, Text: "the node has no adjoint, and the sweep is strict"}
}

// seed hands in the gradients of what probes took, and makes room for those of
// what was fed.
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
				return &graph.Error{Code: graph.BadShape, Path: p.Path, Names: []string{p.Name}, Text: fmt.Sprintf("a gradient of %d frames for a probe that took %d", x.N, p.n0)}
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

// gather collects what the sweep summed. Each node that it could not pass is an
// event.
func (r *Record[F]) gather(g *Gradients[F], strictly bool) error {
	for v, p := range r.s.procs {
		if r.sweep.Unsupported(v) {
			if strictly {
				return strict(p.LinkedNode)
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
