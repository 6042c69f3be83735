package live

import (
	"errors"
	"fmt"
	"time"
)

// LoopConfig configures a [Loop]. The zero value has no clock and runs blocks back
// to back; it needs Blocks, or [Loop.Stop] to end.
type LoopConfig struct {
	// Frames is the length of a block and Rate the number of frames per second:
	// a block is due every Frames/Rate seconds. If Rate is 0 there is no clock:
	// blocks run back to back, for tests and files.
	Frames, Rate int

	// Blocks ends the loop after that many; 0 means until it is stopped. A loop
	// without a clock requires it, so that it cannot occupy a core forever.
	Blocks int64

	// Paced says that step itself waits until a device has a block, or room for one. The loop then has no clock, and
	// may have a priority and no end. Rate must be 0.
	Paced bool

	// Priority is the thread's SCHED_FIFO priority, 1 to 99; 0 means 70, and a
	// negative value keeps the system's default scheduling. If the system
	// refuses, the loop runs without and [LoopReport] says so. A loop without a
	// clock never requests it, because it does not sleep.
	Priority int

	// Processor binds the thread to one processor, counted from 1; 0 does not
	// bind it.
	Processor int

	// KeepDenormals disables flushing of denormals. By default the thread
	// flushes them to zero, as the throughput executor does: they are inaudible
	// and up to twenty times slower to compute with.
	KeepDenormals bool

	// LockMemory keeps all current and future memory of the process resident
	// (mlockall). If the system refuses, [LoopReport] says so.
	LockMemory bool
}

const defaultPriority = 70

// ErrConfig matches the errors of [NewLoop].
var ErrConfig = errors.New("bad configuration of a real-time loop")

// check returns all faults of the configuration.
func (c *LoopConfig) check() error {
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
		bad("Blocks is %d: want a number of blocks, or 0 for no limit", c.Blocks)
	}
	if c.Paced && c.Rate != 0 {
		bad("Paced with a Rate of %d: a device is the loop's clock, or the system's is", c.Rate)
	}
	if c.Rate == 0 && c.Blocks == 0 && !c.Paced {
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

// Period returns the time between two blocks, 0 without a clock.
func (c *LoopConfig) Period() time.Duration {
	if c.Rate <= 0 {
		return 0
	}
	return time.Duration(int64(c.Frames) * int64(time.Second) / int64(c.Rate))
}
