package grammar

import (
	"context"
	"errors"
	"time"
)

// What compiling one grammar may take. States are those of the network that the rules
// become, where a repetition counts as often as it may repeat, if that is up to 24 times. Real schemas take
// milliseconds and a few thousand states; the bounds are for those that are made, by
// mistake or not, to occupy a server.
const (
	CompileStates = maxNodes
	CompileTime   = 10 * time.Second
)

// A Budget is what is left for compiling one grammar; a nil one has no end. It is used by
// one goroutine, and not again.
type Budget struct {
	gone   func() error // why nobody waits for the grammar any more
	limit  time.Duration
	began  time.Time
	steps  int
	states int
}

// NewBudget returns a budget of [CompileStates], and of a time from now on. Beyond it,
// whatever compiles ends with a [*LimitError] that says where it was; soon after ctx is
// cancelled, with the cause.
func NewBudget(ctx context.Context, limit time.Duration) *Budget {
	return &Budget{gone: func() error { return context.Cause(ctx) }, limit: limit, began: time.Now()}
}

// A place is where in its source a grammar is compiled.
type place struct {
	pointer string
	offset  int
	schema  bool
}

// where returns the place of a rule.
func (g *Grammar) where(r int) place {
	return place{g.rules[r].pointer, g.rules[r].at, g.schema}
}

// whose returns the place of the rule that a node belongs to.
func (g *Grammar) whose(node int32) place {
	r := 0
	for r+1 < len(g.net.first) && g.net.first[r+1] <= node {
		r++
	}
	return g.where(r)
}

// step counts a piece of work, and says whether it was the last one that there is time for.
func (b *Budget) step() error {
	const between = 1 << 10 // pieces, each of microseconds at most, so that looking costs nothing
	if b == nil {
		return nil
	}
	if b.steps++; b.steps%between != 1 {
		return nil
	}
	return b.look()
}

// look is step for a piece that may take long.
func (b *Budget) look() error {
	if b == nil {
		return nil
	}
	if err := b.gone(); err != nil {
		return err
	}
	if time.Since(b.began) > b.limit {
		return &LimitError{What: "seconds", Most: int(b.limit.Seconds())}
	}
	return nil
}

// spent adds to a *LimitError where and after what it came, unless it knows.
func (b *Budget) spent(err error, at place) error {
	e, ok := errors.AsType[*LimitError](err)
	if b == nil || !ok || e.Took > 0 {
		return err
	}
	e.Pointer, e.Offset, e.Schema = at.pointer, at.offset, at.schema
	e.States, e.Took = b.states, max(1, time.Since(b.began))
	return e
}
