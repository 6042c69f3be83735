package live

import (
	"fmt"
	"strings"
	"time"

	"atenia/flow/graph"
	"atenia/internal/spelling"
)

// A LoopReport summarizes the run of a [Loop].
type LoopReport struct {
	Native   bool     // the thread held no P: Go's scheduler and collector could not stop it
	FIFO     int      // priority under SCHED_FIFO; 0: default scheduling
	Warnings []string // requests that the system refused

	Blocks int64      // blocks that ran
	Late   int64      // blocks that ended after the next one was due (xruns)
	Missed int64      // periods skipped because of late blocks
	Faults int64      // blocks with a result other than Success
	Code   graph.Code // the last such result

	Wake Histogram // from the time a block was due to its start: wake-up latency
	Work Histogram // from its start to its end
}

func (r *LoopReport) take(t *tally) {
	r.Blocks, r.Late, r.Missed, r.Faults, r.Code = t.blocks, t.late, t.missed, t.faults, t.code
	r.Wake, r.Work = t.wake, t.work
}

// LateShare returns the share of blocks that were late, 0 to 1.
func (r *LoopReport) LateShare() float64 {
	if r.Blocks == 0 {
		return 0
	}
	return float64(r.Late) / float64(r.Blocks)
}

// String formats the report for people.
func (r LoopReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d late (%.3g %%), %d missed", spelling.Count(r.Blocks, "block"), r.Late, 100*r.LateShare(), r.Missed)
	if r.Faults > 0 {
		fmt.Fprintf(&b, ", %d with faults (last %v)", r.Faults, r.Code)
	}
	where := "goroutine"
	if r.Native {
		where = "native thread"
	}
	how := "ordinary scheduling"
	if r.FIFO > 0 {
		how = fmt.Sprintf("SCHED_FIFO %d", r.FIFO)
	}
	fmt.Fprintf(&b, "\n%s, %s\n", where, how)
	line := func(name string, h *Histogram) {
		if h.Count() > 0 {
			us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
			fmt.Fprintf(&b, "%s: median %.1f µs, 99 %% %.1f, 99.9 %% %.1f, longest %.1f\n", name,
				us(h.Quantile(.5)), us(h.Quantile(.99)), us(h.Quantile(.999)), us(h.Max()))
		}
	}
	line("woken after", &r.Wake)
	line("computing", &r.Work)
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}
