package toolbox

import (
	"context"
	"sync"
	"time"
)

// A clock ends a context after a while that does not run while a user is asked.
type clock struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu     sync.Mutex
	left   time.Duration
	begun  time.Time
	paused int
}

func newClock(ctx context.Context, d time.Duration, cause error) (context.Context, *clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{cancel: cancel, left: d, begun: time.Now()}
	c.timer = time.AfterFunc(d, func() { cancel(cause) })
	return ctx, c
}

// pause stops the clock until done is called.
func (c *clock) pause() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 && c.timer.Stop() {
		c.left -= time.Since(c.begun)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.paused--; c.paused == 0 {
			c.begun = time.Now()
			c.timer.Reset(max(c.left, time.Second))
		}
	}
}

func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(nil)
}
