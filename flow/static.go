package flow

import (
	"slices"
	"sync/atomic"

	"atenia/flow/graph"

	"atenia/flow/node"
)

// A static is the compiled schedule. A process that fired a whole block finds the same counts at the start of the next
// one, so the same calls follow in the same order forever. Once all processes have, the list of calls that the
// rehearsal ended with is run without testing readiness. Processes whose firing is data dependent, and those
// downstream, are not in the list and are polled.
type static[F node.Float] struct {
	order     []visit       // of the rehearsal's last block, without polled processes
	procs     []*process[F] // in the list
	polled    []*process[F] // the others, in visiting order
	list      []func()      // the calls of a block
	recorded  []func()      // the same, reported to a recorder; nil until there is one
	units     []*unit[F]
	sections  []section   // the same for several threads; nil for one
	constant  []report[F] // reports that are the same in every block
	ready     bool        // the list is built
	fromStart bool        // usable from the first block on: nothing is held
	on        bool
	unsynced  int64 // blocks run since counts were last updated
}

// A visit is one call within a block.
type visit struct{ proc, tokens int }

// A report is the heat of a call in every block.
type report[F node.Float] struct {
	proc   int
	joules float64
	call   *node.Call[F]
}

func (s *static[F]) note(p *process[F], t int) { s.order = append(s.order, visit{p.Index, t}) }

// steady runs a block of the list, then polls the remaining processes.
func (s *Session[F]) steady() graph.Code {
	st := &s.static
	if s.block == 0 {
		s.startStatic()
	}
	list := st.list
	if s.rec != nil {
		list = st.recorded
	}
	if st.sections != nil && s.rec == nil {
		s.runParallel()
	} else {
		for _, f := range list {
			f()
		}
	}
	if s.opt.Log {
		s.note()
	}
	st.unsynced++
	code := graph.Success
	if len(st.polled) > 0 {
		s.updateGates()
		code = s.rounds(st.polled)
	}
	return s.end(code)
}

// startStatic records what the dynamic path would have, if already the first block takes the static path.
func (s *Session[F]) startStatic() {
	for _, p := range s.static.procs {
		p.first, p.left = 0, 0
	}
	for _, u := range s.static.units {
		s.noteDelay(u.process, u.bound)
	}
}

// end closes a block: it scans sinks and collects faults.
func (s *Session[F]) end(code graph.Code) graph.Code {
	if s.opt.Scan == ScanSinks {
		s.sinks()
	}
	if atomic.LoadUint32(&s.faults.any) != 0 {
		code = min(code, s.collect())
	}
	if s.thermal.on {
		s.updateThermal()
	}
	if s.rec == nil {
		s.watch.Turn(s.turned)
	}
	if s.faults.silent != 0 || code != graph.Success {
		s.faults.silent = 0
		s.meter.lost++
	}
	s.block++
	return code
}

// enter switches to the static path if that is possible.
func (s *Session[F]) enter() {
	st := &s.static
	if !st.ready || s.draining || s.rec != nil && st.recorded == nil {
		return
	}
	for _, p := range st.procs {
		if p.left > 0 || slices.ContainsFunc(p.out, func(c *channel[F]) bool { return c.made < int64(p.trimmed) }) {
			return
		}
	}
	st.on = true
}

// syncCounts brings the counts up to date that the list does not maintain per block: those of a channel whose ring is
// not used lag behind together, writer and readers, so that the channel looks empty in between. If the ring is used the
// list maintains both, because room in it is what its oldest reader has left.
func (s *Session[F]) syncCounts() {
	st := &s.static
	n := st.unsynced
	if n == 0 {
		return
	}
	st.unsynced = 0
	for _, r := range st.constant {
		if s.rec != nil {
			break // each call was counted
		}
		s.meter.Repeat(r.proc, Forward, r.joules, n)
	}
	for _, p := range st.procs {
		if !p.live && s.rec == nil {
			p.n0 += n * int64(p.Tokens)
		}
		for i := range p.waits {
			w := &p.waits[i]
			w.cursor += n * (int64(p.Tokens) * w.num / w.den)
		}
		for _, r := range p.all {
			if r.direct && !r.from.kept {
				r.cursor += n * int64(p.Tokens*r.cons)
			}
		}
		for _, c := range p.out {
			c.made += n * int64(c.frames)
			if !c.kept {
				c.wrote += n * int64(c.frames)
			}
		}
	}
}

// leave switches back to the dynamic path.
func (s *Session[F]) leave() {
	s.syncCounts()
	for _, u := range s.static.units {
		for _, c := range u.out {
			c.now = nil
		}
	}
	s.static.on = false
}

// record sets the recorder of all further calls; nil ends recording.
func (s *Session[F]) record(rec recorder[F]) {
	s.syncCounts()
	s.copyBack()
	if s.rec = rec; rec != nil {
		s.buildRecorded()
	}
}

// copyBack moves redirected output, which a recorder owns, back to the writer's own block.
func (s *Session[F]) copyBack() {
	for _, p := range s.procs {
		for _, c := range p.out {
			if c.now != nil { // in real time, where it is nil, a store to it could run into the collector's write barrier
				copy(c.block.Data, c.now)
				c.now = nil
			}
		}
	}
}
