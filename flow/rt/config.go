package rt

import (
	"errors"
	"fmt"
	"time"
)

// Config says how a [Loop] runs. The zero value runs blocks one after the
// other without a clock, until [Loop.Stop] or for Blocks blocks.
type Config struct {
	// Frames is the length of a block and Rate the frames in a second: a
	// block is due every Frames/Rate seconds. Without a rate there is no
	// clock: blocks follow each other at once, for tests and files.
	Frames, Rate int

	// Blocks ends the loop after so many; 0 means when it is stopped. A loop
	// without a clock needs it, so that it cannot burn a core for good.
	Blocks int64

	// Priority is the thread's SCHED_FIFO priority, 1 to 99; 0 means 70, and
	// a negative one leaves the thread as it is. Where the system refuses, the
	// loop runs without and [Report] says so. A loop without a clock never
	// asks, because it never sleeps.
	Priority int

	// Processor binds the thread to one processor, counted from 1. 0 binds it
	// to none.
	Processor int

	// KeepDenormals leaves numbers below the smallest normal one alone. By
	// default the thread flushes them to zero, as the throughput executor
	// does: they are inaudible and up to twenty times slower.
	KeepDenormals bool

	// LockMemory keeps all memory of the process resident (mlockall), what it
	// will take later too. Where the system refuses, [Report] says so.
	LockMemory bool
}

const defaultPriority = 70

// ErrConfig is matched by the errors of [New].
var ErrConfig = errors.New("bad configuration of a real-time loop")

// check returns all faults.
func (c *Config) check() error {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...)))
	}
	if c.Rate < 0 || c.Rate > maxRate {
		bad("Rate is %d: want 0 (no clock) to %d frames in a second", c.Rate, maxRate)
	}
	if c.Rate > 0 && (c.Frames < 1 || c.Frames > maxRate) {
		bad("Frames is %d: want 1 to %d frames in a block", c.Frames, maxRate)
	}
	if c.Blocks < 0 {
		bad("Blocks is %d: want a number of blocks, or 0 for no end", c.Blocks)
	}
	if c.Rate == 0 && c.Blocks == 0 {
		bad("neither Rate nor Blocks: a loop without a clock needs an end")
	}
	if c.Priority > maxPriority {
		bad("Priority is %d: want 1 to %d", c.Priority, maxPriority)
	}
	if c.Processor < 0 {
		bad("Processor is %d: processors are counted from 1", c.Processor)
	}
	return errors.Join(faults...)
}

const (
	maxRate     = 1 << 30
	maxPriority = 99
)

// Period is the time between two blocks, 0 without a clock.
func (c *Config) Period() time.Duration {
	if c.Rate <= 0 {
		return 0
	}
	return time.Duration(int64(c.Frames) * int64(time.Second) / int64(c.Rate))
}
