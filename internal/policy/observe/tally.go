package observe

import (
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory/ring"
	"atenia/internal/sched"
)

// A Tally is what the steps of a run took, for its account.
type Tally struct {
	Started time.Time
	Prompt  Steps
	Decode  Steps
	Failed  int        // steps
	Ring    ring.Stats // of the steps that decoded
	// Computed is the processor time of the steps that decoded, all threads
	// together, Offered what their threads would have used without a wait, Delayed how
	// long threads were ready without a processor, which counts only if Delays is set;
	// Read is what the process read from storage meanwhile, Faults the page faults that
	// waited for it. Before is what the process read during prompts.
	Computed, Offered time.Duration
	Delayed           time.Duration
	Delays            bool
	Faults            int64
	Drafted, Accepted int           // tokens that a step computed because they might follow
	Drafting          time.Duration // of a draft model
	Read, Before      int64
	Events            []Event // of pressure, oldest first
	More              int     // events after those

	ring    ring.Stats // at the end of the last step
	used    used
	looked  time.Time // at used
	offered time.Duration
}

// used is what the process has used so far.
type used struct {
	cpu, delay   time.Duration
	read, faults int64
}

func (t *Tally) now() (u used) {
	u.delay, t.Delays = cpu.Delay()
	u.cpu, u.read, u.faults = cpu.Time(), cpu.ReadBytes(), cpu.Faults()
	return u
}

// Steps are totals of steps of one kind.
type Steps struct {
	Steps   int
	Rows    int // tokens
	Took    time.Duration
	Slowest time.Duration
	At      int // the slowest of the steps, from 0
}

// lookEvery is the least time between two looks at what was used and read, which
// take some hundred microseconds.
const lookEvery = 250 * time.Millisecond

// begin starts counting, before the first step.
func (t *Tally) begin(r *ring.Ring) {
	if t.Started.IsZero() { // weights that move begin again
		t.Started = time.Now()
	}
	if r != nil {
		t.ring = r.Stats()
	}
	t.used = t.now()
}

// count adds a step.
func (t *Tally) count(p *sched.StepInfo, r *ring.Ring) {
	if p.Err != nil {
		t.Failed++
		return
	}
	s := &t.Prompt
	if p.Decode {
		s = &t.Decode
	}
	t.Drafted, t.Accepted, t.Drafting = t.Drafted+p.Drafted, t.Accepted+p.Accepted, t.Drafting+p.Drafting
	if p.Took > s.Slowest {
		s.Slowest, s.At = p.Took, s.Steps
	}
	s.Steps, s.Rows, s.Took = s.Steps+1, s.Rows+p.Rows-p.Drafted+p.Accepted, s.Took+p.Took+p.Drafting
	if r != nil {
		now := r.Stats()
		if d := now.Since(t.ring); p.Decode {
			t.Ring.Bytes = now.Bytes
			t.Ring.Read, t.Ring.Reads, t.Ring.Passes = t.Ring.Read+d.Read, t.Ring.Reads+d.Reads, t.Ring.Passes+d.Passes
			t.Ring.Hits, t.Ring.Late = t.Ring.Hits+d.Hits, t.Ring.Late+d.Late
			t.Ring.Stall, t.Ring.Busy, t.Ring.Wall = t.Ring.Stall+d.Stall, t.Ring.Busy+d.Busy, t.Ring.Wall+d.Wall
		}
		t.ring = now
	}
	if p.Decode {
		t.offered += time.Duration(p.Threads) * p.Took
	}
	t.look(p.Decode, p.Start.Add(p.Took))
}

// look asks the system for what was used and read, now and then, and counts it
// if only tokens were decoded since the last time.
func (t *Tally) look(decode bool, at time.Time) {
	if decode && at.Sub(t.looked) < lookEvery {
		return
	}
	now, was := t.now(), t.used
	if decode {
		t.Computed, t.Offered, t.Read = t.Computed+now.cpu-was.cpu, t.Offered+t.offered, t.Read+now.read-was.read
		t.Delayed, t.Faults = t.Delayed+max(0, now.delay-was.delay), t.Faults+now.faults-was.faults
	} else {
		t.Before += now.read - was.read
	}
	t.used, t.looked, t.offered = now, at, 0
}

// Tally returns what was counted. It is called when no step runs.
func (o *Observer) Tally() *Tally {
	if o.tally.Decode.Steps > 0 {
		o.tally.look(true, time.Now().Add(lookEvery))
	}
	return &o.tally
}
