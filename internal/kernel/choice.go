package kernel

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Decision is the record of one choice.
type Decision struct {
	What       string      `json:"what"`       // what was chosen, as in "tiles expanded at a time"
	Class      string      `json:"class"`      // kind of work: an element type
	Choice     int         `json:"choice"`     // the candidate in use
	Candidates []Candidate `json:"candidates"` // the default candidate first
}

// A Candidate is a value that could be chosen.
type Candidate struct {
	Value int           `json:"value"`
	Took  time.Duration `json:"ns"` // for the same work, the best of several runs
}

// A choice is a value decided by measurement. The zero Choice is open.
type choice struct {
	value atomic.Int64 // 0 = open, -1 = being measured
}

const (
	open      = 0
	measuring = -1
	// times is the number of runs of each candidate.
	times = 4
	// another candidate must be faster by 1/margin than the first, so that noise
	// does not decide.
	margin = 32
)

var made struct {
	sync.Mutex
	choices   []*choice
	decisions []Decision
	since     int // how often all choices were dropped
}

// Open reports whether the choice is neither made nor being measured.
func (c *choice) Open() bool { return c.value.Load() == open }

// Or returns the chosen value, or v while the choice is open.
func (c *choice) Or(v int) int {
	if n := c.value.Load(); n > 0 {
		return int(n)
	}
	return v
}

// Measure decides an open choice. It calls do, which does the work, with each of
// the values, which must be positive, in turns. The first value is chosen unless
// another is clearly faster. If a measurement is already running, it returns at
// once.
func (c *choice) Measure(what, class string, values []int, do func(value int)) {
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
	if since != made.since { // the choices were dropped meanwhile
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

// Decisions returns the records of all choices made, by class.
func Decisions() []Decision {
	made.Lock()
	defer made.Unlock()
	return slices.SortedStableFunc(slices.Values(made.decisions), func(a, b Decision) int {
		return strings.Compare(a.Class+" "+a.What, b.Class+" "+b.What)
	})
}

// forgetChoices reopens all choices and drops their records.
func forgetChoices() {
	made.Lock()
	defer made.Unlock()
	for _, c := range made.choices {
		c.value.Store(open)
	}
	made.choices, made.decisions = nil, nil
	made.since++
}
