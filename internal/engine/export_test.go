package engine

import (
	"time"

	"atenia/internal/machine/ledger"
	"atenia/internal/sched"
)

// SetLimit sets what an engine finds when it asks how much memory the process may
// have. It then asks before every step.
func (c *Config) SetLimit(f func() (bytes int64, stalled bool)) { c.Limit = f }

// Need is what an engine says that it needs now. It must be called between two
// steps.
func (e *Engine) Need() int64 { return e.pressure.need() }

// Share is the limit that an open engine asks for by itself.
func (e *Engine) Share() (bytes int64, stalled bool) { return e.Plan.account.Share() }

// Paced is how many passes the prediction of the next ones is made of. It must be called
// between two steps.
func (e *Engine) Paced() int { return e.pace.seen }

// Between does what happens between two steps, with a sample or without.
func (e *Engine) Between(p *sched.Pause, sample bool) {
	if e.pressure.real = true; sample {
		e.pressure.next = time.Time{}
	}
	e.pressure.between(p)
}

// PromiseHeld promises the model what it has, and no more.
func (e *Engine) PromiseHeld() {
	a := e.Plan.account
	a.Promise(a.Held() - a.Of(ledger.Program))
}

type Footprint = footprint

var NewFootprint = newFootprint
