package replay

import (
	"atenia/tier"
	"atenia/tier/budget"
	"atenia/tier/decision"
	"atenia/tier/hw"
	"atenia/tier/learn"
	"atenia/tier/stream"
)

// A Recorder decides and records its decisions. With a nil journal it only
// decides, at no extra cost.
type Recorder struct {
	Journal *decision.Journal
	Tick    uint64 // of the next record
}

// record adds a draft to the journal. Encoding cannot fail, because the inputs
// are types of this package; the journal reports write errors itself.
func (r *Recorder) record(component string, inputs any, d decision.Draft) decision.Record {
	d.Tick, d.Component, d.Inputs = r.Tick, component, inputs
	rec, _ := r.Journal.Add(d)
	return rec
}

// Place is [tier.Decide].
func (r *Recorder) Place(p tier.TensorProfile, s hw.Snapshot) tier.Decision {
	d := tier.Decide(p, s)
	if r.Journal != nil {
		r.record("placement", placeInputsOf(p, s), placeDraft(d))
	}
	return d
}

// Plan is [stream.MakePlan].
func (r *Recorder) Plan(k stream.Kernel, tiers []tier.Tier, s tier.Snapshot, gpu bool) stream.Plan {
	p := stream.MakePlan(k, tiers, s, gpu)
	if r.Journal != nil {
		r.record("planner", planInputs{k, append([]tier.Tier{}, tiers...), pressuresOf(s), gpu}, planDraft(p))
	}
	return p
}

// Offload is [tier.Offload.PlanWithTick] at the recorder's tick.
func (r *Recorder) Offload(o *tier.Offload, s tier.Snapshot, ids []string, m *tier.Manager) tier.OffloadPlan {
	if r.Journal == nil {
		return o.PlanWithTick(s, ids, m, r.Tick)
	}
	in := offloadInputsOf(o, s, ids, m, r.Tick)
	p := o.PlanWithTick(s, ids, m, r.Tick)
	r.record("offload", in, offloadDraft(in, p))
	return p
}

// Recommend is [learn.Trainer.Recommend].
func (r *Recorder) Recommend(t *learn.Trainer, b learn.Bucket) learn.Backend {
	k := t.Recommend(b)
	if r.Journal != nil {
		in := trainerInputsOf(t, b)
		d, _ := in.draft(nil)
		r.record("trainer", in, d)
	}
	return k
}

// Loop is [learn.Loop.OnTick].
func (r *Recorder) Loop(l *learn.Loop, t learn.Tick) learn.Backend {
	k := l.OnTick(t)
	if r.Journal != nil {
		turn := l.LastTurn()
		r.record("autoloop", turnInputs{turn}, choiceDraft(turn.Decide()))
	}
	return k
}

// Choose is [learn.Policy.Choose] at the recorder's tick.
func (r *Recorder) Choose(p *learn.Policy, c learn.Context, class string) learn.Choice {
	if r.Journal == nil {
		return p.Choose(c, class, r.Tick)
	}
	m := p.Turn(c, class, r.Tick)
	choice := p.Choose(c, class, r.Tick)
	r.record("policy", measuredInputs{m}, choiceDraft(choice))
	return choice
}

// Budget is [budget.Place], recorded as the plan, or the reason why there is
// none, and one record for each tensor.
func (r *Recorder) Budget(in budget.Input) (*budget.Plan, error) {
	p, err := budget.Place(in)
	if r.Journal != nil {
		r.plan(budgetInputsOf(in), p, err)
	}
	return p, err
}

// Reload is [budget.Reload], recorded as by [Recorder.Budget].
func (r *Recorder) Reload(in budget.Input, f *budget.File) (*budget.Plan, error) {
	p, err := budget.Reload(in, f)
	if r.Journal == nil {
		return p, err
	}
	if text, ferr := f.Append(nil); ferr == nil { // a file that cannot be encoded cannot be replayed
		i := budgetInputsOf(in)
		i.PlanFile = string(text)
		r.plan(i, p, err)
	}
	return p, err
}

func (r *Recorder) plan(in budgetInputs, p *budget.Plan, err error) {
	of := r.record("budget", in, budgetDraft(p, err))
	if err != nil {
		return
	}
	for i := range p.Tensors {
		r.record("budget_tensor", tensorInputs{of.Seq, p.Tensors[i].Name}, tensorDraft(p, i))
	}
}
