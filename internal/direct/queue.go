package direct

import (
	"context"
	"sync"
)

// A Queue limits how many tasks that wait for a disk run at once. A task takes
// a thread of the system while it waits; eight or fewer are sensible.
type Queue struct{ places chan struct{} }

// NewQueue returns a queue with a depth of 1 or more.
func NewQueue(depth int) *Queue { return &Queue{make(chan struct{}, max(1, depth))} }

// Do runs task for 0 to n-1, started in that order, and waits for them. After
// an error, which it returns, or the end of ctx no more are started; the
// context of those that run is ended.
func (q *Queue) Do(ctx context.Context, n int, task func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range n {
		select {
		case <-ctx.Done():
		case q.places <- struct{}{}:
			wg.Go(func() {
				defer func() { <-q.places }()
				if ctx.Err() != nil {
					return
				}
				if err := task(ctx, i); err != nil {
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
