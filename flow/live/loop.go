package live

import (
	"runtime"
	"sync/atomic"

	"atenia/flow/graph"
	"atenia/internal/machine/cpu"
)

// A Loop calls a function once per block, on time. Make one with [NewLoop];
// [LoopPlayer] connects it to a session.
type Loop struct {
	cfg  LoopConfig
	step func() graph.Code
	stop atomic.Bool
	done chan struct{}
	rep  LoopReport
	now  tally
}

// A tally holds the counters of the loop's thread: plain numbers, updated in
// place.
type tally struct {
	blocks, late, missed int64
	faults               int64
	code                 graph.Code
	wake, work           Histogram
}

// NewLoop returns a loop of step, which runs one block and returns its result. A
// result other than Success is counted; End ends the loop. step must obey the
// rules of the package. The error lists every fault of cfg and matches
// [ErrConfig].
func NewLoop(cfg LoopConfig, step func() graph.Code) (*Loop, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Loop{cfg: cfg, step: step}, nil
}

// Start starts running blocks on a dedicated thread and returns. A loop can be
// started once.
func (l *Loop) Start() {
	if l.done != nil {
		return
	}
	l.done = make(chan struct{})
	go func() {
		defer close(l.done)
		// Priority, affinity and rounding mode belong to the thread, which ends
		// with the goroutine that stays locked to it.
		runtime.LockOSThread()
		l.rep.Native = supported
		l.rep.Warnings = l.prepare()
		run(l.turns)
		l.rep.take(&l.now)
	}()
}

// Stop asks the loop to end after the current block. Call [Loop.Wait] for the
// report.
func (l *Loop) Stop() { l.stop.Store(true) }

// Wait waits for the end and returns the report. The loop must have been
// started.
func (l *Loop) Wait() LoopReport {
	<-l.done
	return l.rep
}

// Run starts the loop and waits for its end.
func (l *Loop) Run() LoopReport {
	l.Start()
	return l.Wait()
}

// turns is the loop's body. It runs without a P: see the package's rules.
func (l *Loop) turns() {
	var before cpu.FloatEnv
	if !l.cfg.KeepDenormals {
		before = cpu.FlushDenormals()
	}
	t := &l.now
	c := clock{rate: int64(l.cfg.Rate), num: int64(l.cfg.Frames) * aSecond}
	c.begin(cpu.Nanotime())
	for !l.stop.Load() && (l.cfg.Blocks == 0 || t.blocks < l.cfg.Blocks) {
		due := c.wait()
		began := cpu.Nanotime()
		code := l.step()
		ended := cpu.Nanotime()
		t.blocks++
		t.work.add(ended - began)
		if c.rate > 0 {
			t.wake.add(began - due)
			if skipped := c.next(ended); skipped > 0 {
				t.late++
				t.missed += skipped
			}
		}
		if code != graph.Success && code != graph.Pending {
			t.code = code
			if code == graph.End {
				break
			}
			t.faults++
		}
	}
	if !l.cfg.KeepDenormals {
		cpu.SetFloatEnv(before)
	}
}

// SleepUntil sleeps until the time t of [Now] or until a signal arrives. A step of a loop may call it.
func SleepUntil(t int64) { sleepUntil(t) }

// Now returns the loop's clock, in nanoseconds from an unspecified start.
func Now() int64 { return cpu.Nanotime() }

const aSecond = 1_000_000_000

// A clock computes when blocks are due, without drift: the remainders of
// num/rate nanoseconds are carried.
type clock struct {
	num, rate int64
	due, rest int64
}

// begin makes the first block due one period after now.
func (c *clock) begin(now int64) {
	c.due = now
	if c.rate > 0 {
		c.advance()
	}
}

func (c *clock) advance() {
	c.due += c.num / c.rate
	if c.rest += c.num % c.rate; c.rest >= c.rate {
		c.rest -= c.rate
		c.due++
	}
}

// wait sleeps until the block is due and returns that time.
func (c *clock) wait() int64 {
	if c.rate == 0 {
		return 0
	}
	for cpu.Nanotime() < c.due {
		sleepUntil(c.due) // may be interrupted by a signal
	}
	return c.due
}

// next makes the following block due. If a block ended after that time it is
// late, and the periods that passed are skipped and returned: the listener
// hears silence there, and later blocks are on time again.
func (c *clock) next(ended int64) (skipped int64) {
	c.advance()
	for c.due < ended {
		c.advance()
		skipped++
	}
	return skipped
}
