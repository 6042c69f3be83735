package quila

import (
	"context"
	"slices"
	"strings"

	"atenia/quila/internal/conform"
)

// A Result is the outcome of one row of the conformance suite.
type Result struct {
	ID      string   `json:"id"`
	Section string   `json:"section"`
	What    string   `json:"what"`
	State   string   `json:"state"`            // pass, fail, short, not-yet, needs-device or skipped
	Figure  string   `json:"figure,omitempty"` // what was measured
	Faults  []string `json:"faults,omitempty"`
	Short   []string `json:"short,omitempty"` // figures of speed that missed their limits
	Seconds float64  `json:"seconds"`
}

// Conformance says how to run the suite.
type Conformance struct {
	Only []string // ids, or their beginnings; all if empty
	Slow bool     // also rows that take minutes
	// Log receives lines of progress; nil discards them.
	Log func(format string, args ...any)
	// Each is called with every result as soon as it is there.
	Each func(Result)
}

// Run runs the rows one after another, in the order of the specification. A row
// that is slow is skipped unless Slow is set or Only names it.
func (o Conformance) Run(ctx context.Context) []Result {
	var out []Result
	for _, r := range rows() {
		named := slices.ContainsFunc(o.Only, func(id string) bool { return strings.HasPrefix(r.ID, id) })
		if len(o.Only) > 0 && !named {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		var got conform.Result
		if r.Slow && !o.Slow && !named {
			got = conform.Result{ID: r.ID, Section: r.Section, What: r.What, State: conform.Skipped, Figure: "takes minutes: --slow"}
		} else {
			got = r.Run(ctx, conform.Options{Log: o.Log})
		}
		res := Result{got.ID, got.Section, got.What, string(got.State), got.Figure, got.Faults, got.Short, got.Seconds}
		if o.Each != nil {
			o.Each(res)
		}
		out = append(out, res)
	}
	return out
}
