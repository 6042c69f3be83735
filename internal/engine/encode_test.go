package engine

import (
	"context"
	"errors"
	"testing"
)

// TestEncodeLeaves: the texts of a call that was cancelled are not computed for the next.
func TestEncodeLeaves(t *testing.T) {
	e, _, end := opened(t, "bert_rerank", Config{Threads: 1})
	defer end()
	texts := []Input{{Tokens: []int32{1, 2, 3}}, {Tokens: []int32{4, 5}}}
	ctx, leave := context.WithCancelCause(t.Context())
	why := errors.New("the client left")
	leave(why)
	if _, err := e.Encode(ctx, texts); !errors.Is(err, why) || len(e.encoder.queue) > 0 {
		t.Errorf("%v, and %d texts are waiting", err, len(e.encoder.queue))
	}
	if rows, err := e.Encode(t.Context(), texts); err != nil || len(rows) != 2 {
		t.Errorf("the next call: %d, %v", len(rows), err)
	}
}
