package flow

import (
	"sync/atomic"

	"atenia/flow/graph"
	"atenia/flow/internal/strand"
	"atenia/flow/node"
)

// A static is the path without questions. A process that fired a whole block
// finds the same counts at the next block's start, so the same calls follow in
// the same order for ever; once all of them did, the list of calls that the
// rehearsal ended with is run instead of asked for. Not in it are processes
// that may be late for reasons of their own, and those behind them.
type static[F node.Float] struct {
	order     []visit       // of the rehearsal's last block, then without those asked
	procs     []*process[F] // in the list
	asked     []*process[F] // the others, as they are visited
	list      []func()      // the calls of a block
	taped     []func()      // the same with a recorder told, nil before there is one
	units     []*unit[F]
	stretches []strand.Stretch // the same for several threads, nil for one
	constant  []report[F]      // what calls report that report the same in every block
	border    []*channel[F]    // read by those who are asked
	ready     bool             // there is a list
	atOnce    bool             // from the first block on: nothing is held
	on        bool
	owed      int64 // blocks since counts were last brought up to date
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

// steady runs a block of the list, then asks those who are to be asked.
func (s *Session[F]) steady() graph.Code {
	st := &s.static
	for _, c := range st.border {
		if !c.fits(c.frames) {
			return s.end(graph.NoMemory)
		}
	}
	if s.block == 0 {
		s.dawn()
	}
	list := st.list
	if s.rec != nil {
		list = st.taped
	}
	if st.stretches != nil && s.rec == nil {
		s.parade()
	} else {
		for _, f := range list {
			f()
		}
	}
	if s.opt.Log {
		s.note()
	}
	st.owed++
	code := graph.Success
	if len(st.asked) > 0 {
		s.turn()
		code = s.rounds(st.asked)
	}
	return s.end(code)
}

// dawn notes what the dynamic path would have noted, when the first block goes
// the static path already.
func (s *Session[F]) dawn() {
	for _, p := range s.static.procs {
		p.first, p.left = 0, 0
	}
	for _, u := range s.static.units {
		s.late(u.process, u.bound)
	}
}

// end closes a block: sinks are looked at, faults collected.
func (s *Session[F]) end(code graph.Code) graph.Code {
	if s.opt.Scan == ScanSinks {
		s.sinks()
	}
	if atomic.LoadUint32(&s.faults.any) != 0 {
		code = min(code, s.collect())
	}
	if s.thermal.on {
		s.gauge()
	}
	s.block++
	return code
}

// enter takes the static path if it is there to be taken.
func (s *Session[F]) enter() {
	st := &s.static
	if !st.ready || s.draining || s.rec != nil && st.taped == nil {
		return
	}
	for _, p := range st.procs {
		if p.left > 0 {
			return
		}
	}
	st.on = true
}

// settle brings up to date what the list does not count.
func (s *Session[F]) settle() {
	st := &s.static
	n := st.owed
	if n == 0 {
		return
	}
	st.owed = 0
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
			if r.whole {
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

// leave goes back to the dynamic path.
func (s *Session[F]) leave() {
	s.settle()
	for _, u := range s.static.units {
		for _, c := range u.out {
			c.now = nil
		}
	}
	s.static.on = false
}

// record tells rec of every call from now on; nil ends that.
func (s *Session[F]) record(rec recorder[F]) {
	s.settle()
	s.still()
	if s.rec = rec; rec != nil {
		s.tape()
	}
}

// still brings what was written last, wherever a recorder had it written, to
// where it always is.
func (s *Session[F]) still() {
	for _, p := range s.procs {
		for _, c := range p.out {
			copy(c.block.Data, c.now)
			c.now = nil
		}
	}
}
