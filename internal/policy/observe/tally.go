package observe

import (
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/internal/sched"
)

// A Tally is what the steps of a run took, for its account.
type Tally struct {
	Started time.Time
	Prompt  Steps
	Decode  Steps
	// Opened is where weights were placed before the first step, nil = nowhere, AsOpened the
	// steps of Decode before they moved: what was predicted of it is of these.
	Opened   *place.Placement
	AsOpened Steps
	Failed   int        // steps
	Ring     ring.Stats // of the steps that decoded, with what was read of experts
	// Computed is the processor time of the steps that decoded, all threads
	// together, Offered what their threads would have used without a wait, Delayed how
	// long threads were ready without a processor, which counts only if Delays is set: the
	// system tells it, and of no thread was it lost, Workers of these the ones that the
	// pool has beside the caller's; Taken how long others had processors, without which
	// threads were delayed by one another;
	// Read is what the process read from storage meanwhile, Faults the page faults that
	// waited for it. Before is what the process read during prompts.
	Computed, Offered time.Duration
	Delayed, Workers  time.Duration
	Taken             time.Duration
	Delays            bool
	Faults            int64
	Streamed          time.Duration // of Decode.Took, while weights were streamed
	Threaded          time.Duration // Decode.Took times the threads of each step
	Packing           time.Duration // of the steps that decoded, all threads together
	Drafted, Accepted int           // tokens that a step computed because they might follow
	Drafting          time.Duration // of a draft model
	Sequences, Past   int64         // of the steps that decoded, all together, and the tokens of those
	Read, Before      int64
	Events            []Event // of pressure, oldest first
	More              int     // events after those

	moved   bool       // weights are not as opened any more
	ring    ring.Stats // at the end of the last step
	chosen  Chosen     // likewise
	used    used
	looked  time.Time // at used
	offered time.Duration
	waited  waited        // at the end of the last prompt
	phase   time.Duration // that the threads of steps were offered since then
	lost    bool          // a thread ended, and took what it was delayed along
}

// used is what the process has used so far.
type used struct {
	cpu          time.Duration
	read, faults int64
}

func now() used { return used{cpu.Time(), cpu.ReadBytes(), cpu.Faults()} }

// delays counts how long threads were delayed since the last call, of which steps that
// decoded get their part beside a prompt's. It allocates, so no token calls it.
func (t *Tally) delays(prompt time.Duration) {
	d, taken, known := cpu.Waited()
	t.delayed(waited{d, taken}, known, prompt)
}

// waited is what threads have waited for processors so far, and others have had them.
type waited struct {
	cpu.Delays
	taken time.Duration
}

// delayed is delays with what the system tells: a sum that falls lost a part of itself.
func (t *Tally) delayed(now waited, known bool, prompt time.Duration) {
	was := t.waited
	t.lost = t.lost || now.All < was.All
	if t.Delays = known && !t.lost; t.phase > 0 {
		part := float64(t.phase) / float64(t.phase+prompt)
		add := func(sum *time.Duration, d time.Duration) { *sum += time.Duration(float64(max(0, d)) * part) }
		add(&t.Delayed, now.All-was.All)
		add(&t.Workers, now.Computing-was.Computing)
		add(&t.Taken, now.taken-was.taken)
	}
	t.waited, t.phase = now, 0
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
// take some ten microseconds.
const lookEvery = 250 * time.Millisecond

// begin starts counting, before the first step.
func (t *Tally) begin(a *Account) {
	if t.moved = !t.Started.IsZero(); !t.moved { // weights that move begin again
		t.Started, t.Opened = time.Now(), a.Placement
	}
	if a.Ring != nil {
		t.ring = a.Ring.Stats()
	}
	if a.Experts != nil {
		t.chosen = a.Experts()
	}
	t.used = now()
	t.delays(0)
}

// count adds a step.
func (t *Tally) count(p *sched.StepInfo, a *Account) {
	if p.Err != nil {
		if !p.Stopped {
			t.Failed++
		}
		return
	}
	s := &t.Prompt
	if p.Decode {
		s = &t.Decode
	}
	t.Drafted, t.Accepted, t.Drafting = t.Drafted+p.Drafted, t.Accepted+p.Accepted, t.Drafting+p.Drafting
	took := p.Took + p.Drafting
	if took > s.Slowest {
		s.Slowest, s.At = took, s.Steps
	}
	s.Steps, s.Rows, s.Took = s.Steps+1, s.Rows+p.Rows-p.Drafted+p.Accepted, s.Took+took
	if p.Decode {
		t.Sequences, t.Past, t.Packing = t.Sequences+int64(p.Rows-p.Drafted), t.Past+int64(p.Past), t.Packing+p.Packing
	}
	if p.Decode && !t.moved {
		t.AsOpened = *s
	}
	if p.Decode && (a.Ring != nil || a.Experts != nil) {
		t.Streamed += took
	}
	if r := a.Ring; r != nil {
		now := r.Stats()
		if d := now.Since(t.ring); p.Decode {
			t.Ring.Bytes = now.Bytes
			t.Ring.Read, t.Ring.Reads, t.Ring.Passes = t.Ring.Read+d.Read, t.Ring.Reads+d.Reads, t.Ring.Passes+d.Passes
			t.Ring.Hits, t.Ring.Late = t.Ring.Hits+d.Hits, t.Ring.Late+d.Late
			t.Ring.Stall, t.Ring.Busy, t.Ring.Wall = t.Ring.Stall+d.Stall, t.Ring.Busy+d.Busy, t.Ring.Wall+d.Wall
		}
		t.ring = now
	}
	if a.Experts != nil {
		now := a.Experts()
		if p.Decode {
			t.Ring.Read, t.Ring.Stall, t.Ring.Busy = t.Ring.Read+now.Read-t.chosen.Read, t.Ring.Stall+now.Wait-t.chosen.Wait, t.Ring.Busy+now.Busy-t.chosen.Busy
		}
		t.chosen = now
	}
	if offered := time.Duration(p.Threads) * took; p.Decode {
		t.offered, t.phase, t.Threaded = t.offered+offered, t.phase+offered, t.Threaded+offered
	} else {
		t.delays(offered)
	}
	t.look(p.Decode, p.Start.Add(p.Took))
}

// look asks the system for what was used and read, now and then, and counts it
// if only tokens were decoded since the last time.
func (t *Tally) look(decode bool, at time.Time) {
	if decode && at.Sub(t.looked) < lookEvery {
		return
	}
	now, was := now(), t.used
	if decode {
		t.Computed, t.Offered, t.Read = t.Computed+now.cpu-was.cpu, t.Offered+t.offered, t.Read+now.read-was.read
		t.Faults += now.faults - was.faults
	} else {
		t.Before += now.read - was.read
	}
	t.used, t.looked, t.offered = now, at, 0
}

// Tally returns what was counted. It is called when no step runs.
func (o *Observer) Tally() *Tally {
	if o.tally.Decode.Steps > 0 {
		o.tally.look(true, time.Now().Add(lookEvery))
		o.tally.delays(0)
	}
	return &o.tally
}
