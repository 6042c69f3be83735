package conform

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"atenia/internal/store/durable"
)

// A experiment is one line of section 4.
type experiment struct {
	ID      string // REQ-5.1.1a, DET-1, …
	Section string // 4.3
	What    string // what has to hold, in a line
	Slow    bool   // takes minutes
	Later   string // why there is no check yet; then Check is nil
	Device  bool   // only a device can show it
	Check   func(t *report)
}

// A State is how a row ended.
type State string

const (
	Pass        State = "pass"         // it does what is asked
	Fail        State = "fail"         // see the faults
	Short       State = "short"        // measured, correct, and slower than its limit
	NotYet      State = "not-yet"      // there is no check yet, as what it checks is not built
	NeedsDevice State = "needs-device" // only an accelerator shows it
	Skipped     State = "skipped"      // a slow row that was not asked for
)

// A Result is a row's outcome.
type Result struct {
	ID      string   `json:"id"`
	Section string   `json:"section"`
	What    string   `json:"what"`
	State   State    `json:"state"`
	Figure  string   `json:"figure,omitempty"`
	Faults  []string `json:"faults,omitempty"`
	Short   []string `json:"short,omitempty"` // figures of speed that missed their limits
	Seconds float64  `json:"seconds"`
}

// logger writes lines while a slow row runs.
type logger func(format string, args ...any)

// options say how to run a row.
type options struct {
	Log logger // nil discards lines
	// Brief asks for the fewest steps that show each fault, as tests want it; the
	// figures are then not those of the specification.
	Brief bool
}

// A report is what a check reports to.
type report struct {
	ctx    context.Context
	log    logger
	brief  bool
	short  []string
	figure []string
	faults []string
	remove []func() error // of its folders
}

// stopped ends a check early.
type stopped struct{}

// Context ends when the run is interrupted.
func (t *report) Context() context.Context { return t.ctx }

// Brief reports whether faults count and figures do not: a check may then do less,
// as long as every fault that it is there for still shows.
func (t *report) Brief() bool { return t.brief }

// Log writes a line of progress.
func (t *report) Log(format string, args ...any) { t.log(format, args...) }

// Figure adds to what the table shows.
func (t *report) Figure(format string, args ...any) {
	t.figure = append(t.figure, fmt.Sprintf(format, args...))
}

// Errorf notes a fault; the row fails.
func (t *report) Errorf(format string, args ...any) {
	const most = 20
	if len(t.faults) < most {
		t.faults = append(t.faults, fmt.Sprintf(format, args...))
	}
}

// Fatalf notes a fault and ends the check.
func (t *report) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stopped{})
}

// Must ends the check if there is an error.
func (t *report) Must(err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Within notes a fault unless got is at most limit.
func (t *report) Within(what string, got, limit float64) {
	if !(got <= limit) {
		t.Errorf("%s is %.3g, at most %.3g", what, got, limit)
	}
}

// Rate notes how many of something a second were measured, and that the row is
// short if they are fewer than least. A busy machine is slow and not wrong, so the
// fault is alone that nothing was measured.
func (t *report) Rate(what string, got, least float64) {
	t.speed(what+"/s", got, least, got < least)
}

// Took notes how long something took, and that the row is short if that was
// longer than limit.
func (t *report) Took(what string, d, limit time.Duration) {
	t.speed("seconds of "+what, d.Seconds(), limit.Seconds(), d > limit)
}

func (t *report) speed(what string, got, limit float64, short bool) {
	switch {
	case !(got > 0) || math.IsInf(got, 0):
		t.Errorf("%s were not measured: %v", what, got)
	case short:
		t.short = append(t.short, fmt.Sprintf("%.4g %s, the limit is %g", got, what, limit))
	}
}

// Dir is a folder for the check, removed afterwards.
func (t *report) Dir() string {
	dir, remove, err := durable.TempDir("", "quila-conformance-")
	t.Must(err)
	t.remove = append(t.remove, remove)
	return dir
}

// Run runs one row. A check that panics fails.
func (r *experiment) Run(ctx context.Context, o options) (res Result) {
	res = Result{ID: r.ID, Section: r.Section, What: r.What, State: Pass}
	switch {
	case r.Later != "":
		res.State, res.Figure = NotYet, r.Later
		return res
	case r.Device:
		res.State = NeedsDevice
		return res
	}
	t := &report{ctx: ctx, log: o.Log, brief: o.Brief}
	if t.log == nil {
		t.log = func(string, ...any) {}
	}
	start := time.Now()
	defer func() {
		if p := recover(); p != nil && p != any(stopped{}) {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		for _, remove := range t.remove {
			_ = remove()
		}
		res.Seconds, res.Figure, res.Faults, res.Short = time.Since(start).Seconds(), strings.Join(t.figure, ", "), t.faults, t.short
		switch {
		case len(t.faults) > 0:
			res.State = Fail
		case len(t.short) > 0:
			res.State = Short
		}
	}()
	r.Check(t)
	return res
}
