package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"atenia/internal/sched"
)

// A decoding is sequences with a context that are decoded token by token, in
// step with each other.
type decoding struct {
	m        *model
	steps    int       // to be timed
	contexts [][]int32 // [sequences][depth], the same in each sample, so that it is found computed
	seconds  []float64 // of each step of all samples, the warm-up first
}

func (m *model) newDecoding(steps, depth, batch int) *decoding {
	d := &decoding{m: m, steps: steps}
	for range batch {
		d.contexts = append(d.contexts, m.randomTokens(max(depth, 1)))
	}
	return d
}

// decodingTokens returns the final length of the sequences of a decoding. Those
// of a batch are decoded for longer than they are timed, because the first ones
// start while the context of the last one is computed.
func (m *model) decodingTokens(steps, depth, batch int) int {
	depth = max(depth, 1)
	if batch > 1 {
		steps += 2 + (batch-1)*depth/(m.cfg.BatchTokens-batch+1)
	}
	return depth + steps
}

// errTimed ends sequences that have been timed.
var errTimed = errors.New("timed")

// sample returns tokens a second of all sequences together.
func (d *decoding) sample(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := clock{sequences: len(d.contexts), rows: len(d.contexts) * d.steps, seconds: make([]float64, 0, d.steps)}
	forced := d.m.decodingTokens(d.steps, len(d.contexts[0]), len(d.contexts)) - len(d.contexts[0])
	submitted := make(chan struct{})
	var streams []*sched.Stream
	var err error
	for _, prefix := range d.contexts {
		var st *sched.Stream
		st, err = d.m.engine.Sched.Submit(ctx, sched.Request{
			Prompt: prefix, Forced: d.m.randomTokens(forced),
			OnLogits: func(row int, _ []float32) {
				<-submitted // or the first would run ahead
				if c.row(row == len(prefix)-1) {
					cancel(errTimed)
				}
			},
		})
		if err != nil {
			cancel(err)
			break
		}
		streams = append(streams, st)
	}
	close(submitted)
	for _, st := range streams {
		st.Next()
		if e := st.Err(); err == nil && !errors.Is(e, errTimed) {
			err = e
		}
	}
	d.seconds = append(d.seconds, c.seconds...)
	return float64(c.seen) / c.end.Sub(c.start).Seconds(), err
}

// A Latency is how long steps of decoding took, in seconds.
type Latency struct{ P50, P95 float64 }

// latency returns the percentiles of the steps after the warm-up.
func (d *decoding) latency() Latency {
	s := slices.Clone(d.seconds[min(d.steps, len(d.seconds)):])
	if len(s) == 0 {
		return Latency{}
	}
	slices.Sort(s)
	at := func(p int) float64 { return s[(len(s)-1)*p/100] }
	return Latency{at(50), at(95)}
}

// A clock times rows from the moment all sequences have begun. Then each step
// has a row of every one. It is used between steps alone.
type clock struct {
	sequences, begun int
	rows, seen       int // to be timed, and seen so far
	start, end       time.Time
	seconds          []float64 // of each step
	last             time.Time // end of the step before
}

// row notes a row of logits, the first one of its sequence or a later one, and
// reports whether it is the last to be timed.
func (c *clock) row(first bool) bool {
	now := time.Now()
	switch {
	case first:
		c.begun++
		c.start, c.last = now, now
	case c.begun == c.sequences && c.seen < c.rows:
		c.seen++
		c.end = now
		if c.seen%c.sequences == 0 {
			c.seconds = append(c.seconds, now.Sub(c.last).Seconds())
			c.last = now
		}
	}
	return c.seen == c.rows
}
