package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"atenia/internal/exec"
)

// An Input is the tokens of one text to encode, or of two with their types.
type Input struct {
	Tokens []int32
	Types  []int32 // of each token; nil = 0
}

// An encoder batches the texts of all callers: whoever has texts left runs a step
// with the oldest that fit, whosever they are. Vectors do not depend on it.
type encoder struct {
	mu    sync.Mutex
	queue []*encoding // oldest first
	step  exec.Step   // of the scheduler's goroutine
}

// An encoding is one text of a call.
type encoding struct {
	in   Input
	call *encodeCall
	rows [][]float32
}

// An encodeCall counts the texts of a call that are left.
type encodeCall struct {
	left int
	err  error
}

// Encode returns the results of texts: for each its vector or scores, one row, or
// with pooling "none" a row for each token. Texts of concurrent calls share steps.
func (e *Engine) Encode(ctx context.Context, texts []Input) ([][][]float32, error) {
	limit := e.Plan.Effective().exec(&e.Plan.Model.Config)
	call := &encodeCall{left: len(texts)}
	items := make([]*encoding, len(texts))
	for i := range texts {
		if n := len(texts[i].Tokens); n < 1 || n > limit.Context {
			return nil, fmt.Errorf("text %d has %d tokens, want 1 to %d", i, n, limit.Context)
		}
		items[i] = &encoding{in: texts[i], call: call}
	}
	c := &e.encoder
	c.mu.Lock()
	c.queue = append(c.queue, items...)
	c.mu.Unlock()
	for {
		c.mu.Lock()
		left, err := call.left, call.err
		c.mu.Unlock()
		if err == nil && left == 0 {
			break
		}
		if err == nil {
			if err = context.Cause(ctx); err == nil {
				err = e.Sched.Borrow(e.encodeStep)
			}
		}
		if err != nil {
			c.drop(call)
			return nil, err
		}
	}
	out := make([][][]float32, len(items))
	for i, it := range items {
		out[i] = it.rows
	}
	return out, nil
}

// drop takes what is left of a call out of the queue.
func (c *encoder) drop(call *encodeCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = slices.DeleteFunc(c.queue, func(it *encoding) bool { return it.call == call })
}

// take returns the oldest texts that fit a step.
func (c *encoder) take(x *exec.Executor) (batch []*encoding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := x.Room()
	n := 0
	for n < len(c.queue) && room.Take(len(c.queue[n].in.Tokens)) {
		n++
	}
	batch = slices.Clone(c.queue[:n])
	c.queue = slices.Delete(c.queue, 0, n)
	return batch
}

// encodeStep computes one step of waiting texts. A fault of it is that of the
// texts' callers.
func (e *Engine) encodeStep(x *exec.Executor) error {
	batch := e.encoder.take(x)
	if len(batch) == 0 {
		return nil
	}
	s, pool := &e.encoder.step, e.Plan.Model.Config.Encoder.Pool
	s.Runs, s.Tokens, s.Types, s.Requested = s.Runs[:0], s.Tokens[:0], s.Types[:0], s.Requested[:0]
	for _, it := range batch {
		n := len(it.in.Tokens)
		s.Runs = append(s.Runs, exec.Run{First: len(s.Tokens), Len: n, Span: n})
		for r := exec.Pooled(&s.Runs[len(s.Runs)-1], pool); r.Lo < r.Hi; r.Lo++ {
			s.Requested = append(s.Requested, int32(r.Lo))
		}
		s.Tokens = append(s.Tokens, it.in.Tokens...)
		s.Types = append(s.Types, it.in.Types...)
		s.Types = append(s.Types, make([]int32, len(s.Tokens)-len(s.Types))...)
	}
	err := x.Step(s)
	at := 0
	for i, it := range batch {
		for r := exec.Pooled(&s.Runs[i], pool); err == nil && r.Lo < r.Hi; r.Lo++ {
			it.rows = append(it.rows, slices.Clone(x.Logits(s, at)))
			at++
		}
	}
	e.encoder.mu.Lock()
	defer e.encoder.mu.Unlock()
	for _, it := range batch {
		it.call.left--
		if err != nil {
			it.call.err = err
		}
	}
	return nil
}
