package atenia

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/engine"
	"atenia/internal/policy/observe"
	"atenia/internal/spelling"
	"atenia/tensor"
)

// account writes the account of a run that generated something. The scheduler
// has stopped, and the weights are still there.
func (m *Model) account() error {
	if m.accounts == "" || m.observer.Tally().Decode.Steps == 0 {
		return nil
	}
	if err := m.lastRun().save(m.accounts, m.Path()); err != nil {
		return fmt.Errorf("account of the run: %w", err)
	}
	return nil
}

// lastRun composes the account from what each part knows.
func (m *Model) lastRun() *LastRun {
	p, t := m.plan.compiled, m.observer.Tally()
	id, _ := m.plan.ID() // a plan that runs has one
	r := &LastRun{
		Version: accountVersion, Model: engine.Display(m.Path()), ID: id, Family: m.Family(), Started: t.Started.Unix(),
		Threads: p.Config.Threads, Context: p.Context(), Form: m.engine.Form(), Packing: m.engine.Packing().String(), Budget: p.Config.Budget.String(),
		Failed: t.Failed, Changes: []RunChange{}, Pressure: []RunEvent{},
	}
	totals := func(s observe.Steps) StepTotals {
		return StepTotals{s.Steps, s.Rows, s.Took.Seconds(), s.Slowest.Seconds(), s.At}
	}
	r.Prompt, r.Decode = totals(t.Prompt), totals(t.Decode)
	r.Drafts = RunDrafts{m.opened.Draft, t.Drafted, t.Accepted, t.Drafting.Seconds()}
	r.events(t)
	r.groups(m)
	n := float64(max(1, t.Decode.Steps))
	wall := t.Decode.Took.Seconds() / n
	if r.Form == "streamed" {
		r.Reading, r.Waiting, r.ReadBytes = t.Ring.Busy.Seconds()/n, t.Ring.Stall.Seconds()/n, float64(t.Ring.Read)/n
		r.Computing = max(0, wall-r.Waiting)
	} else {
		r.ReadBytes = float64(t.Read) / n
		if t.Offered > 0 && t.Computed > 0 { // threads that wait for pages or for a processor use no time of one
			r.Computing = wall * min(1, float64(t.Computed)/float64(t.Offered))
			r.Waiting = wall - r.Computing
		}
	}
	if pl := m.engine.Placement(); pl != nil {
		r.Predicted = pl.Decode.Seconds
	}
	r.learned(m)
	r.bound(wall, p.Totals.Bytes)
	r.advise(m)
	return r
}

// events tells what memory pressure changed.
func (r *LastRun) events(t *observe.Tally) {
	r.More = t.More
	for _, e := range t.Events {
		x := RunEvent{e.Step, e.At.Seconds(), e.Kind, e.Limit, e.Need, e.Moves, e.Bytes, e.Took.Seconds(), e.Form, e.Why}
		if e.Moves > 0 {
			x.Text = fmt.Sprintf("%s of %s, %s first; weights are %s since then", spelling.Count(e.Moves, "part"), spelling.Size(e.Bytes), e.First, e.Form)
		}
		r.Pressure = append(r.Pressure, x)
	}
}

var layerNumber = regexp.MustCompile(`\.(\d+)\.`)

// groups collects the weights by where they are and by which rule.
func (r *LastRun) groups(m *Model) {
	pl := m.engine.Placement()
	if pl == nil {
		why := "no budget was given and nothing asked for a placement; packing: " + r.Packing
		r.Groups = []WeightGroup{{Where: r.Form, Rule: "no-budget", Tensors: len(m.plan.compiled.Model.Weights), Bytes: m.plan.compiled.Totals.Bytes, Why: why}}
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

// much is the part of a token's time from which something bounds it.
const much = 0.2

// bound says what a token's time was spent on.
func (r *LastRun) bound(wall float64, weights int64) {
	switch perByte := r.ReadBytes / float64(max(1, weights)); {
	case wall <= 0:
		r.Bound, r.BoundWhy = "none", "no token was decoded"
	case r.Form == "streamed" && r.Waiting > much*wall:
		r.Bound = "disk"
		r.BoundWhy = fmt.Sprintf("%s are read for each token, at %.2f GB/s; computing waited %.0f %% of the time", spelling.Size(int64(r.ReadBytes)), r.ReadBytes/max(r.Reading, 1e-9)/1e9, 100*r.Waiting/wall)
	case r.Waiting > much*wall && perByte > 0.01:
		r.Bound = "paging"
		r.BoundWhy = fmt.Sprintf("the weights do not stay in memory: %s are read from the disk again for each token", spelling.Size(int64(r.ReadBytes)))
	case r.Waiting > much*wall:
		r.Bound = "neighbours"
		r.BoundWhy = fmt.Sprintf("threads had no processor for %.0f %% of the time: other programs use them", 100*r.Waiting/wall)
	default:
		r.Bound = "memory"
		r.BoundWhy = fmt.Sprintf("%s of weights pass through the processor for each token, %.2f GB/s", spelling.Size(weights), float64(weights)/wall/1e9)
	}
}

// advise chooses the one thing that would help most.
func (r *LastRun) advise(m *Model) {
	model := r.Model
	if strings.ContainsAny(model, " '\"$") {
		model = strconv.Quote(model)
	}
	switch pl := m.engine.Placement(); {
	case r.Bound == "paging":
		r.Advice = RunAdvice{"stream what does not fit instead of mapping it", "atenia run " + model + " --budget ram=auto"}
	case r.Bound == "neighbours":
		r.Advice = RunAdvice{"end programs that use the processors: " + threadsLearned(r), "atenia hw"}
	case r.Form == "streamed" && pl != nil && len(pl.Next) > 0:
		c := pl.Next[len(pl.Next)-1]
		if n := pl.Next[0]; r.Bound != "disk" {
			c = n
		}
		r.Advice = RunAdvice{c.String(), fmt.Sprintf("atenia run %s --budget ram=%d", model, c.RAM)}
	default:
		r.smaller(m, model)
	}
}

// threadsLearned says with how many threads tokens are computed now.
func threadsLearned(r *LastRun) string {
	if r.Learned != nil {
		for _, k := range r.Learned.Knobs {
			if k.Knob == "threads" && k.Option != strconv.Itoa(r.Threads) {
				return k.Option + " of " + strconv.Itoa(r.Threads) + " threads were faster"
			}
		}
	}
	return "fewer threads were not faster"
}

// smaller advises a smaller type of weights, if there is one.
func (r *LastRun) smaller(m *Model, model string) {
	types := m.plan.compiled.Totals.Types
	if len(types) == 0 {
		return
	}
	now := types[0].DType
	to, bits := "q8_0", 8.5
	switch now {
	case tensor.F32, tensor.F16, tensor.BF16:
	case tensor.Q8_0:
		to, bits = "q4_k_m", 4.85
	default:
		r.Advice = RunAdvice{What: fmt.Sprintf("nothing: weights are %s already, and a token takes what reading them takes", now)}
		return
	}
	bytes := float64(types[0].Bytes) / float64(max(1, types[0].Parameters)) * 8
	r.Advice = RunAdvice{
		fmt.Sprintf("weights of type %s are %.1f times smaller than %s, and a token is about as much faster", to, bytes/bits, now),
		fmt.Sprintf("atenia quantize %s smaller.gguf --type %s", model, to),
	}
}
