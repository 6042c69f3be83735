package dialect

import (
	"context"
	"errors"
	"iter"
	"testing"

	"atenia"
)

// TestFanCut: answers that are cut off are an error, also if none of them says so.
func TestFanCut(t *testing.T) {
	why := errors.New("cut")
	ctx, cancel := context.WithCancelCause(t.Context())
	tokens := 0
	err := fan(ctx, 3, func(ctx context.Context, i int) iter.Seq2[atenia.Token, error] {
		return func(yield func(atenia.Token, error) bool) {
			if yield(atenia.Token{}, nil) {
				<-ctx.Done()
			}
		}
	}, func(int, atenia.Token) error {
		if tokens++; tokens == 3 {
			cancel(why)
		}
		return nil
	})
	if !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}
