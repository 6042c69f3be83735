package atenia

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/engine"
	"atenia/internal/policy/observe"
	"atenia/internal/spelling"
)

// account writes the account of a run that computed something. The scheduler
// has stopped, and the weights are still there.
func (m *Model) account() error {
	if m.accounts == "" {
		return nil
	}
	defer m.mark.leave()
	if t := m.observer.Tally(); t.Prompt.Steps+t.Decode.Steps == 0 {
		return nil
	}
	if err := m.lastRun().save(m.accounts, m.Path()); err != nil {
		return fmt.Errorf("account of the run: %w", err)
	}
	m.mark.sweep()
	m.mark.drop()
	return nil
}

// here returns the folder that relative paths are of, "" if that is not known.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// lastRun composes the account from what each part knows.
func (m *Model) lastRun() *LastRun {
	p, t := m.plan.compiled, m.observer.Tally()
	id, _ := m.plan.ID() // a plan that runs has one
	r := &LastRun{
		Version: accountVersion, Model: engine.Display(m.Path()), ID: id, Family: m.Family(), Started: t.Started.Unix(), Opened: m.mark.opened,
		Threads: p.Config.Threads, Context: p.Context(), Form: m.engine.Form(), Files: p.Config.FileFlags(m.opened.ConfigFile), Flags: m.runFlags(), Folder: here(), Packing: m.engine.Packing().String(), Budget: p.Config.Budget.String(),
		Failed: t.Failed, Changes: []RunChange{}, Pressure: []RunEvent{},
	}
	totals := func(s observe.Steps) StepTotals {
		return StepTotals{s.Steps, s.Rows, s.Took.Seconds(), s.Slowest.Seconds(), s.At}
	}
	r.Prompt, r.Decode = totals(t.Prompt), totals(t.Decode)
	r.Drafts = RunDrafts{m.opened.Draft, t.Drafted, t.Accepted, t.Drafting.Seconds()}
	r.events(t)
	r.groups(m)
	r.Predicted = predicted(t)
	r.learned(m)
	m.cost(t, r)
	r.Judge(RunRoofs{})
	return r
}

// asPredicted is the part of a run, both of its steps and of their time, for which weights
// must have been where a prediction has them: of the rest the mean is off by little then.
const asPredicted = 0.9

// predicted returns what was predicted of a step that decodes; 0 = nothing was, rates were
// assumed, or weights moved, and it is of another placement than the steps were. That of
// where they moved to is not told: it was made without measuring anything.
func predicted(t *observe.Tally) float64 {
	pl, all, so := t.Opened, &t.Decode, &t.AsOpened
	if pl == nil || pl.Guessed() || float64(so.Steps) < asPredicted*float64(all.Steps) || float64(so.Took) < asPredicted*float64(all.Took) {
		return 0
	}
	return pl.Decode.At(float64(t.Past) / float64(max(1, t.Sequences)))
}

// events tells what memory pressure changed.
func (r *LastRun) events(t *observe.Tally) {
	r.More = t.More
	for _, e := range t.Events {
		parts, bytes := e.Moved()
		x := RunEvent{e.Step, e.At.Seconds(), e.Kind, e.Limit, e.Need, parts, bytes, e.Took.Seconds(), e.Form, e.Why}
		if parts > 0 {
			until := ""
			if e.Until > e.Step {
				until = fmt.Sprintf(", the last at token %d", e.Until)
			}
			x.Text = fmt.Sprintf("%s of %s, %s first%s, after which weights are %s", spelling.Count(parts, "part"), spelling.Size(bytes), e.First, until, e.Form)
		}
		r.Pressure = append(r.Pressure, x)
	}
}

var layerNumber = regexp.MustCompile(`\.(\d+)\.`)

// groups collects the weights by where they are and by which rule.
func (r *LastRun) groups(m *Model) {
	pl := m.engine.Placement()
	if pl == nil {
		rule, why := "no-budget", "no budget was given and nothing asked for a placement"
		if r.Budget != "" {
			rule, why = "mapped", "within the budget of "+r.Budget+" weights are mapped, and none has a place of its own"
		}
		why += "; packing: " + r.Packing
		r.Groups = []WeightGroup{{Where: r.Form, Rule: rule, Tensors: len(m.plan.compiled.Model.Weights), Bytes: m.plan.compiled.Totals.Bytes, Why: why}}
		return
	}
	layers := [][]int{}
	for i := range pl.Tensors {
		t := &pl.Tensors[i]
		where := t.Tier.Lower()
		k := slices.IndexFunc(r.Groups, func(g WeightGroup) bool { return g.Where == where && g.Rule == string(t.Rule) })
		if k < 0 {
			k = len(r.Groups)
			r.Groups = append(r.Groups, WeightGroup{Where: where, Rule: string(t.Rule), Example: t.Name, Why: pl.Decision(i).Reason})
			layers = append(layers, nil)
		}
		g := &r.Groups[k]
		g.Tensors, g.Bytes = g.Tensors+1, g.Bytes+t.Bytes
		if n := layerNumber.FindStringSubmatch(t.Name); n != nil {
			if layer, err := strconv.Atoi(n[1]); err == nil {
				layers[k] = append(layers[k], layer)
			}
		}
	}
	for k := range r.Groups {
		r.Groups[k].Layers = ranges(layers[k])
	}
}

// ranges prints numbers such as "0-5,9".
func ranges(all []int) string {
	slices.Sort(all)
	all = slices.Compact(all)
	var out []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if s := strconv.Itoa(all[i]); j > i {
			out = append(out, s+"-"+strconv.Itoa(all[j]))
		} else {
			out = append(out, s)
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}

// learned copies what a learner knows, if there is one.
func (r *LastRun) learned(m *Model) {
	s := m.observer.Learner().Summary()
	if s == nil {
		return
	}
	for _, c := range s.Changes {
		r.Changes = append(r.Changes, RunChange(c))
	}
	l := &RunLearned{
		Peak: s.Peak, Band: s.Band, Ticks: s.Ticks, Recommended: s.Recommended, Because: s.Because, Table: s.Table, Rows: s.Rows, Episodes: s.Episodes,
		PreferGPU: s.PreferGPU, Weights: s.Weights, Knobs: []LearnedKnob{},
	}
	for _, k := range s.Knobs {
		x := LearnedKnob{k.Class, k.Name, k.Option, nil}
		for _, a := range k.Arms {
			x.Options = append(x.Options, LearnedOption{a.Option, a.Seconds, a.Count})
		}
		l.Knobs = append(l.Knobs, x)
	}
	if s.Spent > 0 {
		l.LostShare = s.Lost / s.Spent
	}
	r.Learned = l
}
