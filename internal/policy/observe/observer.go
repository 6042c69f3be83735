package observe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/internal/policy/decide"
	"atenia/internal/policy/record"
	"atenia/internal/sched"
)

// A Config selects what is observed of a model. The zero Config selects
// nothing.
type Config struct {
	// Trace is a file for a trace of what ran when, which Perfetto shows.
	Trace string
	// Metrics is an address, such as ":9464", at which metrics are served for
	// Prometheus while the model is open.
	Metrics string
	// Listening receives the address, whose port was chosen if 0 was requested.
	Listening func(net.Addr)
	// Timeline is a file for the order of reads and of computing, in lines that
	// are the same for equal runs.
	Timeline string
	// Learning is a file of what is learned from the latencies of tokens;
	// existing content is extended.
	Learning string
	// Account is a folder for the account of this run. The observer only counts for
	// it, see [Observer.Tally].
	Account string
	// Counters counts what steps do, for [Observer.Counters].
	Counters bool
}

// asked reports whether anything is observed.
func (c *Config) asked() bool {
	return c.Counters || c.Trace+c.Metrics+c.Timeline+c.Learning+c.Account != ""
}

// A Fault is a field of a [Config] whose value cannot be used.
type Fault struct {
	Field, Value, Want string
	Err                error
}

// Error implements error.
func (e *Fault) Error() string {
	return fmt.Sprintf("%s is %q, want %s: %v", e.Field, e.Value, e.Want, e.Err)
}

// Unwrap returns the cause.
func (e *Fault) Unwrap() error { return e.Err }

// An Observer receives the events of a model. A nil observer may be closed.
type Observer struct {
	epoch   time.Time
	sinks   lane.Tee
	trace   *TraceWriter
	metrics *metrics
	lines   *lines // of the timeline
	learner *decide.Learner
	files   []*file
	stop    func() // the server
	served  chan error

	tally           Tally
	account         Account
	counters        *sched.Counters // nil if nothing shows them
	counted         [2]uint64       // dispatches and launches before the step
	seen            ring.Stats      // what metrics have counted
	chosen          Chosen          // likewise
	decoded         int             // passes
	seconds         float64         // of them
	sequences, past int             // of them all together, and the tokens of those
}

// An Account is what memory was planned for, and what the process has of it.
type Account struct {
	Placement *place.Placement   // nil without a budget
	Streamed  int64              // bytes that a pass reads
	Ring      *ring.Ring         // nil if nothing is streamed
	Experts   func() Chosen      // nil if no experts are read when tokens choose them
	Work      func() lane.Report // of the executor; nil without a ring
	Resident  func() int64       // memory of the process, 0 if that is not known; nil = never known
}

// Chosen is what the cache of a mixture's experts has done so far.
type Chosen struct {
	Bytes              int64         // of its memory
	Hits, Misses, Read int64         // experts in memory when tokens chose them, others, and bytes read
	Wait, Busy         time.Duration // that computing waited, and with a read in flight
}

// Open creates the configured files and server. It returns nil if there are
// none. Its errors are [Fault]s.
func Open(ctx context.Context, c Config) (_ *Observer, err error) {
	if !c.asked() {
		return nil, nil
	}
	o := &Observer{epoch: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if c.Learning != "" {
		if o.learner, err = decide.OpenLearner(ctx, decide.LearnerConfig{Path: c.Learning}); err != nil {
			return nil, &Fault{"Learning", c.Learning, "a file of what was learned, or the place of a new one", err}
		}
	}
	if c.Trace != "" {
		f, err := o.create("Trace", c.Trace)
		if err != nil {
			return nil, err
		}
		o.trace = NewTraceWriter(f.f, o.epoch.UnixNano())
		o.sinks = append(o.sinks, o.trace)
	}
	if c.Timeline != "" {
		f, err := o.create("Timeline", c.Timeline)
		if err != nil {
			return nil, err
		}
		o.lines = &lines{w: f.w}
	}
	if c.Counters || c.Trace+c.Metrics != "" {
		o.counters = &sched.Counters{}
	}
	if c.Metrics != "" {
		o.metrics = newMetrics()
		o.sinks = append(o.sinks, o.metrics)
		if err := o.serve(ctx, &c); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// A file is one that is written while the model runs.
type file struct {
	f *os.File
	w *bufio.Writer
}

func (o *Observer) create(field, path string) (*file, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, &Fault{field, path, "a file that can be written", err}
	}
	x := &file{f, bufio.NewWriter(f)}
	o.files = append(o.files, x)
	return x, nil
}

// serve returns when metrics are being served.
func (o *Observer) serve(ctx context.Context, c *Config) error {
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	o.served = make(chan error, 1)
	ready := make(chan net.Addr, 1)
	go func() { o.served <- o.metrics.Serve(ctx, c.Metrics, func(a net.Addr) { ready <- a }) }()
	select {
	case a := <-ready:
		if c.Listening != nil {
			c.Listening(a)
		}
		return nil
	case err := <-o.served:
		o.served = nil
		return &Fault{"Metrics", c.Metrics, `an address to listen at, such as ":9464"`, err}
	}
}

// Listeners returns the listeners for decisions.
func (o *Observer) Listeners() (out []record.Listener) {
	if o == nil {
		return nil
	}
	if o.trace != nil {
		out = append(out, o.trace)
	}
	if o.metrics != nil {
		out = append(out, o.metrics)
	}
	return out
}

// Counters returns what counts the steps of the model, and of one that drafts for it, nil
// if nothing shows it: steps without cost no atomic operation.
func (o *Observer) Counters() *sched.Counters {
	if o == nil {
		return nil
	}
	return o.counters
}

// dispatched shows what the last step added to the counts of instructions that were
// dispatched, and of work that was submitted to the worker pool.
func (o *Observer) dispatched(at time.Duration) {
	if o.counters == nil {
		return
	}
	for i, n := range [2]uint64{o.counters.Total(), o.counters.Launches()} {
		step := n - o.counted[i]
		o.counted[i] = n
		if o.metrics != nil {
			o.metrics.steps[i].Set(float64(step))
			o.metrics.totals[i].Add(float64(step))
		}
		if o.trace != nil {
			o.trace.Counter([2]string{"dispatches", "launches"}[i], at, MetricValue{Name: "step", Value: float64(step)}, MetricValue{Name: "total", Value: float64(n)})
		}
	}
}

// Learner returns what learns and decides while the model runs, nil if nothing
// does.
func (o *Observer) Learner() *decide.Learner {
	if o == nil {
		return nil
	}
	return o.learner
}

// Begin reports the placement of the weights, before the first pass and whenever
// weights have moved since the last one.
func (o *Observer) Begin(a Account) {
	o.account, o.seen = a, ring.Stats{}
	o.tally.begin(&a)
	o.memory(o.now())
}

func (o *Observer) now() time.Duration { return time.Since(o.epoch) }

// memory shows how full memory is.
func (o *Observer) memory(at time.Duration) {
	if o.metrics == nil && o.trace == nil { // what the process has is asked of the system
		return
	}
	var used, held, limit uint64
	if f := o.account.Resident; f != nil {
		used = uint64(max(0, f()))
	}
	if r := o.account.Ring; r != nil {
		held = uint64(r.Stats().Bytes)
	}
	if f := o.account.Experts; f != nil {
		held += uint64(f().Bytes)
	}
	if p := o.account.Placement; p != nil {
		limit = uint64(max(0, p.Input().RAM))
	}
	if o.metrics != nil {
		o.metrics.Tier(memory.RAM, used, held, limit)
		o.metrics.Tier(memory.SSD, uint64(o.account.Streamed), 0, 0)
	}
	if o.trace != nil {
		o.trace.Counter("bytes", at, MetricValue{Name: "ram", Value: float64(used)}, MetricValue{Name: "ssd", Value: float64(o.account.Streamed)})
	}
}

// Step records a step of the scheduler. It is called between two steps.
func (o *Observer) Step(p sched.StepInfo) {
	start := p.Start.Sub(o.epoch)
	if o.lines != nil {
		o.lines.write()
	}
	o.tally.count(&p, &o.account)
	if p.Decode && p.Drafted == 0 && o.learner != nil { // the learner compares steps of as many rows
		pressure := o.learner.After(decide.LearnerStep{Start: p.Start, Took: p.Took, Decode: p.Decode, Err: p.Err, Backend: decide.CPU}, o.now())
		if o.trace != nil {
			o.trace.Counter("pressure", start+p.Took, MetricValue{Name: "ram", Value: float64(pressure)})
		}
		if o.metrics != nil {
			o.metrics.Regret(o.learner.Regret())
		}
	}
	o.count(p)
	o.dispatched(start + p.Took)
	o.memory(start + p.Took)
}

// count updates the metrics.
func (o *Observer) count(p sched.StepInfo) {
	if o.metrics == nil || p.Err != nil {
		return
	}
	if r := o.account.Ring; r != nil {
		s := r.Stats()
		d := s.Since(o.seen)
		o.seen = s
		o.metrics.Prefetched(uint64(d.Hits), uint64(d.Late))
		o.metrics.Overlap(max(0, o.account.Work().Overlap()))
	}
	if f := o.account.Experts; f != nil {
		s, t := f(), o.chosen
		o.chosen = s
		o.metrics.Experts(uint64(s.Hits-t.Hits), uint64(s.Misses-t.Misses), uint64(s.Read-t.Read), s.Wait-t.Wait)
	}
	if p.Decode {
		o.decoded++
		o.seconds += p.Took.Seconds()
		o.sequences, o.past = o.sequences+p.Rows-p.Drafted, o.past+p.Past
		if pl := o.tally.Opened; pl != nil && !o.tally.moved {
			o.metrics.PredictionError(pl.Decode.At(float64(o.past)/float64(max(1, o.sequences))), o.seconds/float64(o.decoded))
		}
	}
}

// Close saves what was learned, closes the files and stops serving. No other
// method may be called afterwards.
func (o *Observer) Close() error {
	if o == nil {
		return nil
	}
	var errs []error
	if o.learner != nil {
		errs = append(errs, o.learner.Close())
	}
	if o.trace != nil {
		errs = append(errs, o.trace.Close())
	}
	if o.lines != nil {
		o.lines.write()
	}
	for _, f := range o.files {
		errs = append(errs, f.w.Flush(), f.f.Close())
	}
	if o.stop != nil {
		o.stop()
		if o.served != nil {
			errs = append(errs, <-o.served)
		}
	}
	o.files, o.trace, o.stop, o.learner = nil, nil, nil, nil
	return errors.Join(errs...)
}
