package dialect

// Several answers at once.

import (
	"context"
	"iter"

	"atenia"
	"atenia/internal/fault"
)

// fan runs n answers at the same time and calls take with each token of each, one at a
// time. It returns the first error, after all have ended.
func fan(ctx context.Context, n int, answer func(ctx context.Context, i int) iter.Seq2[atenia.Token, error], take func(i int, t atenia.Token) error) error {
	if n == 1 {
		for t, err := range answer(ctx, 0) {
			if err == nil {
				err = take(0, t)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	type event struct {
		i   int
		t   atenia.Token
		err error
	}
	events, done := make(chan event), make(chan struct{})
	var group fault.Group
	for i := range n {
		group.Go(func() {
			for t, err := range answer(ctx, i) {
				select {
				case events <- event{i, t, err}:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	var broken error
	var all fault.Group
	all.Go(func() {
		defer close(done)
		broken = fault.Call(func() error { group.Wait(); return nil })
	})
	defer func() {
		cancel()
		all.Wait()
	}()
	for {
		select {
		case e := <-events:
			if e.err == nil {
				e.err = take(e.i, e.t)
			}
			if e.err != nil {
				return e.err
			}
		case <-done:
			if broken == nil { // those that saw ctx end left without a word
				broken = context.Cause(ctx)
			}
			return broken
		}
	}
}
