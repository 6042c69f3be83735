package sched

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"atenia/internal/exec"
	"atenia/internal/sample"
)

// A Request asks for the continuation of a prompt, or for its logits.
type Request struct {
	Prompt    []int32
	MaxTokens int // tokens to generate; 0 = none, only OnLogits sees the prompt
	Sampling  sample.Params
	Stop      []int32 // tokens that end the answer; delivered as the last one
	// Forced tokens are fed one by one as if they had been generated, instead
	// of generating any.
	Forced []int32
	// OnLogits, when set, sees the logits after every row of the prompt if
	// All is set, after its last row otherwise, and after every forced or
	// generated token that is fed back: each row once, in order. row counts
	// tokens from 0. The slice is valid during the call, which runs between
	// two steps and must not wait for the scheduler.
	OnLogits func(row int, logits []float32)
	All      bool
	// Counters, when set, count the steps that the request has rows in, the
	// rows of other requests included. They cost atomics.
	Counters *exec.Counters
}

// span returns the length of the sequence that the request may become.
func (r *Request) span() int { return len(r.Prompt) + max(r.MaxTokens, len(r.Forced)) }

// own copies what the caller may change once Submit has returned.
func (r *Request) own() {
	r.Prompt, r.Stop, r.Forced = slices.Clone(r.Prompt), slices.Clone(r.Stop), slices.Clone(r.Forced)
	p := &r.Sampling
	p.LogitBias, p.Order = maps.Clone(p.LogitBias), slices.Clone(p.Order)
	p.DRY.Breakers = slices.Clone(p.DRY.Breakers)
	for i, b := range p.DRY.Breakers {
		p.DRY.Breakers[i] = slices.Clone(b)
	}
}

// A Token is one generated token.
type Token struct {
	ID      int32
	LogProb float32
	Top     []sample.LogProb
}

// A Finish says why a request ended without an error.
type Finish string

// The finish reasons.
const (
	FinishStop   Finish = "stop"   // a stop token
	FinishLength Finish = "length" // MaxTokens or the context was reached
)

// ErrClosed is returned for requests to a closed scheduler.
var ErrClosed = errors.New("the model is closed")

// A ContextError says that a prompt does not fit. It tells both numbers, so a
// caller can shorten the prompt or open the model with a longer context.
type ContextError struct{ Prompt, Context int }

func (e *ContextError) Error() string {
	return fmt.Sprintf("a prompt of %d tokens does not fit a context of %d: shorten it or open the model with a longer context", e.Prompt, e.Context)
}

// A Stream delivers the tokens of one request. One goroutine reads it.
type Stream struct {
	sched  *Scheduler
	req    Request
	tokens chan Token // holds all tokens the request may yield, so that sending never waits
	finish Finish     // valid once tokens is closed, as is err
	err    error
	// dropped is why the request was given up from outside, nil while it is
	// not. The scheduler looks at it between steps.
	dropped atomic.Pointer[error]
	stop    func() bool // ends the watch over the request's context
}

// Next returns the next token, or false when the request has ended.
func (st *Stream) Next() (Token, bool) {
	t, ok := <-st.tokens
	return t, ok
}

// Err returns why the request ended early, nil when it ran to its end. It is
// valid once Next has returned false.
func (st *Stream) Err() error { return st.err }

// Finish returns why the answer ended, "" if it was an error. It is valid once
// Next has returned false.
func (st *Stream) Finish() Finish { return st.finish }

// Close gives the request up at the next step boundary; it then ends with
// [context.Canceled]. Close does not wait for that. It is idempotent and need
// not be called after Next has returned false.
func (st *Stream) Close() { st.drop(context.Canceled) }

func (st *Stream) drop(why error) {
	if st.dropped.CompareAndSwap(nil, &why) {
		st.sched.kick()
		st.sched.abandon()
	}
}

// end closes the stream; the scheduler calls it exactly once.
func (st *Stream) end(f Finish, err error) {
	st.finish, st.err = f, err
	st.stop()
	close(st.tokens)
}

// check refuses what can never run.
func (s *Scheduler) check(r *Request) error {
	if len(r.Prompt) == 0 {
		return errors.New("the prompt has no tokens")
	}
	if n := len(r.Prompt) + len(r.Forced); n > s.context {
		return &ContextError{n, s.context}
	}
	vocab := s.x.Vocab()
	for _, list := range [][]int32{r.Prompt, r.Forced} {
		for i, t := range list {
			if t < 0 || int(t) >= vocab {
				return fmt.Errorf("token %d at position %d is outside the vocabulary of %d", t, i, vocab)
			}
		}
	}
	if err := s.fits(len(r.Prompt) + len(r.Forced)); err != nil {
		return err
	}
	return r.Sampling.Validate()
}

// Submit queues a request. Cancelling ctx ends it at the next step boundary,
// with the context's cause. An error from Submit itself says what can never
// run: [ContextError], *kv.MemoryError, [ErrClosed], tokens outside the
// vocabulary or sampling parameters outside their range.
func (s *Scheduler) Submit(ctx context.Context, r Request) (*Stream, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := s.check(&r); err != nil {
		return nil, err
	}
	r.own()
	r.MaxTokens = max(0, min(r.MaxTokens, s.context-len(r.Prompt)))
	if len(r.Forced) > 0 {
		r.MaxTokens = 0
	}
	st := &Stream{req: r, sched: s, tokens: make(chan Token, r.MaxTokens)}
	st.stop = context.AfterFunc(ctx, func() { st.drop(context.Cause(ctx)) })
	if !s.enqueue(st) {
		st.stop()
		return nil, ErrClosed
	}
	return st, nil
}
