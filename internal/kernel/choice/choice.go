// Package choice chooses by measurement, at first use, among ways to do the
// same work that differ in speed alone, and records what was measured.
package choice

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Decision is the record of one choice.
type Decision struct {
	What       string      `json:"what"`       // was chosen, as in "tiles expanded at a time"
	Class      string      `json:"class"`      // of the work: an element type
	Choice     int         `json:"choice"`     // the candidate in use
	Candidates []Candidate `json:"candidates"` // the one in use without measurement first
}

// A Candidate is a value that could have been chosen.
type Candidate struct {
	Value int           `json:"value"`
	Took  time.Duration `json:"ns"` // the same work for all, the best of several times
}

// A Choice is a value that a measurement decides. The zero Choice is open.
type Choice struct {
	value atomic.Int64 // 0 = open, -1 = being measured
}

const (
	open      = 0
	measuring = -1
	// times each candidate has its turn.
	times = 4
	// another candidate must be better by a part of 1/margin, or else the first
	// is taken: noise should not choose.
	margin = 32
)

var made struct {
	sync.Mutex
	choices   []*Choice
	decisions []Decision
	since     int // how often all was forgotten
}

// Open reports whether nobody has measured or is measuring.
func (c *Choice) Open() bool { return c.value.Load() == open }

// Or returns what was chosen, or v as long as that is open.
func (c *Choice) Or(v int) int {
	if n := c.value.Load(); n > 0 {
		return int(n)
	}
	return v
}

// Measure decides an open choice: do does the work as each of the values, which
// are positive, says, in turns. The first value stays unless another is clearly
// faster. Whoever comes while somebody measures returns at once.
func (c *Choice) Measure(what, class string, values []int, do func(value int)) {
	if !c.value.CompareAndSwap(open, measuring) {
		return
	}
	made.Lock()
	since := made.since
	made.Unlock()
	d := Decision{What: what, Class: class}
	for _, v := range values {
		d.Candidates = append(d.Candidates, Candidate{Value: v, Took: 1 << 62})
	}
	for range times {
		for i := range d.Candidates {
			k := &d.Candidates[i]
			start := time.Now()
			do(k.Value)
			k.Took = min(k.Took, max(1, time.Since(start)))
		}
	}
	d.Choice = best(d.Candidates)
	made.Lock()
	defer made.Unlock()
	if since != made.since { // of something else by now
		c.value.Store(open)
		return
	}
	made.choices = append(made.choices, c)
	made.decisions = append(made.decisions, d)
	c.value.Store(int64(d.Choice))
}

func best(all []Candidate) int {
	b := slices.MinFunc(all, func(a, b Candidate) int { return int(a.Took - b.Took) })
	if first := all[0]; first.Took-first.Took/margin <= b.Took {
		return first.Value
	}
	return b.Value
}

// Decisions returns the records of all choices that are made, by class.
func Decisions() []Decision {
	made.Lock()
	defer made.Unlock()
	return slices.SortedStableFunc(slices.Values(made.decisions), func(a, b Decision) int {
		return strings.Compare(a.Class+" "+a.What, b.Class+" "+b.What)
	})
}

// Forget opens all choices and drops their records.
func Forget() {
	made.Lock()
	defer made.Unlock()
	for _, c := range made.choices {
		c.value.Store(open)
	}
	made.choices, made.decisions = nil, nil
	made.since++
}
