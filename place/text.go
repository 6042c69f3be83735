package place

import (
	"fmt"
	"io"
	"strings"
	"time"

	"atenia/internal/spelling"
)

// WriteText tells the run as a story: what would help most comes last, with the
// command.
func (r *LastRun) WriteText(w io.Writer) error {
	var b strings.Builder
	which, why := "last run", ""
	if r.Later != nil {
		fmt.Fprintf(&b, "%s\n", r.Later)
		which, why = "run", ", the last one with an account"
	}
	fmt.Fprintf(&b, "%s of %s (%s), %s, %s%s\n", which, spelling.Line(r.Model), r.Family, time.Unix(r.Started, 0).Format(time.DateTime), spelling.Count(r.Threads, "thread"), why)
	r.writeGroups(&b)
	r.writeTime(&b)
	r.writeChanges(&b)
	r.writeLearned(&b)
	fmt.Fprintf(&b, "\nwhat would help most\n  %s\n", r.Advice.What)
	if r.Advice.Command != "" {
		fmt.Fprintf(&b, "  %s\n", r.Advice.Command)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeGroups says where weights lay.
func (r *LastRun) writeGroups(b *strings.Builder) {
	b.WriteString("\nwhere its weights were, and why\n")
	for _, g := range r.Groups {
		fmt.Fprintf(b, "  %s  %s of %s", g.Where, spelling.Count(g.Tensors, "tensor"), spelling.Size(g.Bytes))
		if g.Layers != "" {
			fmt.Fprintf(b, ", layers %s", g.Layers)
		}
		fmt.Fprintf(b, ", by rule %s: %s", g.Rule, g.Why)
		if g.Example != "" {
			fmt.Fprintf(b, " (%s)", g.Example)
		}
		b.WriteByte('\n')
	}
	if r.Budget != "" {
		fmt.Fprintf(b, "  budget %s; packing: %s\n", r.Budget, r.Packing)
	}
	for _, a := range r.Rules {
		if a.Rule != "Agrees" {
			fmt.Fprintf(b, "  by pressures alone, %s\n", a.Why)
		}
	}
	if r.Devices == "" { // there is none, or one computes
		return
	}
	for _, k := range r.Kernels {
		at := "the processor"
		if k.Target == "Gpu" {
			at = "a device"
		}
		fmt.Fprintf(b, "  %s on %s: %s\n", spelling.Count(k.Kernels, "kernel"), at, k.Why)
	}
}

// writeTime says what a token took, or a step where steps have several, and why that long.
func (r *LastRun) writeTime(b *strings.Builder) {
	each, unit := r.step(), r.unit()
	fmt.Fprintf(b, "\nwhy a %s took %s\n", unit, took(each))
	fmt.Fprintf(b, "  %s in %s, %.2f tokens a second, the slowest step %s (step %d)\n", spelling.Count(r.Decode.Tokens, "token"), spelling.Count(r.Decode.Steps, "step"), float64(r.Decode.Tokens)/max(r.Decode.Seconds, 1e-9), took(r.Decode.Slowest), r.Decode.At)
	fmt.Fprintf(b, "  computing %s, waiting %s", took(r.Computing), took(r.Waiting))
	if r.Reading > 0 {
		fmt.Fprintf(b, ", reading beside it %s", took(r.Reading))
	}
	if d := r.drafting(); d > 0 {
		fmt.Fprintf(b, ", of which drafting %s", took(d))
	}
	fmt.Fprintf(b, "\n  bound by %s: %s\n", r.Bound, r.BoundWhy)
	if r.Predicted > 0 && r.Decode.Steps > 0 {
		fmt.Fprintf(b, "  predicted were %s: %+.0f %%\n", took(r.Predicted), 100*((each-r.drafting())/r.Predicted-1))
	}
	r.writeDrafts(b)
	if r.Prompt.Tokens > 0 {
		fmt.Fprintf(b, "  the prompt's %s took %s\n", spelling.Count(r.Prompt.Tokens, "token"), took(r.Prompt.Seconds))
	}
	if r.Failed > 0 {
		fmt.Fprintf(b, "  %s failed\n", spelling.Count(r.Failed, "step"))
	}
}

// writeDrafts says what became of drafted tokens, and who drafted.
func (r *LastRun) writeDrafts(b *strings.Builder) {
	d := &r.Drafts
	switch {
	case d.Drafted > 0:
		fmt.Fprintf(b, "  %d of %s were accepted, and took no step of their own", d.Accepted, spelling.Count(d.Drafted, "drafted token"))
	case d.Model != "":
		b.WriteString("  no drafts were verified: none were measured to pay, or requests were without")
	default:
		return
	}
	if d.Model != "" {
		fmt.Fprintf(b, "; drafting with %s took %s", d.Model, took(d.Seconds))
	}
	b.WriteByte('\n')
}

// writeChanges says what changed while it ran.
func (r *LastRun) writeChanges(b *strings.Builder) {
	b.WriteString("\nwhat changed while it ran\n")
	for _, e := range r.Pressure {
		fmt.Fprintf(b, "  token %d, after %s: the limit was %s, %s were needed; %s: %s", e.Step, took(e.At), spelling.Size(e.Limit), spelling.Size(e.Need), e.What, e.Text)
		if e.Moves > 0 {
			fmt.Fprintf(b, "; it went on after %s", took(e.Took))
		}
		b.WriteByte('\n')
	}
	if r.More > 0 {
		fmt.Fprintf(b, "  … and memory moved %d more times\n", r.More)
	}
	const most = 12
	for i, c := range r.Changes {
		if i == most {
			fmt.Fprintf(b, "  … and %d more\n", len(r.Changes)-most)
			break
		}
		fmt.Fprintf(b, "  token %d: %s %s → %s by rule %s: %s\n", c.Step, c.What, c.From, c.To, c.Rule, c.Why)
	}
	if len(r.Changes)+len(r.Pressure) == 0 {
		b.WriteString("  nothing\n")
	}
}

// writeLearned says what was learned.
func (r *LastRun) writeLearned(b *strings.Builder) {
	l := r.Learned
	if l == nil {
		return
	}
	fmt.Fprintf(b, "\nwhat was learned\n  memory pressure was in band %s, at most %.2f; %s of this machine are known in %s\n", l.Band, l.Peak, spelling.Count(int64(l.Episodes), "episode"), spelling.Count(l.Rows, "row"))
	fmt.Fprintf(b, "  %s is recommended (%s); trials of settings took %.2f %% of the time of all runs\n", strings.ToUpper(l.Recommended), l.Because, 100*l.LostShare)
	for _, k := range l.Knobs {
		var all []string
		for _, o := range k.Options {
			if o.Seconds > 0 {
				all = append(all, o.Option+" "+took(o.Seconds))
			} else {
				all = append(all, o.Option+" not tried yet")
			}
		}
		fmt.Fprintf(b, "  %s, %s: %s (%s)\n", k.Class, k.Knob, k.Option, strings.Join(all, ", "))
	}
	if l.Weights != "" {
		fmt.Fprintf(b, "  weights: %s\n", l.Weights)
	}
}

// took prints seconds as people read them.
func took(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.2f s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.2f ms", 1e3*s)
	}
	return fmt.Sprintf("%.0f µs", 1e6*s)
}
