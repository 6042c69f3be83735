package conform

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// A Row is one line of section 4.
type Row struct {
	ID      string // REQ-5.1.1a, DET-1, …
	Section string // 4.3
	What    string // what has to hold, in a line
	Slow    bool   // takes minutes
	Later   string // why there is no check yet; then Check is nil
	Device  bool   // only a device can show it
	Brief   bool   // run the form that still fails under each fault it is there for
	Check   func(t *T)
}

// A State is how a row ended.
type State string

const (
	Pass        State = "pass"
	Fail        State = "fail"
	Short       State = "short" // right, but slower than its goal on this machine
	NotYet      State = "not-yet"
	NeedsDevice State = "needs-device"
	Skipped     State = "skipped" // a slow row that was not asked for
)

// A Result is a row's outcome.
type Result struct {
	ID      string   `json:"id"`
	Section string   `json:"section"`
	What    string   `json:"what"`
	State   State    `json:"state"`
	Figure  string   `json:"figure,omitempty"`
	Faults  []string `json:"faults,omitempty"`
	Missed  []string `json:"missed,omitempty"` // goals of speed
	Seconds float64  `json:"seconds"`
}

// Log writes lines while a slow row runs.
type Log func(format string, args ...any)

// A T is what a check reports to.
type T struct {
	ctx    context.Context
	log    Log
	figure []string
	faults []string
	missed []string
	brief  bool
	dirs   []string
}

// stopped ends a check early.
type stopped struct{}

// Context ends when the run is interrupted.
func (t *T) Context() context.Context { return t.ctx }

// Log writes a line of progress.
func (t *T) Log(format string, args ...any) { t.log(format, args...) }

// Figure adds to what the table shows.
func (t *T) Figure(format string, args ...any) {
	t.figure = append(t.figure, fmt.Sprintf(format, args...))
}

// Errorf notes a fault; the row fails.
func (t *T) Errorf(format string, args ...any) {
	const most = 20
	if len(t.faults) < most {
		t.faults = append(t.faults, fmt.Sprintf(format, args...))
	}
}

// Fatalf notes a fault and ends the check.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stopped{})
}

// Must ends the check if there is an error.
func (t *T) Must(err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Within notes a fault unless got is at most limit.
func (t *T) Within(what string, got, limit float64) {
	if !(got <= limit) {
		t.Errorf("%s is %.3g, at most %.3g", what, got, limit)
	}
}

// Brief tells a check that trains or draws to take no more steps or draws than
// show each planted fault: tests run it so, the command whole.
func (t *T) Brief() bool { return t.brief }

// Short notes that a figure of speed misses its goal. The row is then short: that
// may be the program's or the machine's fault, which a check cannot tell.
func (t *T) Short(format string, args ...any) {
	t.missed = append(t.missed, fmt.Sprintf(format, args...))
}

// Dir is a folder for the check, removed afterwards.
func (t *T) Dir() string {
	dir, err := os.MkdirTemp("", "quila-conformance-")
	t.Must(err)
	t.dirs = append(t.dirs, dir)
	return dir
}

// Run runs one row. A check that panics fails.
func (r *Row) Run(ctx context.Context, log Log) (res Result) {
	res = Result{ID: r.ID, Section: r.Section, What: r.What, State: Pass}
	switch {
	case r.Later != "":
		res.State, res.Figure = NotYet, r.Later
		return res
	case r.Device:
		res.State = NeedsDevice
		return res
	}
	if log == nil {
		log = func(string, ...any) {}
	}
	t := &T{ctx: ctx, log: log, brief: r.Brief}
	start := time.Now()
	defer func() {
		if p := recover(); p != nil && p != any(stopped{}) {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		for _, dir := range t.dirs {
			_ = os.RemoveAll(dir)
		}
		res.Seconds, res.Figure, res.Faults = time.Since(start).Seconds(), strings.Join(t.figure, ", "), t.faults
		res.Missed = t.missed
		if len(t.missed) > 0 {
			res.State = Short
		}
		if len(t.faults) > 0 {
			res.State = Fail
		}
	}()
	r.Check(t)
	return res
}
