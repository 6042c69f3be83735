package durable

import (
	"context"

	"atenia/internal/fault"
)

// A Queue limits the number of concurrent tasks that wait for a disk. Each
// blocks a thread; use eight or fewer.
type Queue struct{ places chan struct{} }

// NewQueue returns a queue with the given depth, at least 1.
func NewQueue(depth int) *Queue { return &Queue{make(chan struct{}, max(1, depth))} }

// Do runs task for 0 to n-1, started in that order, and waits for them. After an
// error, which it returns, or the end of ctx it starts no more and cancels the
// context of the running ones.
func (q *Queue) Do(ctx context.Context, n int, task func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg fault.Group
	for i := range n {
		select {
		case <-ctx.Done():
		case q.places <- struct{}{}:
			wg.Go(func() {
				defer func() { <-q.places }()
				if ctx.Err() != nil {
					return
				}
				if err := fault.Call(func() error { return task(ctx, i) }); err != nil {
					cancel(err)
				}
			})
			continue
		}
		break
	}
	wg.Wait()
	return context.Cause(ctx)
}
