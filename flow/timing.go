package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// timed wraps a call of the static list, if time is measured. Fused units share the time evenly.
func (s *Session[F]) timed(units []*unit[F], run func()) func() {
	w := s.watch
	if w == nil {
		return run
	}
	return func() {
		ns, out := int64(0), 0
		for _, u := range units {
			if s.suspended(u.process) {
				out++
			}
		}
		if out < len(units) {
			ns = -w.Now()
			run()
			ns += w.Now()
		}
		for _, u := range units {
			if u.called != nil && !s.suspended(u.process) {
				u.called()
			}
			s.took(u.process, u.bound, ns/int64(len(units)))
		}
	}
}

// suspended reports whether a process must not be called.
func (s *Session[F]) suspended(p *process[F]) bool {
	return s.rec == nil && s.watch.Suspended(p.Index)
}

// took accounts the time of a call, and mutes it if it exceeded the limit.
func (s *Session[F]) took(p *process[F], c *node.Call[F], ns int64) {
	if s.suspended(p) { // called as part of a fused group, or not at all
		s.mute(c)
		return
	}
	s.meter.Time(p.Index, Forward, ns)
	if s.rec != nil || !s.watch.Late(p.Index, ns) {
		return
	}
	s.meter.Late(p.Index)
	s.fault(p, Event{Frame: s.frame(p, 0), Kind: Slow, Code: graph.Timeout})
	s.mute(c)
}

// rested reports that a node is suspended for a number of blocks, or called again.
func (s *Session[F]) rested(node, blocks int) {
	e := Event{Block: s.block, Frame: s.frame(s.procs[node], 0), Node: node, Kind: Suspended, Blocks: blocks, Code: graph.Timeout}
	if blocks == 0 {
		e.Kind, e.Code = Resumed, graph.Success
	}
	s.faults.add(e)
}

// mute zeroes the outputs of a call.
func (s *Session[F]) mute(c *node.Call[F]) graph.Code {
	s.silence()
	for i := range c.Out {
		zero(&c.Out[i])
	}
	return graph.Success
}

// Resume lets a node be called again that was suspended because its calls exceeded [Options.Limit]. Any goroutine may
// call it, also while blocks run.
func (s *Session[F]) Resume(name string) error {
	p, err := s.find(name, graph.Inner)
	if err == nil && s.watch != nil {
		s.watch.Resume(p.Index)
	}
	return err
}
