package sched

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"atenia/internal/exec"
	"atenia/internal/plan"
	"atenia/internal/sample"
)

// Counters are what steps count, for those who see them through a scheduler.
type Counters = exec.Counters

// A Request asks for the continuation of a prompt, or for its logits.
type Request struct {
	ID        string // names it in decisions; "" = one is made
	Prompt    []int32
	Priority  int     // from −100 to 100; those with more are admitted first, and lose memory last
	Client    string  // whose it is: clients that wait get equal numbers of tokens
	Images    []Image // of the prompt, by position
	MaxTokens int     // tokens to generate; 0 = none, and only OnLogits sees results
	Sampling  sample.Params
	Stop      []int32 // tokens that end the generation; delivered as the last token
	// Constrain, if not nil, is called when the request begins, and makes what
	// limits its tokens. The request ends when that is done. It keeps its state when
	// the sequence is preempted.
	Constrain func() sample.Constraint
	// Forced tokens are fed one by one as if they had been generated; nothing is
	// sampled.
	Forced []int32
	// OnLogits, if not nil, receives the logits of every row of the prompt if All
	// is set, otherwise of its last row, and of every forced or generated token
	// that is fed back: each row once, in order. row counts tokens from 0. The
	// slice is valid during the call. The call blocks the scheduler and must not
	// wait for it.
	OnLogits func(row int, logits []float32)
	All      bool
	// Rows has a copy of each row handed to the function of [Stream.Rows], all rows if
	// All is set, otherwise the last one. Nothing is generated. A sequence whose reader
	// is behind keeps its slot, unless requests wait and all slots are kept so for
	// 200 ms.
	Rows bool
	// LowRank is the adapter whose products the request has, nil = none; its scales are
	// multiplied by Strength. Adapter is its name, for decisions. It must not be
	// released before Ended was called.
	LowRank  *exec.LowRank
	Strength float32
	Adapter  string
	// Ended, if not nil, is called once when the request has ended and no step uses
	// what it brought. It is called by the scheduler, or by Submit if that fails, and
	// must not wait for either.
	Ended func()
	// Speculate says which drafts its tokens are verified with.
	Speculate Speculation
	// Trace, if not nil, receives what every instruction computed for the request, which
	// then has steps of its own. It is called by the scheduler and must not wait for it.
	Trace func(Traced)
	// Counters, if not nil, count the steps that contain rows of the request,
	// including the rows of other requests. They cost atomic operations.
	Counters *Counters
}

// A Traced is one output of an instruction, of the rows of a step: those of the tokens from
// First on, or after the last blocks of a model only those whose logits are wanted.
type Traced struct {
	Step        int // of the request, from 0
	First       int // token of the first row
	Instruction int // of the program that ran
	Op          plan.Opcode
	Layer       int // -1 outside layers
	Output      int // of the instruction
	Values      []float32
	Cols        int
}

// span returns the maximum length of the request's sequence.
func (r *Request) span() int { return len(r.Prompt) + max(r.MaxTokens, len(r.Forced)) }

// own copies what the caller may modify after Submit.
func (r *Request) own() {
	r.Images = slices.Clone(r.Images)
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

// A Finish is the reason why a request ended without an error.
type Finish string

// The finish reasons.
const (
	FinishStop   Finish = "stop"   // a stop token
	FinishLength Finish = "length" // MaxTokens or the context was reached
)

// ErrClosed is returned for requests to a closed scheduler.
var ErrClosed = errors.New("the model is closed")

// ErrEncoder is returned for requests to a model that does not generate text.
var ErrEncoder = errors.New("the model turns texts into vectors or scores and does not generate text: use \"atenia embed\" (Model.Embed), or \"atenia rerank\" (Model.Rerank) for a classifier")

// A ContextError says that a prompt exceeds the context. It holds both lengths,
// so that a caller can shorten the prompt or open the model with a longer
// context.
type ContextError struct {
	Prompt, Context int
	// Cache says that the model's context is longer, and that there is no memory for the
	// keys and values of more.
	Cache bool
}

func (e *ContextError) Error() string {
	if e.Cache {
		return fmt.Sprintf("a prompt of %d tokens does not fit: the cache has memory for the keys and values of %d: shorten it or give the cache more", e.Prompt, e.Context)
	}
	return fmt.Sprintf("a prompt of %d tokens does not fit a context of %d: shorten it or open the model with a longer context", e.Prompt, e.Context)
}

// tooLong is the error for a sequence of n tokens.
func (s *Scheduler) tooLong(n int) error {
	return &ContextError{n, s.context, s.context < s.shared.Load().Config().Context}
}

// Context returns how many tokens a sequence may have: the executor's context, or fewer
// if a bounded cache holds no more.
func (s *Scheduler) Context() int { return s.context }

// A Stream delivers the tokens of one request. It must be read by one goroutine.
type Stream struct {
	sched  *Scheduler
	req    Request
	tokens chan Token // has capacity for all tokens of the request, so that sending never blocks
	read   int        // tokens that Next has returned
	ended  bool       // Next has returned false
	cached int        // tokens of the prompt that were reused; valid once a token was sent or tokens is closed
	made   int        // tokens sent; the scheduler's
	traced int        // steps that were traced; the scheduler's
	// drafted and accepted count drafted tokens; valid once tokens is closed.
	drafted, accepted int
	byModel           struct{ drafted, accepted int } // of those, the draft model's

	slot   int    // number of its slot, 0 = none yet; the scheduler's
	why    Rule   // by which it waits, if waiting; the scheduler's
	finish Finish // valid, like err, once tokens is closed
	err    error
	// dropped is the cause if the request was cancelled, else nil. The scheduler
	// checks it between steps.
	cancelled atomic.Pointer[error]
	stop      func() bool // stops watching the request's context
	waiting   bool        // a decision says that it waits

	// For the queue.
	number    uint64 // by arrival
	came      uint64 // steps that had been computed
	client    *client
	noted     Decision // why it is admitted
	deferred  bool     // it waits for another's prefix
	lead      *slot    // whose; nil = none, valid while its count of admission is leadBegan
	leadBegan uint64
	forkAt    int       // length of that prefix
	load      *transfer // reads a prefix for it; nil = none
	looked    bool      // it was looked for on the disk

	rows      rows
	want, fed int // first row still needed, and forced tokens fed, when it gave its slot up; 0 = it did not
}

// Next returns the next token; false when the request has ended.
func (st *Stream) Next() (Token, bool) {
	t, ok := <-st.tokens
	if ok {
		st.read++
	} else {
		st.ended = true
	}
	return t, ok
}

// A Usage counts the tokens of a request.
type Usage struct {
	Prompt int // tokens of the prompt
	Cached int // of those, tokens whose keys and values were reused when the request was admitted
	Answer int // tokens that Next has returned, a stop token included
	// Drafted is how many tokens were drafted and computed, and Accepted how many of them
	// were what the sampler chose. They are 0 until Next has returned false.
	Drafted, Accepted int
	// ModelDrafted and ModelAccepted are those of them that a draft model made.
	ModelDrafted, ModelAccepted int
}

// Usage returns the counts. It is for the goroutine that calls Next, and valid
// from the first return of Next on. Tokens that a preempted sequence computes
// again are not counted twice.
func (st *Stream) Usage() Usage {
	u := Usage{Prompt: len(st.req.Prompt), Cached: st.cached, Answer: st.read}
	if st.ended {
		u.Drafted, u.Accepted = st.drafted, st.accepted
		u.ModelDrafted, u.ModelAccepted = st.byModel.drafted, st.byModel.accepted
	}
	return u
}

// Err returns why the request ended early, nil if it completed. It is valid once
// Next has returned false.
func (st *Stream) Err() error { return st.err }

// Finish returns why the generation ended, "" after an error. It is valid once
// Next has returned false.
func (st *Stream) Finish() Finish { return st.finish }

// Close cancels the request at the next step boundary, with [context.Canceled],
// and does not wait for that. It may be called more than once and is not needed
// after Next has returned false.
func (st *Stream) Close() { st.cancel(context.Canceled) }

func (st *Stream) cancel(why error) {
	if st.cancelled.CompareAndSwap(nil, &why) {
		st.sched.kick()
		st.sched.cancelStep()
	}
}

// end closes the stream; the scheduler calls it exactly once.
func (st *Stream) end(f Finish, err error) {
	st.finish, st.err = f, err
	st.stop()
	st.client.live.Add(-1)
	st.sched.recordEnd(st, f, err)
	st.req.ended()
	close(st.tokens)
}

// Check rejects a request that could never run, as [Scheduler.Submit] does.
func (s *Scheduler) Check(r *Request) error {
	if !s.shared.Load().Decodes() {
		return ErrEncoder
	}
	if len(r.Prompt) == 0 {
		return errors.New("the prompt has no tokens")
	}
	if n := len(r.Prompt) + len(r.Forced); n > s.context {
		return s.tooLong(n)
	}
	vocab := s.vocab
	for _, list := range [][]int32{r.Prompt, r.Forced} {
		for i, t := range list {
			if t < 0 || int(t) >= vocab {
				return fmt.Errorf("token %d at position %d is outside the vocabulary of %d", t, i, vocab)
			}
		}
	}
	if err := errors.Join(checkPriority(r.Priority), s.checkImages(r)); err != nil {
		return err
	}
	return r.Sampling.Validate()
}

// Submit queues a request. Cancelling ctx ends it at the next step boundary,
// with the context's cause. Submit itself rejects requests that could never run:
// [ContextError], [ErrClosed], tokens outside the vocabulary or
// sampling parameters outside their range.
func (s *Scheduler) Submit(ctx context.Context, r Request) (*Stream, error) {
	if err := cmp.Or(context.Cause(ctx), s.Check(&r)); err != nil {
		r.ended()
		return nil, err
	}
	r.own()
	r.MaxTokens = max(0, min(r.MaxTokens, s.context-len(r.Prompt)))
	if len(r.Forced) > 0 || r.Rows {
		r.MaxTokens = 0
	}
	if r.ID == "" {
		r.ID = fmt.Sprint("r", s.admission.named.Add(1))
	}
	st := &Stream{req: r, sched: s, tokens: make(chan Token, r.MaxTokens)}
	st.rows.came = make(chan struct{}, 1)
	st.stop = context.AfterFunc(ctx, func() { st.cancel(context.Cause(ctx)) })
	if !s.admission.enqueue(st, s.steps.Load()) {
		st.stop()
		r.ended()
		return nil, s.admission.ending()
	}
	s.kick()
	return st, nil
}
