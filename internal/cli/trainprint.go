package cli

import (
	"fmt"
	"io"
	"time"

	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/train"
)

// A printer shows how a run goes.
type printer struct {
	env    *command.Env
	tokens int64         // of the run when this life began
	busy   time.Duration // that this life's steps took
	steps  int           // of this life
	shown  time.Time     // when the terminal's line was last drawn
	begun  time.Time
	goals  string // of an encoder
}

func (p *printer) started(s train.Subject) {
	p.begun, p.goals = time.Now(), s.Goals
	if *p.env.JSON {
		p.env.PrintJSON(s)
		return
	}
	fmt.Fprintf(p.env.Out, "%s: %s parameters, %s in the vocabulary; %s, %s tokens; %s\n",
		s.Architecture, short(float64(s.Parameters)), spelling.Count(s.Vocabulary, "token"), spelling.Count(s.Documents, "document"), short(float64(s.Tokens)), s.Out)
	if s.Memory != "" {
		fmt.Fprintln(p.env.Out, "memory:", s.Memory)
	}
	if s.Warning != "" {
		fmt.Fprintln(p.env.Err, "atenia: warning:", s.Warning)
	}
}

// step shows a step. Lines of evaluations stay, the others are drawn over each
// other, a few times a second.
func (p *printer) step(e train.Event) {
	const pause = 200 * time.Millisecond
	if e.Note != "" {
		p.clear()
		fmt.Fprintln(p.env.Err, "atenia: warning:", e.Note)
		return
	}
	p.steps++
	p.busy += time.Duration(e.Seconds * float64(time.Second))
	if p.steps == 1 {
		p.tokens, p.busy = e.Tokens, 0 // the first step warms up
	}
	if *p.env.JSON {
		m := train.Metric{Step: e.Step, Rate: e.Rate, Tokens: e.Tokens, Seconds: e.Seconds, Skipped: e.Skipped, Eval: e.Eval, Accuracy: e.Accuracy}
		if !e.Skipped {
			m.Loss, m.Norm = e.Loss, e.Norm
		}
		p.env.PrintJSON(m)
		return
	}
	if e.Skipped {
		p.clear()
		fmt.Fprintf(p.env.Err, "atenia: warning: step %d skipped: its loss or gradients are not finite\n", e.Step)
	}
	if e.Eval != nil {
		p.clear()
		best := ""
		if e.Best {
			best = ", the lowest so far"
		}
		if e.Accuracy != nil {
			best += fmt.Sprintf("; %.1f %% right", 100**e.Accuracy)
		}
		fmt.Fprintf(p.env.Out, "step %d of %d: loss %.4f, held out %.4f%s\n", e.Step, e.Steps, e.Loss, *e.Eval, best)
	}
	if now := time.Now(); now.Sub(p.shown) >= pause {
		p.shown = now
		fmt.Fprintf(p.env.Progress, "\r\x1b[Kstep %d of %d  loss %.4f  %s", e.Step, e.Steps, e.Loss, p.speed(e, now))
	}
}

// speed returns the speed of a run and the time left. Evaluations and snapshots
// count for the time left only.
func (p *printer) speed(e train.Event, now time.Time) string {
	if p.steps < 2 || p.busy <= 0 {
		return ""
	}
	rate := float64(e.Tokens-p.tokens) / p.busy.Seconds()
	left := time.Duration(float64(now.Sub(p.begun)) / float64(p.steps) * float64(e.Steps-e.Step))
	return fmt.Sprintf("%s tokens/s  %v left", short(rate), left.Round(time.Second))
}

func (p *printer) clear() { io.WriteString(p.env.Progress, "\r\x1b[K") }

// done prints the result.
func (p *printer) done(r *train.Report) error {
	if *p.env.JSON {
		return p.env.PrintJSON(struct {
			Steps   int      `json:"steps"`
			Tokens  int64    `json:"tokens"`
			Loss    float64  `json:"loss"`
			Best    *float64 `json:"best,omitempty"`
			Skipped int      `json:"skipped"`
			Early   bool     `json:"early"`
			Written uint64   `json:"state_written_bytes,omitempty"`
			Out     string   `json:"out"`
			Base    string   `json:"base,omitempty"`
			Merged  string   `json:"merged,omitempty"`
		}{r.Steps, r.Tokens, r.Loss, r.Best, r.Skipped, r.Early, r.Written, r.Out, r.Base, r.Merged})
	}
	io.WriteString(p.env.Progress, train.DrawLoss(r.Metrics, 60, 10))
	best := ""
	if r.Best != nil {
		best = fmt.Sprintf(", lowest held out %.4f", *r.Best)
	}
	if r.Early {
		best += ", stopped early without improvement"
	}
	if r.Skipped > 0 {
		best += fmt.Sprintf(", %s skipped", spelling.Count(r.Skipped, "step"))
	}
	if r.Written > 0 {
		best += fmt.Sprintf(", %s of state written to files in all", spelling.Size(int64(r.Written)))
	}
	if _, err := fmt.Fprintf(p.env.Out, "%s, %s tokens%s\n", spelling.Count(r.Steps, "step"), short(float64(r.Tokens)), best); err != nil {
		return err
	}
	ready, what := r.Out, r.Out
	if r.Base != "" {
		what = fmt.Sprintf("%s --lora %s", r.Base, r.Out)
	}
	if r.Merged != "" {
		ready, what = r.Merged, r.Merged
	}
	if p.goals == "labels" { // no command prints them
		_, err := fmt.Fprintf(p.env.Out, "%s is ready\n", ready)
		return err
	}
	command := map[string]string{"": "run %s \"…\"", "vectors": "embed %s \"…\"", "scores": "rerank %s \"…\" \"…\""}[p.goals]
	_, err := fmt.Fprintf(p.env.Out, "%s is ready: atenia "+command+"\n", ready, what)
	return err
}

// short prints a number with a unit: 4.7M.
func short(x float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= u.of {
			return fmt.Sprintf("%.3g%s", x/u.of, u.name)
		}
	}
	return fmt.Sprintf("%.3g", x)
}
